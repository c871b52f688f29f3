"""Reads the deliveries of forges: who signed them, and which repositories they speak of.

A delivery only says that it is time to look at a remote; what is there then is what counts. So deliveries may be late, twice or in any
order.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final

from pydantic import SecretStr

from app.config import WebhookSettings
from app.domain.errors import FourfoldError, InvalidRequest, NotSigned
from app.domain.index import Repository
from app.sources.address import Address, parse_address


class Forge(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"


_EVENT_HEADERS: Final = {Forge.GITHUB: "x-github-event", Forge.GITLAB: "x-gitlab-event", Forge.GITEA: "x-gitea-event"}
_EVENTS: Final = frozenset({"push", "create", "delete", "push hook", "tag push hook", "system hook"})
"""Those that move a branch or a tag, in lower case."""

_ADDRESSES: Final = ("clone_url", "ssh_url", "html_url", "git_http_url", "git_ssh_url", "web_url", "homepage")


def check_signature(forge: Forge, body: bytes, headers: Mapping[str, str], settings: WebhookSettings) -> None:
    """Raises NotSigned unless whoever sent this knows the secret. Compares in constant time."""
    secret: SecretStr | None = getattr(settings, f"{forge}_secret")
    if secret is None or not secret.get_secret_value():  # an empty secret is one that everybody knows
        raise NotSigned(f"deliveries are refused while FOURFOLD_WEBHOOK__{forge.upper()}_SECRET is not set")
    key = secret.get_secret_value().encode()
    if forge is Forge.GITLAB:
        valid = hmac.compare_digest(headers.get("x-gitlab-token", "").encode(), key)
    else:
        given = headers.get("x-hub-signature-256", "") or f"sha256={headers.get('x-gitea-signature', '')}"
        valid = hmac.compare_digest(given.encode(), b"sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest().encode())
    if not valid:
        raise NotSigned("the delivery is not signed with this service's secret")


def moves_refs(forge: Forge, headers: Mapping[str, str]) -> bool:
    """Whether the event says that a branch or a tag moved."""
    return headers.get(_EVENT_HEADERS[forge], "").lower() in _EVENTS


def addresses(body: bytes) -> frozenset[tuple[str, str]]:
    """Host and path of the repository that a delivery speaks of, by all its addresses.

    Raises InvalidRequest for what is no JSON, and for a delivery that describes no repository: its sender should hear of it.
    """
    try:
        payload: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidRequest("the delivery is not JSON; choose the content type application/json at the forge", field="body") from None
    parts = [payload.get(name) for name in ("repository", "project")] if isinstance(payload, dict) else []
    texts = [text for part in parts if isinstance(part, dict) for name in _ADDRESSES if isinstance(text := part.get(name), str)]
    if not texts:
        raise InvalidRequest("the delivery describes no repository with an address", field="body")
    found: set[tuple[str, str]] = set()
    for text in texts:
        with suppress(FourfoldError):  # an address of another kind, such as git://
            found.add(_place(parse_address(text)))
    return frozenset(found)


def speaks_of(repository: Repository, found: frozenset[tuple[str, str]]) -> bool:
    """Whether the repository's remote is one of those."""
    return repository.source.url is not None and _place(parse_address(repository.source.url)) in found


def digest(body: bytes) -> str:
    """What a delivery is remembered by: its content, since the ids that forges give are not signed."""
    return hashlib.sha256(body).hexdigest()


def _place(address: Address) -> tuple[str, str]:
    return address.host, address.path.strip("/").removesuffix(".git").lower()
