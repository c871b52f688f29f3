"""A thin client over the standard library: JSON in, JSON out, one error for everything that the network does."""

import json
import urllib.error
import urllib.request


class NetworkError(Exception):
    """Connection refused, reset or timed out: ECONNREFUSED, ECONNRESET, ETIMEDOUT."""


class HttpClient:
    def __init__(self, timeout_seconds: float = 5.0) -> None:
        self.timeout_seconds = timeout_seconds

    def request(self, method: str, url: str, body: dict | None = None, idempotency_key: str | None = None) -> dict:
        headers = {"Content-Type": "application/json"}
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_seconds) as response:
                return json.load(response)
        except (urllib.error.URLError, TimeoutError) as error:
            raise NetworkError(str(error)) from error
