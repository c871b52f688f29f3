"""Every setting of the service, read from the environment.

``DATABASE_URL`` stands alone; the rest begin with ``FOURFOLD_``, nested groups are joined by ``__``
(``FOURFOLD_SEARCH__DEADLINE_MS``). The README's table is tested against these classes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.domain.errors import ConfigurationError


def split_names(value: object) -> object:
    """``A, b`` → ``("a", "b")``; what is no text is left to the type."""
    return tuple(part.strip().lower() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


class SearchSettings(BaseModel):
    """Deadlines and bounds of the read path."""

    deadline_ms: int = Field(default=2_000, ge=50, le=10_000, description="deadline of a search when the request names none")
    max_deadline_ms: int = Field(default=10_000, ge=50, description="the longest deadline a request may ask for")
    retriever_deadline_ms: int = Field(default=1_000, ge=20, description="deadline of one retriever, once another has found something")
    admission_ms: int = Field(
        default=200,
        ge=0,
        description="how long a search waits for a free place before 503, or one and a half times as long as a place is held",
    )
    concurrency: int = Field(default=8, ge=1, description="searches answered at the same time; each may hold four connections")
    unindexed_scan_chunks: int = Field(
        50_000, ge=0, description="the largest scope, in chunks, in which a pattern without any trigram is looked for"
    )

    def deadline_of(self, timeout_ms: int | None) -> int:
        """The deadline of a search, in milliseconds, given the one that its request names."""
        return min(timeout_ms or self.deadline_ms, self.max_deadline_ms)


class HttpSettings(BaseModel):
    """What a client may cost while it only connects, sends, waits or listens."""

    connections: int = Field(default=512, ge=1, description="connections open at the same time; who comes later is sent away with 503")
    head_seconds: float = Field(default=10.0, gt=0, description="how long the first line and the headers of a request may take")
    stall_seconds: float = Field(
        default=30.0, gt=0, description="how long a client may take over a body or an answer beside one second for each 16 kB"
    )
    lookups: int = Field(default=8, ge=1, description="calls other than searches that read the database at the same time")
    waiting: int = Field(default=64, ge=1, description="calls that wait for a revision or watch a job at the same time")
    uploads: int = Field(default=4, ge=1, description="archives taken in at the same time")
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="names, separated by commas, that callers know the service by; unset: on loopback its own, elsewhere any",
    )

    @field_validator("hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        return split_names(value)


class IndexSettings(BaseModel):
    """Bounds of the write path."""

    parse_seconds: float = Field(default=5.0, gt=0, description="CPU seconds a parser may spend on one file before it is killed")
    parse_processes: int = Field(default_factory=lambda: max(1, os.cpu_count() or 1), ge=1, description="parser processes")
    parse_memory_bytes: int = Field(
        default=1_500_000_000, ge=100_000_000, description="bytes of address space of a parser process; beyond it the file counts as failed"
    )
    max_parse_bytes: int = Field(default=2_000_000, ge=1, description="larger files are searchable as text but not parsed")
    max_file_bytes: int = Field(default=50_000_000, ge=1, description="larger files are skipped and reported")
    chunk_lines: int = Field(default=40, ge=5, description="lines in a chunk at most")
    chunk_bytes: int = Field(default=1_500, ge=200, description="bytes in a chunk at most; a longer line is a chunk of its own")
    grace_seconds: float = Field(default=60.0, ge=0, description="how long a replaced generation stays readable")
    poll_seconds: float = Field(default=30.0, gt=0, description="how often the worker looks whether a local repository moved on")


class RetentionSettings(BaseModel):
    """How long what no index stands on is kept."""

    job_days: int = Field(default=30, ge=0, description="days after which a finished job is forgotten; a repository's newest stays")
    blob_days: int = Field(
        default=90, ge=0, description="days after which a git blob that no index shows and no run asked for is forgotten"
    )
    audit_days: int = Field(default=365, ge=1, description="days after which an entry of the audit log is forgotten")


class GitSettings(BaseModel):
    """Git remotes."""

    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="hosts, separated by commas, that may have private addresses or speak plain http; others must be public"
    )
    poll_seconds: float = Field(
        default=300.0, gt=0, description="how often a git remote is asked whether it moved on, unless its repository says"
    )
    depth: int = Field(default=10, ge=1, description="commits of history that are fetched of each ref, for min_revision and comparisons")
    fetch_seconds: float = Field(default=900.0, gt=0, description="how long a fetch may take")
    max_fetch_bytes: int = Field(default=4_000_000_000, ge=1, description="bytes that a remote may send for a fetch")
    ca_file: Path | None = Field(default=None, description="certificates that https remotes are checked with; unset: the system's")

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        return split_names(value)


class ArchiveSettings(BaseModel):
    """Bounds of uploaded archives."""

    max_bytes: int = Field(default=500_000_000, ge=1, description="bytes of an uploaded archive at most")
    max_unpacked_bytes: int = Field(default=4_000_000_000, ge=1, description="bytes of its files together at most")
    max_files: int = Field(default=500_000, ge=1, description="files in an archive at most")
    max_ratio: float = Field(default=200.0, ge=1, description="bytes of the files per byte of the archive at most")


class WebhookSettings(BaseModel):
    """Secrets that forges sign their deliveries with; without one, deliveries of that forge are refused."""

    github_secret: SecretStr | None = Field(default=None, description="secret of GitHub's webhooks")
    gitlab_secret: SecretStr | None = Field(default=None, description="secret token of GitLab's webhooks")
    gitea_secret: SecretStr | None = Field(default=None, description="secret of Gitea's and Forgejo's webhooks")


class AccessSettings(BaseModel):
    """Who may call, and how much."""

    open: bool = Field(
        default=False, description="answer without keys beyond loopback too, until the first key is made; otherwise the start needs a key"
    )
    requests_per_minute: int = Field(default=600, ge=0, description="requests per minute of a key; 0: any number")
    concurrency: int = Field(default=16, ge=0, description="requests of a key that are answered at the same time; 0: any number")
    row_security: Literal["auto", "required", "off"] = Field(
        default="auto",
        description="PostgreSQL keeps limited keys to their repositories too: auto (where it can be set up), required (or no start) or off",
    )


class CredentialSettings(BaseModel):
    """A secret that sources refer to by its name; it is sent to its host alone."""

    host: str = Field(min_length=1, description="the only host that the secret is sent to")
    username: str = Field(default="git", min_length=1, description="user name that goes with the token")
    token: SecretStr | None = Field(default=None, description="access token, for https")
    token_file: Path | None = Field(default=None, description="file that holds the token")
    ssh_key_file: Path | None = Field(default=None, description="private key, for ssh")
    known_hosts_file: Path | None = Field(default=None, description="known hosts; unset: a host is trusted when it is first met")


class VoyageSettings(BaseModel):
    """Voyage AI as the provider of embeddings."""

    api_key: SecretStr | None = Field(default=None, description="key of Voyage AI; needed with the embedder voyage")
    model: str = Field(default="voyage-code-3", min_length=1, description="model of Voyage AI that can give 1,024 bits")
    url: str | None = Field(default=None, description="address of its embeddings; unset: Voyage AI's own")
    requests_per_minute: int = Field(default=2_000, ge=1, description="requests per minute that a process may send")
    tokens_per_minute: int = Field(default=3_000_000, ge=1, description="tokens per minute that a process may send")


class OpenAiSettings(BaseModel):
    """Any server with OpenAI's interface for embeddings."""

    api_key: SecretStr | None = Field(default=None, description="key of the server, if it wants one")
    model: str | None = Field(default=None, min_length=1, description="the model to ask for; needed with the embedder openai")
    url: str | None = Field(default=None, description="address of its embeddings, /v1/embeddings at the end; unset: OpenAI's own")
    dimensions: int = Field(default=1_024, ge=8, le=65_536, description="numbers in a vector of the model; another width is an error")
    send_dimensions: bool = Field(default=False, description="ask the server for that width: for models that can be cut short")
    query_prefix: str = Field(default="", description="put before a question, for models that were trained with a prefix")
    document_prefix: str = Field(default="", description="put before a chunk, likewise")
    batch_texts: int = Field(default=32, ge=1, description="texts per request at most")
    batch_tokens: int = Field(default=16_000, ge=1, description="tokens per request at most")
    text_tokens: int = Field(default=8_000, ge=16, description="tokens that the model reads of a text; longer ones are cut into pieces")
    requests_per_minute: int = Field(default=3_000, ge=1, description="requests per minute that a process may send")
    tokens_per_minute: int = Field(default=1_000_000, ge=1, description="tokens per minute that a process may send")


class EmbeddingSettings(BaseModel):
    """Providers of embeddings, and the search among vectors."""

    voyage: VoyageSettings = Field(default_factory=VoyageSettings, description="Voyage AI")
    openai: OpenAiSettings = Field(default_factory=OpenAiSettings, description="servers with OpenAI's interface")
    answer_seconds: float = Field(default=60.0, gt=0, description="how long a provider may take over a batch of chunks")
    query_ms: int = Field(default=800, ge=20, description="how long a provider may take over a question; then the others answer alone")
    exact_chunks: int = Field(
        default=50_000,
        ge=0,
        description="the largest scope, in chunks, whose vectors are all compared; above it an approximate index is asked",
    )
    memory_chunks: int = Field(
        default=400_000,
        ge=0,
        description="vectors that a process keeps in memory, 136 bytes each; a scope of more chunks is compared in the database",
    )
    cache_days: int = Field(default=90, ge=1, description="days after which a computed vector that no index run asked for is forgotten")


class Settings(BaseSettings):
    """The service's settings; build it with ``load_settings``."""

    model_config = SettingsConfigDict(env_prefix="FOURFOLD_", env_nested_delimiter="__", extra="ignore")

    database_url: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("DATABASE_URL", "database_url"),
        description="PostgreSQL to use, and no other; unset: an embedded server",
    )
    state_dir: Path | None = Field(
        default=None, description="where the embedded database and run files live; unset: chosen by platform and user"
    )
    host: str = Field(default="127.0.0.1", description="address the service binds to")
    port: int = Field(default=8000, ge=0, le=65535, description="port the service binds to")
    allowed_roots: Annotated[tuple[Path, ...], NoDecode] = Field(
        (), description="directories, separated by ':', under which local repositories may lie; unset: anywhere on loopback, nowhere else"
    )
    embedder: Literal["static", "minilm", "voyage", "openai", "none"] = Field(
        default="static", description="the embedder: static, minilm, voyage, openai, or none (no semantic search)"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="least level that is logged")
    log_format: Literal["json", "console"] = Field(default="console", description="log lines as JSON or for people")
    search: SearchSettings = Field(default_factory=SearchSettings, description="read path")
    http: HttpSettings = Field(default_factory=HttpSettings, description="connections")
    index: IndexSettings = Field(default_factory=IndexSettings, description="write path")
    retention: RetentionSettings = Field(default_factory=RetentionSettings, description="what is forgotten, and when")
    git: GitSettings = Field(default_factory=GitSettings, description="git remotes")
    credentials: dict[str, CredentialSettings] | None = Field(
        default=None,
        description="secrets for git remotes, by name, each field a variable: FOURFOLD_CREDENTIALS__<name>__HOST, __TOKEN or __TOKEN_FILE, "
        "__USERNAME, __SSH_KEY_FILE, __KNOWN_HOSTS_FILE",
    )
    archive: ArchiveSettings = Field(default_factory=ArchiveSettings, description="uploaded archives")
    access: AccessSettings = Field(default_factory=AccessSettings, description="keys and their limits")
    webhook: WebhookSettings = Field(default_factory=WebhookSettings, description="deliveries of forges")
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings, description="embedders and vectors")

    @field_validator("allowed_roots", mode="before")
    @classmethod
    def _split_roots(cls, value: object) -> object:
        return tuple(Path(part) for part in value.split(os.pathsep) if part) if isinstance(value, str) else value


def load_settings() -> Settings:
    """Read the environment; raises ConfigurationError naming each setting that is wrong."""
    try:
        settings = Settings()
    except ValidationError as error:
        lines = [f"{_setting_name(item['loc'])}: {item['msg']}" for item in error.errors()]
        raise ConfigurationError("invalid settings: " + "; ".join(lines)) from None
    return settings


def _setting_name(location: tuple[int | str, ...]) -> str:
    name = "__".join(str(part) for part in location).upper()
    return name if name == "DATABASE_URL" else f"FOURFOLD_{name}"
