"""What users of code search complain about most, and the tests that show that it does not happen here. Each of the tests exists."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.contract.markdown import ROOT

PITFALLS = {
    "deleted and renamed files are still found": (
        "integration/test_index_and_search.py::test_a_change_costs_its_own_files_and_replaces_them",
        "integration/test_incremental.py::test_full_and_incremental_builds_agree",
    ),
    "a file that shrank leaves its end behind": ("integration/test_odd_sources.py::test_a_file_that_shrinks_leaves_nothing_behind",),
    "stale answers without a word": (
        "integration/test_index_and_search.py::test_stale_is_told",
        "integration/test_git_sources.py::test_other_globs_make_the_index_stale",
        "integration/test_freshness.py::test_a_write_is_read_or_425",
    ),
    "reverts and time stamps confuse incremental runs": (
        "integration/test_incremental.py::test_full_and_incremental_builds_agree",
        "integration/test_odd_sources.py::test_modes_and_times_are_no_changes",
        "unit/test_seen.py::test_a_changed_file_is_read_again_whatever_its_times_say",
        "unit/test_seen.py::test_a_file_that_has_just_changed_is_not_remembered",
    ),
    "a rewritten history stops updates": (
        "integration/test_git_sources.py::test_a_remote_is_cloned_indexed_and_followed_through_a_rewritten_history",
        "integration/test_git_sources.py::test_a_remote_that_is_down_keeps_its_index_and_is_tried_again",
    ),
    "what is gone stays searchable, or one incomplete listing deletes all": (
        "integration/test_git_sources.py::test_several_branches_and_tags_share_what_they_have_in_common",
        "integration/test_git_sources.py::test_a_remote_that_lists_nothing_any_more_forgets_nothing",
        "integration/test_credentials.py::test_a_token_that_is_revoked_leaves_the_old_index_and_one_that_is_changed_needs_no_restart",
        "integration/test_index_and_search.py::test_a_tree_that_is_gone_fails_with_the_reason_and_keeps_the_index",
    ),
    "no way to ask for a run, or one that is not safe to repeat": (
        "integration/test_source_calls.py::test_a_signed_push_queues_one_run",
        "integration/test_source_calls.py::test_unsigned_is_refused",
        "integration/test_source_calls.py::test_the_answer_does_not_ask_the_remote",
        "api/test_repositories.py::test_jobs_are_queued_joined_read_listed_and_cancelled",
    ),
    "one broken repository stops all": (
        "integration/test_odd_sources.py::test_a_broken_repository_holds_up_no_other",
        "integration/test_git_sources.py::test_a_remote_that_hangs_holds_up_neither_other_repositories_nor_the_end",
    ),
    "a crash leaves an index that is none": (
        "integration/test_kill.py::test_kill_during_an_index_run",
        "integration/test_git_sources.py::test_a_run_that_was_cut_off_is_finished_by_the_next",
        "integration/test_odd_sources.py::test_a_run_that_is_cut_off_loses_no_more_than_a_segment",
        "integration/test_killed_writers.py::test_locks_of_a_killed_git_hold_up_no_run",
        "integration/test_bulk_load.py::test_what_a_killed_load_left_without_indexes_gets_them_with_the_next_content",
    ),
    "two runs race": (
        "integration/test_odd_sources.py::test_two_workers_never_build_one_repository_at_the_same_time",
        "integration/test_jobs.py::test_a_request_with_other_globs_does_not_join_the_run_that_began_without_them",
    ),
    "names collide": (
        "integration/test_source_calls.py::test_another_remote_under_the_same_name_is_a_conflict",
        "integration/test_source_calls.py::test_a_repository_of_another_kind_takes_no_archive",
        "unit/test_addresses.py::test_an_address_is_written_in_one_way",
    ),
    "the wrong branch answers": (
        "integration/test_git_sources.py::test_several_branches_and_tags_share_what_they_have_in_common",
        "integration/test_git_sources.py::test_every_branch_is_what_a_clean_index_of_it_alone_would_be",
        "integration/test_source_calls.py::test_symbols_and_their_graph_are_asked_by_branch",
    ),
    "submodules are ignored, or fatal": (
        "integration/test_git_sources.py::test_submodules_are_recorded_and_on_request_indexed_at_their_pinned_commit",
        "integration/test_git_sources.py::test_a_submodule_that_could_not_be_had_is_tried_again_without_a_new_commit",
        "unit/test_discover.py::test_submodules_and_nested_repositories_are_recorded",
    ),
    "large files are missing without a word": (
        "unit/test_discover.py::test_too_large_files_are_reported",
        "integration/test_parse_pool.py::test_every_kind_of_file_through_the_real_extractor",
        "integration/test_freshness.py::test_coverage_says_why_a_file_is_or_is_not_searchable",
        "integration/test_absence.py::test_absence_is_proven_only_where_it_is_true",
    ),
    "the end of a long line is not searchable": (
        "integration/test_odd_sources.py::test_a_line_of_five_million_characters_is_found_to_its_end",
        "unit/test_chunk.py::test_a_longer_line_is_a_chunk_of_its_own",
    ),
    "minified and generated files fill the results": (
        "unit/test_sniff.py::test_minified",
        "unit/test_sniff.py::test_generated",
        "unit/test_demote.py::test_factor_by_class",
        "integration/test_git_sources.py::test_attributes_alone_class_unchanged_files_anew",
    ),
    "ignore files below the root, and what they take back": (
        "unit/test_discover.py::test_nested_ignore_files_and_negation",
        "unit/test_discover.py::test_tracked_untracked_ignored_deleted",
        "integration/test_left_out.py::test_a_tree_that_ignores_itself_says_so_and_can_be_indexed",
    ),
    "links that loop or lead out": (
        "unit/test_discover.py::test_links_and_special_files_are_reported_and_never_followed",
        "unit/test_discover.py::test_a_tracked_path_behind_a_symbolic_link_is_not_read",
        "integration/test_source_calls.py::test_names_and_links_that_lead_out_reach_nothing",
    ),
    "a path of the caller's leads out": (
        "integration/test_jobs.py::test_a_path_that_leads_elsewhere_since_is_not_followed",
        "unit/test_addresses.py::test_files_lie_under_the_allowed_roots",
    ),
    "one byte that is no UTF-8 costs the file": (
        "unit/test_decode.py::test_a_stray_byte_costs_one_character",
        "unit/test_decode.py::test_any_bytes_become_storable_text",
        "integration/test_index_and_search.py::test_every_line_of_every_file_is_found_literally",
    ),
    "line ends shift what is shown": (
        "unit/test_decode.py::test_line_ends_become_line_feeds",
        "unit/test_chunk.py::test_a_final_line_end_begins_no_line",
        "integration/test_exact_text.py::test_line_ends_of_every_kind_end_lines",
    ),
    "a parser that hangs or crashes takes the service along": (
        "integration/test_parse_pool.py::test_a_file_that_kills_its_parser_stays_searchable_as_text_and_harms_no_other",
        "unit/test_extract_robustness.py::test_deep_nesting_neither_overflows_nor_hangs",
    ),
    "memory grows with the tree": (
        "integration/test_parse_pool.py::test_reading_ahead_is_bounded",
        "integration/test_parse_pool.py::test_parsers_are_bounded_niced_and_gone_after_closing",
    ),
    "one text too long for the model stops the run": (
        "unit/test_providers.py::test_a_text_longer_than_the_model_reads_is_cut_into_pieces",
        "unit/test_providers.py::test_a_batch_refused_for_its_size_is_halved",
        "integration/test_embed_stage.py::test_a_text_that_the_model_rejects_fails_alone",
    ),
    "a provider that says later loses chunks": (
        "unit/test_providers.py::test_retry_after_is_kept_by_every_thread",
        "integration/test_embed_stage.py::test_stops_between_batches_and_goes_on_later",
        "integration/test_vector_sets.py::test_what_is_published_counts_as_waiting_from_the_first_moment_on",
    ),
    "another model mixes its vectors with those of the one before": (
        "integration/test_embed_stage.py::test_vectors_of_another_embedder_are_refused",
        "integration/test_vector_sets.py::test_a_set_that_begins_to_serve_counts_its_gaps_at_once",
    ),
}


@cache
def _tests(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("pitfall", PITFALLS)
def test_every_pitfall_has_its_tests(pitfall: str) -> None:
    named = [test.split("::") for test in PITFALLS[pitfall]]
    assert named
    assert [name for file, name in named if name not in _tests(file)] == []
