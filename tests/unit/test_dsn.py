"""Database URLs as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import ConfigurationError
from app.storage.dsn import Dsn, parse_dsn


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://u:p@h/db", {"host": ["h"], "port": [5432], "user": "u", "password": "p", "database": "db"}),
        ("postgresql://u:p@h:6000/db", {"host": ["h"], "port": [6000], "user": "u", "password": "p", "database": "db"}),
        ("postgresql+asyncpg://h/db", {"host": ["h"], "port": [5432], "database": "db"}),
        ("  postgresql://h/db\n", {"host": ["h"], "port": [5432], "database": "db"}),
        ("postgres://u:p%40%2F%3A%25@h/db", {"host": ["h"], "port": [5432], "user": "u", "password": "p@/:%", "database": "db"}),
        ("postgres://u:a@b@h/db", {"host": ["h"], "port": [5432], "user": "u", "password": "a@b", "database": "db"}),
        ("postgres://u%40corp@h/my%20db", {"host": ["h"], "port": [5432], "user": "u@corp", "database": "my db"}),
        ("postgres://h/db?sslmode=require", {"host": ["h"], "port": [5432], "database": "db", "ssl": "require"}),
        ("postgres://h/db?ssl=true", {"host": ["h"], "port": [5432], "database": "db", "ssl": "require"}),
        ("postgres://u@/db?host=/run/my%20pg", {"host": ["/run/my pg"], "port": [5432], "user": "u", "database": "db"}),
        ("postgres:///db?host=/run/pg&port=6000", {"host": ["/run/pg"], "port": [6000], "database": "db"}),
        ("postgres://u@%2Frun%2Fpg/db", {"host": ["/run/pg"], "port": [5432], "user": "u", "database": "db"}),
        ("postgres://[::1]:6000/db", {"host": ["::1"], "port": [6000], "database": "db"}),
        (
            "postgres://a:1,b/db?target_session_attrs=primary",
            {"host": ["a", "b"], "port": [1, 5432], "database": "db", "target_session_attrs": "primary"},
        ),
        (
            "postgres:///?host=a,b&port=1,2&user=u&password=p&dbname=d",
            {"host": ["a", "b"], "port": [1, 2], "user": "u", "password": "p", "database": "d"},
        ),
        ("postgres:///db", {"database": "db"}),
        ("postgres://h/db?connect_timeout=3", {"host": ["h"], "port": [5432], "database": "db", "timeout": 3.0}),
        (
            "postgres://h/db?application_name=x",
            {"host": ["h"], "port": [5432], "database": "db", "server_settings": {"application_name": "x"}},
        ),
        ("postgres://h/db?statement_cache_size=0", {"host": ["h"], "port": [5432], "database": "db", "statement_cache_size": 0}),
        ("postgres://h/db?channel_binding=prefer", {"host": ["h"], "port": [5432], "database": "db"}),
        (
            "postgres://h/db?sslmode=verify-full&sslrootcert=/etc/my%20ca.pem",
            {"host": ["h"], "port": [5432], "database": "db", "ssl": "verify-full", "dsn": "postgresql://?sslrootcert=%2Fetc%2Fmy+ca.pem"},
        ),
    ],
)
def test_accepted(url: str, expected: dict[str, Any]) -> None:
    assert parse_dsn(url).connect_kwargs() == expected


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "must begin with postgresql://"),
        ("mysql://u:secret@h/db", "must begin with postgresql://"),
        ("host=h password=secret", "must begin with postgresql://"),
        ("postgres://u:secret@h:port/db", "a port is not a number"),
        ("postgres://u:secret@h:99999/db", "a port is not a number"),
        ("postgres://u:secret@h:0/db", "a port is not a number"),
        ("postgres://u:secret@h:٣/db", "a port is not a number"),
        ("postgres://u:sec/ret@h/db", "percent-encoding"),
        ("postgres://u:secret@a,,b/db", "a host is empty"),
        ("postgres:///db?host=a,b&port=1,2,3", "a different number of ports"),
        ("postgres://u:secret@h/db?sslmode=always", "sslmode is 'always', known are disable"),
        ("postgres://u:secret@h/db?slmode=require", "not known here: slmode"),
        ("postgres://u:secret@h/db?sslmode", "name=value pairs"),
        ("postgres://u:secret@h/db?connect_timeout=soon", "connect_timeout is 'soon'"),
        ("postgres://u:secret@h/db?channel_binding=require", "does not do channel binding"),
    ],
)
def test_refused(url: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_dsn(url)
    assert caught.value.message.startswith("DATABASE_URL is not usable: ")
    assert reason in caught.value.message
    assert "secret" not in caught.value.message


def test_password_shows_nowhere() -> None:
    dsn = parse_dsn("postgres://u:sesame%40@h/db?sslmode=require&sslpassword=sesame")
    assert "sesame" not in repr(dsn)
    assert dsn.redacted == "postgresql://u:***@h:5432/db?sslmode=require&sslpassword=%2A%2A%2A"
    assert dsn.address == "h:5432"


def test_with_database() -> None:
    assert parse_dsn("postgres://u:p@h/one?sslmode=require").with_database("two").url == "postgresql://u:p@h:5432/two?sslmode=require"


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
_HOSTS = st.one_of(st.just("::1"), st.from_regex(r"[a-z0-9.-]{1,12}", fullmatch=True), _TEXT.filter(str.isprintable).map("/".__add__))


@given(
    hosts=st.lists(st.tuples(_HOSTS, st.integers(1, 65535)), max_size=3).map(tuple),
    user=_TEXT,
    password=st.none() | _TEXT,
    database=st.none() | _TEXT,
    sslmode=st.sampled_from([None, "disable", "verify-full"]),
)
def test_canonical_spelling_is_read_back(hosts: Any, user: str, password: str | None, database: str | None, sslmode: str | None) -> None:
    dsn = Dsn(hosts=hosts, user=user, password=password, database=database, sslmode=sslmode, server_settings={"application_name": user})
    assert parse_dsn(dsn.url) == dsn
