"""The schema, as SQLAlchemy Core tables; ``migrations/versions`` creates it and a test compares the two.

Every large table's key begins with ``repository_id`` (decision 10 of the architecture). Content (``file_version`` and what hangs
on it) is written once per (path, bytes, extractor) and shared by branches and generations; ``file`` says which versions a
branch shows from one generation to another (``from_gen <= g < to_gen``). See docs/decisions/0002-file-versions.md.
"""

from __future__ import annotations

import sqlalchemy as sa
from pgvector.sqlalchemy import BIT
from sqlalchemy.dialects import postgresql as pg

from app.domain.vectors import BITS
from app.storage.generations import FOREVER

metadata = sa.MetaData()

ODD_CASE = (
    "[\u00b5\u017f\u0345\u03c2\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86\u1c87\u1c88\u1e9b\u1fbe]"
)
"""Characters that are the same as another but for case, although lower() tells them apart: ILIKE does not find what holds them."""


def _repository_id(*, primary_key: bool = True, small: bool = False) -> sa.Column[int]:
    """Only small tables carry the foreign key: its trigger would cost more than the rows themselves on loading."""
    constraint = (sa.ForeignKey("repository.id", ondelete="CASCADE"),) if small else ()
    return sa.Column("repository_id", sa.Integer, *constraint, primary_key=primary_key, autoincrement=False, nullable=False)


repository = sa.Table(
    "repository",
    metadata,
    sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, server_default="directory"),
    sa.Column("url", sa.Text),
    sa.Column("refs", pg.ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("credential", sa.Text),
    sa.Column("submodules", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("respect_ignore", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("poll_seconds", sa.REAL),
    sa.Column("config_version", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.Column("source_error", sa.Text),
    sa.Column("looked_at", sa.DateTime(timezone=True)),
    sa.Column("include", pg.ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("exclude", pg.ARRAY(sa.Text), nullable=False, server_default="{}"),
    sa.Column("next_file_id", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.Column("next_chunk_id", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.Column("next_segment_id", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.Column("average_lengths", pg.ARRAY(sa.REAL)),
    sa.Column("dead_chunks", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
)

branch = sa.Table(
    "branch",
    metadata,
    _repository_id(small=True),
    sa.Column("branch_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("ref", sa.Text, nullable=False),
    sa.Column("current_gen", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("embeddings_pending", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("embeddings_failed", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("embeddings_withheld", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.UniqueConstraint("repository_id", "ref"),
)

generation = sa.Table(
    "generation",
    metadata,
    _repository_id(small=True),
    sa.Column("branch_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("generation", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("revision", sa.Text, nullable=False),
    sa.Column("extractor", sa.Text, nullable=False),
    sa.Column("config_version", sa.Integer, nullable=False),
    sa.Column("published_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("replaced_at", sa.DateTime(timezone=True)),
    sa.Column("files", sa.Integer, nullable=False),
    sa.Column("skipped", sa.Integer, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    sa.Column("coverage", pg.JSONB, nullable=False),
)

# What of a source is followed. Several refs share the line of generations: each shows one of them, and refs of one commit the same.
ref = sa.Table(
    "ref",
    metadata,
    _repository_id(small=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("is_default", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("generation", sa.Integer),
    sa.Column("known_revision", sa.Text),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
)

# What is known of git's blobs: a run reads only those that it does not know. ``reason``: why the bytes are no text worth searching.
blob = sa.Table(
    "blob",
    metadata,
    _repository_id(),
    sa.Column("oid", pg.BYTEA, primary_key=True),
    sa.Column("sha256", pg.BYTEA, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("extractor", sa.Text, nullable=False),
    sa.Column("used_on", sa.Date, nullable=False, server_default=sa.func.current_date()),
)

webhook_delivery = sa.Table(
    "webhook_delivery",
    metadata,
    sa.Column("forge", sa.Text, primary_key=True),
    sa.Column("delivery", sa.Text, primary_key=True),
    sa.Column("received_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
)

file_version = sa.Table(
    "file_version",
    metadata,
    _repository_id(),
    sa.Column("file_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("sha256", pg.BYTEA, nullable=False),
    sa.Column("extractor", sa.Text, nullable=False),
    sa.Column("segment_id", sa.Integer, nullable=False),
    sa.Column("language", sa.Text),
    sa.Column("path_class", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("encoding", sa.Text),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("lines", sa.Integer, nullable=False),
    sa.Column("first_chunk", sa.Integer, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    sa.Column("name_words", pg.ARRAY(sa.Text), nullable=False),
    sa.UniqueConstraint("repository_id", "path", "sha256", "extractor", name="file_version_content_key"),
    sa.Index("file_version_name_words", "repository_id", "name_words", postgresql_using="gin"),
)

file = sa.Table(
    "file",
    metadata,
    _repository_id(),
    sa.Column("branch_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("from_gen", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("to_gen", sa.Integer, nullable=False, server_default=sa.text(str(FOREVER))),
    sa.Column("file_id", sa.Integer, nullable=False),
    sa.Column("language", sa.Text),
    sa.Column("path_class", sa.Text, nullable=False),
    sa.Index("file_version_live", "repository_id", "file_id", postgresql_include=["branch_id", "from_gen", "to_gen"]),
)

skipped_file = sa.Table(
    "skipped_file",
    metadata,
    _repository_id(),
    sa.Column("branch_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("from_gen", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("to_gen", sa.Integer, nullable=False, server_default=sa.text(str(FOREVER))),
    sa.Column("reason", sa.Text, nullable=False),
)

chunk = sa.Table(
    "chunk",
    metadata,
    _repository_id(),
    sa.Column("chunk_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("file_id", sa.Integer, nullable=False),
    sa.Column("start_line", sa.Integer, nullable=False),
    sa.Column("end_line", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Index("chunk_file", "repository_id", "file_id", "start_line"),
    sa.Index(
        "chunk_text_trigrams",
        "repository_id",
        "text",
        postgresql_using="gin",
        postgresql_ops={"text": "gin_trgm_ops"},
        postgresql_with={"gin_pending_list_limit": 16_384},
    ),
    sa.Index("chunk_odd_case", "repository_id", postgresql_where=sa.text(f"text ~ '{ODD_CASE}'")),
)

symbol = sa.Table(
    "symbol",
    metadata,
    _repository_id(),
    sa.Column("file_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ordinal", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("symbol_id", sa.BigInteger, nullable=False),
    sa.Column("chunk_id", sa.Integer, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("lname", sa.Text, nullable=False),
    sa.Column("qualified", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("container", sa.Integer),
    sa.Column("start_line", sa.Integer, nullable=False),
    sa.Column("end_line", sa.Integer, nullable=False),
    sa.Column("name_line", sa.Integer, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
    sa.Column("doc", sa.Text, nullable=False),
    sa.Column("exported", sa.Boolean, nullable=False),
    sa.Column("words", pg.ARRAY(sa.Text), nullable=False),
    sa.Index("symbol_lname", "repository_id", "lname"),
    sa.Index("symbol_id", "repository_id", "symbol_id"),
    sa.Index("symbol_chunk", "repository_id", "chunk_id"),
    sa.Index("symbol_words", "repository_id", "words", postgresql_using="gin"),
    sa.Index(
        "symbol_name_trigrams",
        "repository_id",
        "name",
        postgresql_using="gin",
        postgresql_ops={"name": "gin_trgm_ops"},
    ),
)

# The largest table by rows: read file by file or by name, hence no key per row, whose index would be half as large as the rows.
reference = sa.Table(
    "reference",
    metadata,
    _repository_id(primary_key=False),
    sa.Column("file_id", sa.Integer, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("line", sa.Integer, nullable=False),
    sa.Column("enclosing", sa.Integer),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("receiver", sa.Text),
    sa.Index("reference_file", "repository_id", "file_id"),
    sa.Index("reference_name", "repository_id", "name"),
)

import_ = sa.Table(
    "import",
    metadata,
    _repository_id(),
    sa.Column("file_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ordinal", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("module", sa.Text, nullable=False),
    sa.Column("name", sa.Text),
    sa.Column("local", sa.Text),
    sa.Column("line", sa.Integer, nullable=False),
    sa.Column("reexport", sa.Boolean, nullable=False),
)

# What names, attributes and calls are given, packed by ``storage/packed.py``: read file by file only, never asked for.
binding = sa.Table(
    "binding",
    metadata,
    _repository_id(),
    sa.Column("file_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("packed", sa.Text, nullable=False),
)

# Edges lead to these too; in ``symbol`` they have no row. ``language`` stands for all languages that can import from each other.
external = sa.Table(
    "external",
    metadata,
    _repository_id(),
    sa.Column("symbol_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
)

edge = sa.Table(
    "edge",
    metadata,
    _repository_id(primary_key=False),
    sa.Column("branch_id", sa.SmallInteger, nullable=False),
    sa.Column("source", sa.BigInteger, nullable=False),
    sa.Column("target", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("class", sa.Text, nullable=False, key="edge_class"),
    sa.Column("file_id", sa.Integer, nullable=False),
    sa.Column("reference", sa.Integer),
    sa.Column("line", sa.Integer, nullable=False),
    sa.Column("from_gen", sa.Integer, nullable=False),
    sa.Column("to_gen", sa.Integer, nullable=False, server_default=sa.text(str(FOREVER))),
    sa.Index("edge_target", "repository_id", "branch_id", "target"),
    sa.Index("edge_source", "repository_id", "branch_id", "source"),
    sa.Index("edge_file", "repository_id", "branch_id", "file_id", "reference"),
)

# The edges between two files, counted: what stands near the best hits of a question (search/neighbours.py).
file_link = sa.Table(
    "file_link",
    metadata,
    _repository_id(primary_key=False),
    sa.Column("branch_id", sa.SmallInteger, nullable=False),
    sa.Column("file_id", sa.Integer, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("edges", sa.Integer, nullable=False),
    sa.Column("from_gen", sa.Integer, nullable=False),
    sa.Column("to_gen", sa.Integer, nullable=False, server_default=sa.text(str(FOREVER))),
    sa.Index("file_link_file", "repository_id", "branch_id", "file_id"),
    sa.Index("file_link_target", "repository_id", "branch_id", "target"),
)

centrality = sa.Table(
    "centrality",
    metadata,
    _repository_id(),
    sa.Column("branch_id", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("symbol_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("from_gen", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("to_gen", sa.Integer, nullable=False, server_default=sa.text(str(FOREVER))),
    sa.Column("value", sa.REAL, nullable=False),
)

# What the postings of a segment were made of, dead content included: a word's files are out of these ``files``. Its chunks have
# the ids from ``first_chunk`` on, ``chunk_span`` at most; ``bits`` of a term's hash tell its bucket.
segment = sa.Table(
    "segment",
    metadata,
    _repository_id(),
    sa.Column("segment_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("files", sa.Integer, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    sa.Column("first_chunk", sa.Integer, nullable=False),
    sa.Column("chunk_span", sa.Integer, nullable=False),
    sa.Column("bits", sa.SmallInteger, nullable=False),
)

# About 64 terms in a row, packed by ``storage/posting_rows.py``: a row per term would be mostly overhead.
posting = sa.Table(
    "posting",
    metadata,
    _repository_id(),
    sa.Column("segment_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("bucket", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("counts", pg.BYTEA, nullable=False),
    sa.Column("entries", pg.BYTEA, nullable=False),
)

name_word = sa.Table(
    "name_word",
    metadata,
    _repository_id(),
    sa.Column("word", sa.Text(collation="C"), primary_key=True),
    sa.Column("symbols", sa.Integer, nullable=False),
    sa.Column("files", sa.Integer, nullable=False),
)

# What an embedder's vectors are kept under: at most one set serves the searches, at most one is being built.
vector_set = sa.Table(
    "vector_set",
    metadata,
    sa.Column("id", sa.SmallInteger, sa.Identity(), primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("indexed_to", sa.BigInteger),
    sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Index("vector_set_serving", "state", unique=True, postgresql_where=sa.text("state = 'serving'")),
    sa.Index("vector_set_building", "state", unique=True, postgresql_where=sa.text("state = 'building'")),
)

# row_id counts insertions: an approximate index holds the rows up to a number, those that came later are read in full.
embedding = sa.Table(
    "embedding",
    metadata,
    _repository_id(),
    sa.Column("vector_set", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("chunk_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("row_id", sa.BigInteger, sa.Identity(), nullable=False),
    sa.Column("bits", BIT(BITS)),
    sa.Column("error", sa.Text),
    sa.Column("withheld", sa.Text),
    sa.Column("attempts", sa.SmallInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("retry_at", sa.DateTime(timezone=True)),
    sa.Index("embedding_row", "vector_set", "row_id"),
    sa.Index("embedding_retry", "vector_set", "repository_id", "retry_at", postgresql_where=sa.text("retry_at IS NOT NULL")),
)

# By the embedder's name, not by the set's number: what was paid for outlives a set.
embedding_cache = sa.Table(
    "embedding_cache",
    metadata,
    sa.Column("embedder", sa.Text, primary_key=True),
    sa.Column("text_hash", pg.BYTEA, primary_key=True),
    sa.Column("bits", BIT(BITS), nullable=False),
    sa.Column("used_on", sa.Date, nullable=False, server_default=sa.func.current_date()),
)

job = sa.Table(
    "job",
    metadata,
    sa.Column("id", pg.UUID(as_uuid=False), primary_key=True),
    sa.Column("repository_id", sa.Integer, sa.ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    sa.Column("state", sa.Text, nullable=False, server_default="queued"),
    sa.Column("stage", sa.Text),
    sa.Column("priority", sa.SmallInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("files_done", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("files_total", sa.Integer),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("revision", sa.Text),
    sa.Column("error", sa.Text),
    sa.Column("result", pg.JSONB, nullable=False, server_default="{}"),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("run_after", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("heartbeat_at", sa.DateTime(timezone=True)),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("started_at", sa.DateTime(timezone=True)),
    sa.Column("finished_at", sa.DateTime(timezone=True)),
    sa.Index("job_waiting", "priority", "created_at", postgresql_where=sa.text("state = 'queued'")),
    sa.Index("job_one_waiting", "repository_id", unique=True, postgresql_where=sa.text("state = 'queued'")),
    sa.Index("job_one_running", "repository_id", unique=True, postgresql_where=sa.text("state = 'running'")),
)

saved_scope = sa.Table(
    "saved_scope",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("repositories", pg.ARRAY(sa.Text), nullable=False),
    sa.Column("filters", pg.JSONB, nullable=False),
    sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
)

# The secret is kept as its SHA-256 only. ``patterns`` says the same as ``repositories``, as regular expressions. A revoked key stays:
# that there was one keeps the service closed.
api_key = sa.Table(
    "api_key",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("secret_sha256", pg.BYTEA, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("repositories", pg.ARRAY(sa.Text), nullable=False),
    sa.Column("patterns", pg.ARRAY(sa.Text), nullable=False),
    sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("expires_at", sa.DateTime(timezone=True)),
    sa.Column("revoked_at", sa.DateTime(timezone=True)),
    sa.Column("last_used_at", sa.DateTime(timezone=True)),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("key_id", sa.Text),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("target", sa.Text),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("address", sa.Text),
    sa.Column("request_id", sa.Text),
    sa.Index("audit_at", "at"),
)
