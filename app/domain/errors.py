"""Every error a caller can meet.

    FourfoldError                 500  internal
    ├── InvalidRequest            422  invalid_request          names the field
    ├── QueryNotServable          422  query_not_servable       the query cannot be answered within bounds, with the reason
    ├── NotSigned                 401  not_signed               a delivery that does not bear this service's secret
    ├── NotAuthenticated          401  not_authenticated        no key, or one that does not count: unknown, expired or revoked
    ├── NotAllowed                403  not_allowed              the key is good, but not for this
    ├── NotFound                  404  not_found
    │   ├── RepositoryNotFound    404  repository_not_found
    │   ├── JobNotFound           404  job_not_found
    │   ├── RevisionNotFound      404  revision_not_found       no such branch, tag or indexed commit; the message lists those there are
    │   ├── FileNotIndexed        404  file_not_found           no such file in the index; the message says why
    │   ├── ScopeNotFound         404  scope_not_found
    │   ├── KeyNotFound           404  key_not_found
    │   └── SymbolNotFound        404  symbol_not_found
    ├── TooLarge                  413  too_large                what was sent is beyond a bound of the service
    ├── Conflict                  409  conflict
    ├── NotIndexed                425  not_indexed              with Retry-After
    ├── CursorExpired             410  cursor_expired
    ├── TooManyRequests           429  too_many_requests        the key's share is used up, with Retry-After
    ├── Overloaded                503  overloaded               with Retry-After
    ├── StoreUnavailable          503  store_unavailable        with Retry-After
    ├── StoreBusy                 503  store_busy               the database gave a statement up: time, room or a lock; with Retry-After
    ├── SourceUnavailable         503  source_unavailable       a remote does not answer or refuses; the index stays, the run is tried again
    ├── SourceRefused             502  source_refused           a remote refuses the credential, wants one, or sends too much; the run fails
    ├── EmbedderUnavailable       503  embedder_unavailable     the provider of embeddings does not answer; search degrades, chunks wait
    ├── TextWithheld              422  text_withheld            the text holds a secret, which is not sent to a provider
    └── ConfigurationError        500  configuration            the service cannot start like this; the message says what to do

The docstring is the default message; ``code`` is the stable end of the problem's ``type``.
"""

from __future__ import annotations

from typing import ClassVar


class FourfoldError(Exception):
    """Something went wrong inside the service."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str | None = None, *, field: str | None = None, retry_after: int | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.field = field
        self.retry_after = retry_after
        super().__init__(self.message)


class InvalidRequest(FourfoldError):
    """A field of the request is not valid."""

    code = "invalid_request"
    status = 422


class QueryNotServable(FourfoldError):
    """The query cannot be answered within the service's bounds."""

    code = "query_not_servable"
    status = 422


class NotSigned(FourfoldError):
    """The request does not bear this service's secret."""

    code = "not_signed"
    status = 401


class NotAuthenticated(FourfoldError):
    """This call needs a key: send it as Authorization: Bearer."""

    code = "not_authenticated"
    status = 401


class NotAllowed(FourfoldError):
    """The key is not good for this call."""

    code = "not_allowed"
    status = 403


class NotFound(FourfoldError):
    """There is no such thing."""

    code = "not_found"
    status = 404


class RepositoryNotFound(NotFound):
    """There is no repository of that name."""

    code = "repository_not_found"


class JobNotFound(NotFound):
    """There is no job with that id."""

    code = "job_not_found"


class RevisionNotFound(NotFound):
    """There is no such branch, tag or indexed commit."""

    code = "revision_not_found"


class FileNotIndexed(NotFound):
    """There is no such file in the index."""

    code = "file_not_found"


class ScopeNotFound(NotFound):
    """There is no saved scope of that name."""

    code = "scope_not_found"


class KeyNotFound(NotFound):
    """There is no key with that id."""

    code = "key_not_found"


class SymbolNotFound(NotFound):
    """There is no symbol with that id."""

    code = "symbol_not_found"


class TooLarge(FourfoldError):
    """What was sent is larger than the service takes."""

    code = "too_large"
    status = 413


class Conflict(FourfoldError):
    """The request contradicts what is stored."""

    code = "conflict"
    status = 409


class NotIndexed(FourfoldError):
    """The repository has not been indexed yet."""

    code = "not_indexed"
    status = 425


class CursorExpired(FourfoldError):
    """The index that this cursor was made on is gone; ask again without the cursor."""

    code = "cursor_expired"
    status = 410


class TooManyRequests(FourfoldError):
    """The key has used up its share; ask again later."""

    code = "too_many_requests"
    status = 429


class Overloaded(FourfoldError):
    """The service is answering as many searches as it can."""

    code = "overloaded"
    status = 503


class StoreUnavailable(FourfoldError):
    """The database cannot be reached."""

    code = "store_unavailable"
    status = 503


class StoreBusy(FourfoldError):
    """The database gave up a statement; ask again later, or for less."""

    code = "store_busy"
    status = 503


class SourceUnavailable(FourfoldError):
    """The source of the repository cannot be reached at the moment."""

    code = "source_unavailable"
    status = 503


class SourceRefused(FourfoldError):
    """The remote of the repository refuses the credential, wants one, or sends more than may be fetched."""

    code = "source_refused"
    status = 502


class EmbedderUnavailable(FourfoldError):
    """The embedder cannot be reached at the moment."""

    code = "embedder_unavailable"
    status = 503


class TextWithheld(FourfoldError):
    """The text seems to hold a secret and is not sent to the provider of embeddings."""

    code = "text_withheld"
    status = 422


class ConfigurationError(FourfoldError):
    """The service cannot start with these settings."""

    code = "configuration"
