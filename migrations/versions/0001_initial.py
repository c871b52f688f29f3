"""The first schema: repositories, generations, content, postings, symbols, edges, embeddings, jobs.

Revision ID: 0001
Revises:
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

EXTENSIONS = ("vector", "pg_trgm", "btree_gin")

STATEMENTS = (
    """
    CREATE TABLE centrality (
        repository_id INTEGER NOT NULL,
        branch_id SMALLINT NOT NULL,
        symbol_id BIGINT NOT NULL,
        from_gen INTEGER NOT NULL,
        to_gen INTEGER DEFAULT 2147483647 NOT NULL,
        value REAL NOT NULL,
        PRIMARY KEY (repository_id, branch_id, symbol_id, from_gen)
    )
    """,
    """
    CREATE TABLE chunk (
        repository_id INTEGER NOT NULL,
        chunk_id INTEGER NOT NULL,
        file_id INTEGER NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (repository_id, chunk_id)
    )
    """,
    """
    CREATE INDEX chunk_file ON chunk (repository_id, file_id, start_line)
    """,
    """
    CREATE INDEX chunk_text_trigrams ON chunk USING gin (repository_id, text gin_trgm_ops) WITH (gin_pending_list_limit = 16384)
    """,
    """
    CREATE INDEX chunk_odd_case ON chunk (repository_id)
    WHERE text ~ '[\u00b5\u017f\u0345\u03c2\u03d0\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5'
        '\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86\u1c87\u1c88\u1e9b\u1fbe]'
    """,
    """
    CREATE TABLE edge (
        repository_id INTEGER NOT NULL,
        branch_id SMALLINT NOT NULL,
        source BIGINT NOT NULL,
        target BIGINT NOT NULL,
        kind TEXT NOT NULL,
        class TEXT NOT NULL,
        file_id INTEGER NOT NULL,
        reference INTEGER,
        line INTEGER NOT NULL,
        from_gen INTEGER NOT NULL,
        to_gen INTEGER DEFAULT 2147483647 NOT NULL
    )
    """,
    """
    CREATE INDEX edge_file ON edge (repository_id, branch_id, file_id)
    """,
    """
    CREATE INDEX edge_source ON edge (repository_id, branch_id, source, kind)
    """,
    """
    CREATE INDEX edge_target ON edge (repository_id, branch_id, target, kind)
    """,
    """
    CREATE TABLE embedding (
        repository_id INTEGER NOT NULL,
        vector_set TEXT NOT NULL,
        chunk_id INTEGER NOT NULL,
        bits BIT(1024),
        error TEXT,
        PRIMARY KEY (repository_id, vector_set, chunk_id)
    )
    """,
    """
    CREATE TABLE embedding_cache (
        vector_set TEXT NOT NULL,
        text_hash BYTEA NOT NULL,
        bits BIT(1024) NOT NULL,
        PRIMARY KEY (vector_set, text_hash)
    )
    """,
    """
    CREATE TABLE file (
        repository_id INTEGER NOT NULL,
        branch_id SMALLINT NOT NULL,
        path TEXT NOT NULL,
        from_gen INTEGER NOT NULL,
        to_gen INTEGER DEFAULT 2147483647 NOT NULL,
        file_id INTEGER NOT NULL,
        language TEXT,
        path_class TEXT NOT NULL,
        PRIMARY KEY (repository_id, branch_id, path, from_gen)
    )
    """,
    """
    CREATE INDEX file_version_live ON file (repository_id, file_id) INCLUDE (branch_id, from_gen, to_gen)
    """,
    """
    CREATE TABLE file_version (
        repository_id INTEGER NOT NULL,
        file_id INTEGER NOT NULL,
        path TEXT NOT NULL,
        sha256 BYTEA NOT NULL,
        extractor TEXT NOT NULL,
        segment_id INTEGER NOT NULL,
        language TEXT,
        path_class TEXT NOT NULL,
        outcome TEXT NOT NULL,
        reason TEXT,
        encoding TEXT,
        bytes BIGINT NOT NULL,
        lines INTEGER NOT NULL,
        name_words TEXT[] NOT NULL,
        PRIMARY KEY (repository_id, file_id),
        CONSTRAINT file_version_content_key UNIQUE (repository_id, path, sha256, extractor)
    )
    """,
    """
    CREATE INDEX file_version_name_words ON file_version USING gin (repository_id, name_words)
    """,
    """
    CREATE TABLE import (
        repository_id INTEGER NOT NULL,
        file_id INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        module TEXT NOT NULL,
        name TEXT,
        local TEXT,
        line INTEGER NOT NULL,
        reexport BOOLEAN NOT NULL,
        PRIMARY KEY (repository_id, file_id, ordinal)
    )
    """,
    """
    CREATE TABLE name_word (
        repository_id INTEGER NOT NULL,
        word TEXT COLLATE "C" NOT NULL,
        symbols INTEGER NOT NULL,
        files INTEGER NOT NULL,
        PRIMARY KEY (repository_id, word)
    )
    """,
    """
    CREATE TABLE posting (
        repository_id INTEGER NOT NULL,
        term TEXT NOT NULL,
        segment_id INTEGER NOT NULL,
        files INTEGER NOT NULL,
        chunks INTEGER[] NOT NULL,
        weights SMALLINT[] NOT NULL,
        PRIMARY KEY (repository_id, term, segment_id)
    )
    """,
    """
    CREATE TABLE reference (
        repository_id INTEGER NOT NULL,
        file_id INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        line INTEGER NOT NULL,
        "column" INTEGER NOT NULL,
        receiver TEXT,
        enclosing INTEGER,
        PRIMARY KEY (repository_id, file_id, ordinal)
    )
    """,
    """
    CREATE INDEX reference_name ON reference (repository_id, name)
    """,
    """
    CREATE TABLE repository (
        id INTEGER GENERATED BY DEFAULT AS IDENTITY,
        name TEXT NOT NULL,
        path TEXT NOT NULL,
        include TEXT[] DEFAULT '{}' NOT NULL,
        exclude TEXT[] DEFAULT '{}' NOT NULL,
        next_file_id INTEGER DEFAULT 1 NOT NULL,
        next_chunk_id INTEGER DEFAULT 1 NOT NULL,
        next_segment_id INTEGER DEFAULT 1 NOT NULL,
        average_lengths REAL[],
        dead_chunks INTEGER DEFAULT 0 NOT NULL,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        PRIMARY KEY (id),
        UNIQUE (name)
    )
    """,
    """
    CREATE TABLE segment (
        repository_id INTEGER NOT NULL,
        segment_id INTEGER NOT NULL,
        files INTEGER NOT NULL,
        chunks INTEGER NOT NULL,
        PRIMARY KEY (repository_id, segment_id)
    )
    """,
    """
    CREATE TABLE skipped_file (
        repository_id INTEGER NOT NULL,
        branch_id SMALLINT NOT NULL,
        path TEXT NOT NULL,
        from_gen INTEGER NOT NULL,
        to_gen INTEGER DEFAULT 2147483647 NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (repository_id, branch_id, path, from_gen)
    )
    """,
    """
    CREATE TABLE symbol (
        repository_id INTEGER NOT NULL,
        file_id INTEGER NOT NULL,
        ordinal INTEGER NOT NULL,
        symbol_id BIGINT NOT NULL,
        chunk_id INTEGER NOT NULL,
        name TEXT NOT NULL,
        lname TEXT NOT NULL,
        qualified TEXT NOT NULL,
        kind TEXT NOT NULL,
        container INTEGER,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        name_line INTEGER NOT NULL,
        signature TEXT NOT NULL,
        doc TEXT NOT NULL,
        exported BOOLEAN NOT NULL,
        words TEXT[] NOT NULL,
        PRIMARY KEY (repository_id, file_id, ordinal)
    )
    """,
    """
    CREATE INDEX symbol_chunk ON symbol (repository_id, chunk_id)
    """,
    """
    CREATE INDEX symbol_id ON symbol (repository_id, symbol_id)
    """,
    """
    CREATE INDEX symbol_lname ON symbol (repository_id, lname)
    """,
    """
    CREATE INDEX symbol_name_trigrams ON symbol USING gin (repository_id, name gin_trgm_ops)
    """,
    """
    CREATE INDEX symbol_words ON symbol USING gin (repository_id, words)
    """,
    """
    CREATE TABLE branch (
        repository_id INTEGER NOT NULL,
        branch_id SMALLINT NOT NULL,
        ref TEXT NOT NULL,
        current_gen INTEGER DEFAULT 0 NOT NULL,
        known_revision TEXT,
        embeddings_pending INTEGER DEFAULT 0 NOT NULL,
        embeddings_failed INTEGER DEFAULT 0 NOT NULL,
        PRIMARY KEY (repository_id, branch_id),
        UNIQUE (repository_id, ref),
        FOREIGN KEY(repository_id) REFERENCES repository (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE generation (
        repository_id INTEGER NOT NULL,
        branch_id SMALLINT NOT NULL,
        generation INTEGER NOT NULL,
        revision TEXT NOT NULL,
        published_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        replaced_at TIMESTAMP WITH TIME ZONE,
        files INTEGER NOT NULL,
        skipped INTEGER NOT NULL,
        chunks INTEGER NOT NULL,
        coverage JSONB NOT NULL,
        PRIMARY KEY (repository_id, branch_id, generation),
        FOREIGN KEY(repository_id) REFERENCES repository (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE job (
        id UUID NOT NULL,
        repository_id INTEGER NOT NULL,
        state TEXT DEFAULT 'queued' NOT NULL,
        stage TEXT,
        priority SMALLINT DEFAULT 0 NOT NULL,
        files_done INTEGER DEFAULT 0 NOT NULL,
        files_total INTEGER,
        attempts INTEGER DEFAULT 0 NOT NULL,
        revision TEXT,
        error TEXT,
        result JSONB DEFAULT '{}' NOT NULL,
        cancel_requested BOOLEAN DEFAULT false NOT NULL,
        run_after TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        heartbeat_at TIMESTAMP WITH TIME ZONE,
        created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        started_at TIMESTAMP WITH TIME ZONE,
        finished_at TIMESTAMP WITH TIME ZONE,
        PRIMARY KEY (id),
        FOREIGN KEY(repository_id) REFERENCES repository (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE UNIQUE INDEX job_one_running ON job (repository_id) WHERE state = 'running'
    """,
    """
    CREATE UNIQUE INDEX job_one_waiting ON job (repository_id) WHERE state = 'queued'
    """,
    """
    CREATE INDEX job_waiting ON job (priority, created_at) WHERE state = 'queued'
    """,
)

TABLES = (
    "centrality",
    "chunk",
    "edge",
    "embedding",
    "embedding_cache",
    "file",
    "file_version",
    "import",
    "name_word",
    "posting",
    "reference",
    "repository",
    "segment",
    "skipped_file",
    "symbol",
    "branch",
    "generation",
    "job",
)


def upgrade() -> None:
    for extension in EXTENSIONS:
        op.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for table in reversed(TABLES):
        op.execute(f'DROP TABLE "{table}"')
