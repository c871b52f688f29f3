"""How the embedded PostgreSQL is configured: where its socket is, and the settings that differ from PostgreSQL's own."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path

from app.domain.errors import ConfigurationError
from app.storage.cluster import Account

_LONGEST_SOCKET_DIR = 85  # a socket's path has at most 103 bytes on macOS, 107 on Linux
_LEAST_SHARED_MEMORY = 1 << 30


def socket_dir_for(preferred: Path, account: Account) -> Path:
    """``preferred``, or a short name in /tmp when its path is too long for a socket or would need quoting.

    Every user of the server must find the same one, so no variable of the environment takes part. Raises ConfigurationError
    when somebody else took the name.
    """
    if len(os.fsencode(preferred)) <= _LONGEST_SOCKET_DIR and re.fullmatch(r"[\w/. +=-]+", str(preferred), re.ASCII):
        return preferred
    digest = hashlib.sha256(os.fsencode(preferred)).hexdigest()[:16]
    path = Path("/tmp") / f"fourfold-{digest}"  # noqa: S108 - owner and mode are checked below
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        account.own(path)
    found = path.lstat()
    owner = os.geteuid() if account.uid is None else account.uid
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner or stat.S_IMODE(found.st_mode) != 0o700:
        raise ConfigurationError(f"{path} was made by someone else: remove it, or choose a shorter FOURFOLD_STATE_DIR")
    return path


def server_settings(socket_dir: Path, log_dir: Path) -> dict[str, str]:
    """For the command line, where they also win over what ``ALTER SYSTEM`` left behind."""
    return {
        "listen_addresses": "",
        "unix_socket_directories": str(socket_dir),
        "unix_socket_permissions": "0700",
        "port": "5432",
        "max_connections": "100",
        "shared_buffers": "256MB",
        "maintenance_work_mem": "256MB",
        "dynamic_shared_memory_type": "posix" if _has_shared_memory() else "mmap",
        "random_page_cost": "1.1",  # no spinning disks
        "jit": "off",  # compiling takes longer than the queries here
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_wal_size": "2GB",
        "autovacuum": "on",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "on",
        "log_directory": str(log_dir),
        "log_filename": "postgresql-%a.log",  # a week, each day's file replaced by the next week's
        "log_file_mode": "0600",
        "log_truncate_on_rotation": "on",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
    }


def _has_shared_memory() -> bool:
    """Containers get 64 MB in /dev/shm, too little for a parallel index build."""
    try:
        found = os.statvfs("/dev/shm")  # noqa: S108
    except OSError:
        return sys.platform == "darwin"
    return found.f_bavail * found.f_frsize >= _LEAST_SHARED_MEMORY
