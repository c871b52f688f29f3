import pytest

from ferry.auth import check_password, hash_password, issue_token, login, verify_token
from ferry.errors import TokenExpired


def test_a_password_is_checked_against_its_hash():
    stored = hash_password("correct horse")
    assert check_password("correct horse", stored)
    assert not check_password("battery staple", stored)


def test_an_expired_session_token_is_refused():
    token = issue_token("ada", now=1_000)
    with pytest.raises(TokenExpired):
        verify_token(token, now=1_000_000)


def test_login_gives_no_token_for_a_wrong_password():
    assert login({"ada": hash_password("x")}, "ada", "y") is None
