"""Who is asking: passwords, login, session tokens."""

import base64
import hashlib
import hmac
import os
import time

from ferry.config import settings
from ferry.errors import TokenExpired

SESSION_SECONDS = 30 * 60
SCRYPT = {"n": 2**14, "r": 8, "p": 1}


def hash_password(password: str) -> str:
    """A salted scrypt hash, as it is stored."""
    salt = os.urandom(16)
    digest = hashlib.scrypt(password.encode(), salt=salt, **SCRYPT)
    return base64.b64encode(salt + digest).decode()


def check_password(password: str, stored: str) -> bool:
    raw = base64.b64decode(stored)
    salt, digest = raw[:16], raw[16:]
    return hmac.compare_digest(digest, hashlib.scrypt(password.encode(), salt=salt, **SCRYPT))


def login(users: dict[str, str], name: str, password: str) -> str | None:
    """A session token, or None; an unknown name takes as long as a wrong password."""
    stored = users.get(name) or hash_password("nobody")
    if check_password(password, stored) and name in users:
        return issue_token(name)
    return None


def issue_token(name: str, now: float | None = None) -> str:
    expires = int((now or time.time()) + SESSION_SECONDS)
    payload = f"{name}:{expires}"
    return f"{payload}:{_signature(payload)}"


def verify_token(token: str, now: float | None = None) -> str:
    """The name a token was issued to. Raises TokenExpired, ValueError for a forged one."""
    payload, _, signature = token.rpartition(":")
    if not hmac.compare_digest(signature, _signature(payload)):
        raise ValueError("the token's signature is wrong")
    name, _, expires = payload.rpartition(":")
    if int(expires) < (now or time.time()):
        raise TokenExpired(name)
    return name


def _signature(payload: str) -> str:
    return hmac.new(settings().secret.encode(), payload.encode(), hashlib.sha256).hexdigest()
