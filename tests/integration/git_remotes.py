"""Remotes to clone from: repositories in a temporary directory, over file:// or a real git http-backend."""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme

_AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")


class Remote:
    """A repository that tests commit to; ``bare`` is what is cloned."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.bare = folder / "remote.git"
        self.work.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare)], check=True)

    @property
    def url(self) -> str:
        return f"file://{self.bare}"

    def git(self, *arguments: str) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {"GIT_CONFIG_GLOBAL": "/dev/null"}
        result = subprocess.run(["git", *_AUTHOR, *arguments], cwd=self.work, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def commit(self, files: Mapping[str, str | None], branch: str = "main", push: bool = True) -> str:
        """Commit these files on top of a branch, None deletes; the commit's id."""
        if self.git("branch", "--list", branch):
            self.git("switch", "--quiet", branch)
        elif self.git("branch", "--list"):
            self.git("switch", "--quiet", "--create", branch)
        for name, text in files.items():
            path = self.work / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change")
        if push:
            self.push()
        return self.git("rev-parse", "HEAD")

    def push(self) -> None:
        self.git("push", "--quiet", "--mirror", "--force", str(self.bare))


@dataclass
class HttpRemotes:
    """What the server saw and how it behaves."""

    url: str
    secret: str | None = None
    down: bool = False
    redirect_to: str | None = None
    hangs: threading.Event | None = None
    seen: list[tuple[str, str | None]] = field(default_factory=list)


@contextmanager
def http_remotes(folder: Path, ca: trustme.CA | None = None) -> Iterator[HttpRemotes]:
    """The repositories below ``folder``, served by git's own CGI program on loopback; over https with a certificate of ``ca`` if given."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve(b"")

        def do_POST(self) -> None:
            self._serve(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _serve(self, body: bytes) -> None:
            remotes.seen.append((self.path, self.headers.get("Authorization")))
            if remotes.hangs is not None:
                remotes.hangs.wait(60)
                return
            if remotes.redirect_to:
                self._answer(302, b"", {"Location": remotes.redirect_to + self.path})
                return
            if remotes.down:
                self._answer(503, b"down")
                return
            if remotes.secret and not self._authorised(remotes.secret):
                self._answer(401, b"no", {"WWW-Authenticate": 'Basic realm="git"'})
                return
            path, _, query = self.path.partition("?")
            environment = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            result = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
            head, _, content = result.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self._answer(int(headers.pop("Status", "200").split()[0]), content, headers)

        def _authorised(self, secret: str) -> bool:
            kind, _, value = self.headers.get("Authorization", "").partition(" ")
            return kind == "Basic" and base64.b64decode(value).decode().partition(":")[2] == secret

        def _answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: the test's own output is enough."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    remotes = HttpRemotes(f"http://127.0.0.1:{server.server_port}")
    if ca is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert("localhost").configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        remotes.url = f"https://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield remotes
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
