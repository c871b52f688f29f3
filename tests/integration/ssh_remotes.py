"""A real SSH server on loopback that runs ``git upload-pack`` for whoever has a key that it knows."""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh


@dataclass
class SshRemotes:
    """Where it listens, its own key, and the public keys that may come in, as they stand in an ``authorized_keys`` file."""

    url: str
    host_key: str
    keys: set[str] = field(default_factory=set)
    commands: list[str] = field(default_factory=list)


def key_pair(path: Path) -> str:
    """Write a private key to ``path``; returns the public one."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    path.touch(0o600)
    path.write_bytes(key.export_private_key())
    return key.export_public_key().decode().strip()


async def _pass_on(
    source: asyncssh.SSHReader[bytes] | asyncio.StreamReader, target: asyncssh.SSHWriter[bytes] | asyncio.StreamWriter
) -> None:
    with suppress(ConnectionError):
        while block := await source.read(1 << 16):
            target.write(block)
            await target.drain()
    if isinstance(target, asyncio.StreamWriter):
        target.close()


@contextmanager
def ssh_remotes(folder: Path) -> Iterator[SshRemotes]:
    """The repositories below ``folder``."""
    host_key = asyncssh.generate_private_key("ssh-ed25519")
    remotes = SshRemotes("", host_key.export_public_key().decode().strip())

    class Server(asyncssh.SSHServer):
        def begin_auth(self, username: str) -> bool:
            return True

        def public_key_auth_supported(self) -> bool:
            return True

        def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
            return username == "git" and key.export_public_key().decode().strip() in remotes.keys

    async def upload_pack(process: asyncssh.SSHServerProcess[bytes]) -> None:
        remotes.commands.append(process.command or "")
        program, path = shlex.split(process.command or "")
        if program != "git-upload-pack":
            process.exit(1)
            return
        command = ("git", "-c", "safe.directory=*", "upload-pack", str(folder / path.lstrip("/")))
        pipe = asyncio.subprocess.PIPE
        git = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        assert git.stdin is not None
        assert git.stdout is not None
        asked = asyncio.create_task(_pass_on(process.stdin, git.stdin))
        await _pass_on(git.stdout, process.stdout)
        await asked
        process.exit(await git.wait())

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.create_server(Server, "127.0.0.1", 0, server_host_keys=[host_key], process_factory=upload_pack, encoding=None)

    async def close() -> None:
        listener.close()
        await listener.wait_closed()

    listener = asyncio.run_coroutine_threadsafe(listen(), loop).result(30)
    remotes.url = f"ssh://git@127.0.0.1:{listener.get_port()}"
    try:
        yield remotes
    finally:
        asyncio.run_coroutine_threadsafe(close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
