"""What is masked, and what is left alone."""

from __future__ import annotations

import time

import pytest

from tests_support import SECRETS, measured
from worldline.core.secrets import mask


@pytest.mark.parametrize("secret", SECRETS)
def test_known_forms(secret: str) -> None:
    masked, count = mask(f"x = '{secret}' # end")
    assert count == 1 and secret not in masked and "[masked: " in masked and masked.endswith("# end")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://me:s3cr3tpw@host/db", "s3cr3tpw"),
        ("Authorization: Bearer abcdefghijklmnop123456", "abcdefghijklmnop123456"),
        ("DB_PASSWORD=hunter2Hunter2xyz", "hunter2Hunter2xyz"),
        ('"access_token": "9f8e7d6c5b4a39281706"', "9f8e7d6c5b4a39281706"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----\n", "b3Blbn"),
        ("-----BEGIN PRIVATE KEY-----\nb3Blbn and cut off", "b3Blbn"),
        ("//registry.example.org/:_authToken=0123456789abcdef", "0123456789abcdef"),
    ],
)
def test_by_place(text: str, secret: str) -> None:
    masked, count = mask(text)
    assert count == 1 and secret not in masked


@pytest.mark.parametrize(
    "text",
    [
        "token = get_token(user)", "API_KEY=your-api-key-here", 'secret = os.environ["MY_SECRET_TOKEN"]', "max_tokens=4096",
        "tokenizer_path=/models/abc123/tokenizer.json", "https://user:${PASS}@host", "def token_count(text): return 1",
        "commit 9f8e7d6c5b4a392817069f8e7d6c5b4a39281706", '"next_token": "nextPageTokenValue"', "password: str | None = None",
        "TOKEN_URL=https://example.org/oauth2/token", "The bearer of this letter", "basic arithmetic 12345678",
        "sk-learn is a library", "git@github.com:owner/repo.git", "http://localhost:8080/a@b", "password_field = form.password2",
    ],
)  # fmt: skip
def test_code_that_speaks_of_secrets_stays(text: str) -> None:
    assert mask(text) == (text, 0)


def test_masking_twice_changes_nothing() -> None:
    once, _ = mask("TOKEN=" + "a1B2c3D4" * 3)
    assert mask(once) == (once, 0)


def test_long_text_is_no_burden() -> None:
    text = "token = value\n" * 20_000
    began = time.perf_counter()
    assert mask(text) == (text, 0)
    measured("seconds of masking 280 KB", time.perf_counter() - began, 2)
