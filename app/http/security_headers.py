"""What browsers are told of every answer: it is no page, nobody frames it, and nothing is loaded for it."""

from __future__ import annotations

from typing import Final

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""An answer that is a page has a Content-Security-Policy of its own, made with ``page_policy``."""


def page_policy(**sources: str) -> str:
    """The same policy with these sources allowed: ``page_policy(style="'unsafe-inline'")``."""
    allowed = "".join(f"; {kind}-src {source}" for kind, source in sources.items())
    return SECURITY_HEADERS["Content-Security-Policy"] + allowed
