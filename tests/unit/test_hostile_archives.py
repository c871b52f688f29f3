"""Archives that are made to fill memory, disk or time, or to reach other files; each is imported by git itself."""

from __future__ import annotations

import gzip
import io
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.config import ArchiveSettings
from app.domain.errors import InvalidRequest, TooLarge
from app.sources import archive as module
from app.sources.archive import REF, Imported, import_archive
from app.sources.commit_tree import entries
from app.sources.git import Git, GitError

LIMITS = ArchiveSettings(max_files=50, max_unpacked_bytes=1_000_000, max_ratio=5)


@pytest.fixture
def take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], Imported]:
    monkeypatch.setattr(module, "SMALLEST_BOMB", 100_000)

    def import_bytes(data: bytes) -> Imported:
        path = tmp_path / "upload"
        path.write_bytes(data)
        return import_archive(Git(tmp_path / "git"), path, "r1", 0, 1_000_000, LIMITS)

    return import_bytes


def names(tmp_path: Path) -> list[bytes]:
    return [entry.path for entry in entries(Git(tmp_path / "git"), REF)]


def tar(*members: tuple[str, bytes, bytes, str], form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar.gz of (name, type, content, link)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=form) as file:
        for name, kind, content, link in members:
            item = tarfile.TarInfo(name)
            item.type, item.size, item.linkname = kind, len(content), link
            file.addfile(item, io.BytesIO(content))
    return out.getvalue()


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return out.getvalue()


def raw_tar(header: tarfile.TarInfo, zeros: int) -> bytes:
    """A header and what follows it, whatever it says."""
    return gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + bytes(zeros))


def test_names_that_lead_elsewhere_are_left_out(take: Callable[[bytes], Imported], tmp_path: Path) -> None:
    outside = ["/etc/passwd", "../up.py", "a/../../up.py", ".git/config", "a/.GIT/hooks/post-checkout", "./.git/HEAD"]
    for data in (tar(*((name, tarfile.REGTYPE, b"x", "") for name in outside)), zipped(*((name, b"x") for name in outside))):
        imported = take(data)
        assert imported.left_out["unsafe_name"] == len(outside)
        assert names(tmp_path) == []


def test_names_are_data_to_gits_importer(take: Callable[[bytes], Imported], tmp_path: Path) -> None:
    odd = ['a"\nD b\n.py', "-rf", "new\nline", "tab\tname", 'quo"te', "back\\slash", "\x1b[31mred", "done\n"]
    take(tar(*((name, tarfile.REGTYPE, b"x", "") for name in ["b", *odd])))
    assert sorted(names(tmp_path)) == sorted(name.encode() for name in ["b", *odd])


def test_links_and_devices_are_never_made(take: Callable[[bytes], Imported], tmp_path: Path) -> None:
    imported = take(
        tar(
            ("link", tarfile.SYMTYPE, b"", "/etc"),
            ("link/passwd", tarfile.REGTYPE, b"x", ""),
            ("hard", tarfile.LNKTYPE, b"", "/etc/passwd"),
            ("pipe", tarfile.FIFOTYPE, b"", ""),
            ("disk", tarfile.BLKTYPE, b"", ""),
        )
    )
    assert imported.left_out == {"hard_link": 1, "special_file": 2}
    assert {entry.path: entry.mode for entry in entries(Git(tmp_path / "git"), REF)} == {b"link/passwd": "100644"}


def test_a_file_that_unpacks_to_too_much_is_refused(take: Callable[[bytes], Imported]) -> None:
    for data in (tar(("zeros", tarfile.REGTYPE, bytes(2_000_000), "")), zipped(("zeros", bytes(2_000_000)))):
        with pytest.raises(TooLarge, match="unpacks to more"):
            take(data)


def test_many_files_are_refused(take: Callable[[bytes], Imported]) -> None:
    for data in (tar(*((f"{n}", tarfile.REGTYPE, b"", "") for n in range(51))), zipped(*((f"{n}", b"") for n in range(51)))):
        with pytest.raises(TooLarge, match="more than 50 files"):
            take(data)


@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.SYMTYPE])
def test_entries_that_are_no_files_count_too(take: Callable[[bytes], Imported], kind: bytes) -> None:
    with pytest.raises(TooLarge, match="more than 50 files"):
        take(tar(*((f"{n}", kind, b"", "x") for n in range(51))))


def test_what_is_skipped_is_unpacked_only_so_far(take: Callable[[bytes], Imported]) -> None:
    item = tarfile.TarInfo("of an unknown type")
    item.type, item.size = b"Z", 50_000_000
    with pytest.raises(TooLarge, match="unpacks to more"):
        take(raw_tar(item, 50_000_000))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_record_that_would_fill_the_memory_is_refused(take: Callable[[bytes], Imported], kind: bytes) -> None:
    item = tarfile.TarInfo("x")
    item.type, item.size = kind, 8_000_000_000
    with pytest.raises(TooLarge, match="a name or an attribute"):
        take(raw_tar(item, 1_000_000))


def test_a_sparse_file_counts_as_what_it_unpacks_to(take: Callable[[bytes], Imported]) -> None:
    item = tarfile.TarInfo("sparse")
    item.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": "9000000000", "GNU.sparse.map": "0,1"}
    item.size = 1
    data = item.tobuf(tarfile.PAX_FORMAT) + b"x" + bytes(511 + 1_024)
    with pytest.raises(TooLarge, match="unpacks to more"):
        take(gzip.compress(data))


def test_a_zip_that_understates_its_sizes_gives_no_more(take: Callable[[bytes], Imported], tmp_path: Path) -> None:
    data = zipped(("zeros", bytes(300_000)))
    lying = data.replace(struct.pack("<L", 300_000), struct.pack("<L", 10))
    with pytest.raises(InvalidRequest, match="damaged"):
        take(lying)


def test_a_directory_of_a_zip_that_would_fill_the_memory_is_refused(take: Callable[[bytes], Imported]) -> None:
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    directory = entry * 100
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(directory), 0, 0)  # which says that there is one
    with pytest.raises(TooLarge, match="more than 50 files"):
        take(directory + end)


def test_files_of_a_zip_that_share_their_bytes_are_refused(take: Callable[[bytes], Imported]) -> None:
    """Every entry of the directory names the same compressed bytes, all under one name."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = bytes(50_000)
    body = packed.compress(content) + packed.flush()
    crc = zlib.crc32(content)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(body), len(content), 1, 0) + b"a" + body
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 8, 0, 0, crc, len(body), len(content), 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * 40
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 40, 40, len(directory), len(local), 0)
    with pytest.raises((TooLarge, InvalidRequest)):
        take(local + directory + end)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_compressions_are_left_out_and_told(take: Callable[[bytes], Imported], tmp_path: Path, method: int) -> None:
    imported = take(zipped(("a.py", b"x = 1\n"), method=method))
    assert imported.left_out == {"compression": 1}
    assert names(tmp_path) == []


def damaged(data: bytes, dice: random.Random) -> Iterator[bytes]:
    for _ in range(150):
        changed = bytearray(data)
        for _ in range(dice.randint(1, 8)):
            changed[dice.randrange(len(changed))] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)])
        yield bytes(changed[: dice.randint(4, len(changed))] if dice.random() < 0.2 else changed)


def test_a_damaged_archive_is_read_or_refused(take: Callable[[bytes], Imported]) -> None:
    """Whatever stands in an archive, it is a mistake of who sent it and none of the service."""
    dice = random.Random(8)
    members = [(f"folder/{number}.py", bytes(dice.randrange(256) for _ in range(300))) for number in range(3)]
    plain = gzip.decompress(tar(*((name, tarfile.REGTYPE, content, "") for name, content in members)))
    sources = [zipped(*members), zipped(*members, method=zipfile.ZIP_STORED)]
    refused = 0
    for data in [*(broken for source in sources for broken in damaged(source, dice)), *map(gzip.compress, damaged(plain, dice))]:
        try:
            take(data)
        except (InvalidRequest, TooLarge):
            refused += 1
    assert refused > 100


def test_a_tree_of_trees_is_listed_only_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten levels, each holding the level below ten times: ten objects, ten billion files."""
    git = Git(tmp_path / "git")
    git.create()
    below = git.run("hash-object", "-w", "--stdin", stdin=b"x").strip().decode()
    kind, mode = "blob", "100644"
    for _ in range(10):
        listing = "".join(f"{mode} {kind} {below}\t{name}\n" for name in "abcdefghij")
        below = git.run("mktree", stdin=listing.encode()).strip().decode()
        kind, mode = "tree", "040000"
    with pytest.raises(TooLarge, match=r"more than 1,000,000 files"):
        entries(git, below)
    with pytest.raises(GitError):
        entries(git, "0" * 40)
