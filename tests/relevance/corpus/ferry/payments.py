"""Talks to the bank's gateway: charges, refunds, and patience when the network is bad."""

import time
from decimal import Decimal

from ferry.config import settings
from ferry.errors import PaymentDeclined
from ferry.http_client import HttpClient, NetworkError

MAX_ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.2

_client = HttpClient()


def charge_card(card: str, amount: Decimal) -> str:
    """Take an amount from a card; returns the payment's id. Raises PaymentDeclined."""
    reply = _with_backoff("POST", "/charges", {"card": card, "amount": str(amount)})
    if reply["status"] == "declined":
        raise PaymentDeclined(reply["reason"])
    return reply["id"]


def refund_payment(payment_id: str, amount: Decimal) -> None:
    _with_backoff("POST", f"/charges/{payment_id}/refunds", {"amount": str(amount)})


def _with_backoff(method: str, path: str, body: dict) -> dict:
    """Retry with exponential backoff while the gateway cannot be reached; an idempotency key keeps charges single."""
    pause = FIRST_PAUSE_SECONDS
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            return _client.request(method, settings().gateway_url + path, body, idempotency_key=f"{path}:{hash(str(body))}")
        except NetworkError:
            if attempt == MAX_ATTEMPTS:
                raise
            time.sleep(pause)
            pause *= 2
    raise AssertionError("unreachable")
