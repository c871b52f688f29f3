"""What happens around every request: an id for the log, a limit per client."""

import time
from collections import defaultdict
from functools import wraps
from uuid import uuid4

REQUESTS_PER_MINUTE = 60


class TokenBucket:
    """Refills steadily; a request takes one token."""

    def __init__(self, capacity: int, per_second: float) -> None:
        self.capacity = capacity
        self.per_second = per_second
        self.tokens = float(capacity)
        self.filled_at = time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self.tokens = min(self.capacity, self.tokens + (now - self.filled_at) * self.per_second)
        self.filled_at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


_buckets = defaultdict(lambda: TokenBucket(REQUESTS_PER_MINUTE, REQUESTS_PER_MINUTE / 60))


def rate_limited(handler):
    """Answers 429 when a client asks too often."""

    @wraps(handler)
    def limited(request, *arguments):
        if not _buckets[request.client_address].take():
            return 429, {"error": "too many requests"}
        return handler(request, *arguments)

    return limited


def with_request_id(handler):
    @wraps(handler)
    def identified(request, *arguments):
        request.id = request.headers.get("X-Request-Id") or uuid4().hex
        return handler(request, *arguments)

    return identified
