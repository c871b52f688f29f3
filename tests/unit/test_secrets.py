"""What is withheld from providers of embeddings, and what is not."""

from __future__ import annotations

import base64
import random

import pytest

from app.embeddings.secrets import has_secret, withheld_reason

# In pieces, so that no scanner takes this file for a leak.
SECRETS = {
    "AWS key": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS secret": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "GitHub token": "token: ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z",
    "GitLab token": "glpat-" + "x1Y2z3A4b5C6d7E8f9G0",
    "Slack token": "xoxb-" + "123456789012-abcdefABCDEF",
    "Stripe key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "Voyage key": "pa-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d",
    "Google key": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE",
    "JWT": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "password in a URL": "postgres://app:s3cr3t-Passw0rd@db.internal/app",
    "named password": 'DB_PASSWORD = "tr0ub4dor&3-horse"',
    "hex key": 'KEY = "9f86d081884c7d659a2feaa0c55ad015"',
    "base64": base64.b64encode(random.Random(7).randbytes(48)).decode(),
}

HARMLESS = {
    "a URL": "see https://example.org/docs/getting-started/installation#requirements",
    "a URL with a placeholder": "postgres://user:${PASSWORD}@localhost/db",
    "a long name": "testHttpClientRetriesRequestsOnServiceUnavailableWithExponentialBackoff2",
    "a path": "app/retrievers/semantic/implementation/nearest_neighbours_version2.py",
    "a constant": "MAX_CONNECTIONS_PER_HOST_AND_PORT_2 = 100",
    "a digest": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "a pinned action": "uses: actions/checkout@8ade135a41bc03ea155e62e844d188df1ea18608",
    "an integrity": '"integrity": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"',
    "a password that is read": 'password = os.environ["DATABASE_PASSWORD"]',
    "a prompt": 'password = input("Enter your password please")',
    "a name beside a name": "access_token = previous_access_token_of_user2",
    "a placeholder": 'api_key = "your-api-key-here-xxx1"',
    "a number": "9" * 40,
    "a ruler": "-" * 60 + "=" * 60,
    "base64 of words": "VGhpcyBpcyBhIHRlc3Q",
    "Chinese": "密码是从环境变量读取的",
    "nothing": "",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_secrets_are_seen_anywhere_in_a_text(text: str) -> None:
    assert has_secret(text)
    assert withheld_reason("src/app.py", f"def f():\n    x = 1\n    # {text}\n    return x\n") == "secret"


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_code_is_not_taken_for_a_secret(text: str) -> None:
    assert not has_secret(text)


@pytest.mark.parametrize("size", [24, 32, 64])
def test_nearly_every_random_token_is_seen(size: int) -> None:
    dice = random.Random(size)
    tokens = [base64.urlsafe_b64encode(dice.randbytes(size)).decode() for _ in range(300)]
    missed = [token for token in tokens if not has_secret(f'value = "{token}"')]
    assert len(missed) <= 300 * 0.06, missed


KEY_FILES = """
.env deploy/.env.production config/prod.env id_rsa keys/server.key tls/cert.pem .ssh/config .npmrc secrets.yaml app/credentials.json
infra/terraform.tfstate ops/service-account-prod.json .aws/credentials A/.ENV
"""


@pytest.mark.parametrize("path", KEY_FILES.split())
def test_key_files_are_withheld_whatever_they_hold(path: str) -> None:
    assert withheld_reason(path, "MODE=1") == "key file"


@pytest.mark.parametrize("path", [".env.example", "env.py", "environment.ts", "keys.py", "secrets.py", "monkey.go", "docs/credentials.md"])
def test_other_files_are_judged_by_what_they_hold(path: str) -> None:
    assert withheld_reason(path, "MODE=1") is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part", ["password", "a:", "secret = '", "a.", "a://", "x://a:", "eyJ-", "eyJaaaaaaaaaa.", "api_key ", "-----BEGIN A ", "aA1", "ab-"]
)
def test_a_long_text_takes_no_time(part: str) -> None:
    """No pattern tries again and again from every character."""
    has_secret(part * (200_000 // len(part)))
