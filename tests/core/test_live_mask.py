"""Text that is masked while it comes in: whatever the pieces are, no part of a secret is shown."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from tests_support import SECRETS
from worldline.core.live_mask import HELD, LiveMask
from worldline.core.secrets import mask

PLACES = [
    ("postgres://me:{}@host/db", "s3cr3tpw"),
    ("Authorization: Bearer {}", "abcdefghijklmnop123456"),
    ("DB_PASSWORD={}", "hunter2Hunter2xyz"),
    ('"access_token": "{}"', "9f8e7d6c5b4a39281706"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXktdjEA"),
    ("//registry.example.org/:_authToken={}", "0123456789abcdef"),
    ("machine h.example.org login me password {}", "pa55w0rd"),
    ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"),
    ("DefaultEndpointsProtocol=https;AccountKey={}", "q1w2e3r4t5" * 5),
    ("https://hooks.slack.com/services/{}", "T0AAAAAAA/B0BBBBBBB/abcdefgh1234"),
]


def pieces(text: str, sizes: list[int]) -> Iterator[str]:
    """`text` in pieces of these sizes, over and over."""
    at = 0
    while at < len(text):
        size = sizes[at % len(sizes)]
        yield text[at : at + size]
        at += size


def live(text: str, sizes: list[int]) -> str:
    masked = LiveMask()
    return "".join(map(masked.feed, pieces(text, sizes))) + masked.rest()


def _as_stored(shown: str) -> str:
    """The number of a Telegram bot is no secret, and may be seen before it is known for one."""
    return re.sub(r"\b123456789:?\[masked", "[masked", shown)


CHUNKS = [[1], [3, 1], [5, 2, 7], [16], [10_000]]


@pytest.mark.parametrize("sizes", CHUNKS, ids=str)
@pytest.mark.parametrize("secret", SECRETS, ids=lambda s: s[:8])
def test_a_known_form_is_masked_wherever_the_pieces_end(secret: str, sizes: list[int]) -> None:
    text = f"Here it is: {secret}, and more. Then '{secret}'\n"
    assert _as_stored(live(text, sizes)) == mask(text)[0]
    assert secret[len(secret) // 2 :] not in live(text, sizes)


@pytest.mark.parametrize("sizes", CHUNKS, ids=str)
@pytest.mark.parametrize(("place", "secret"), PLACES, ids=lambda s: s[:12])
def test_what_stands_in_a_place_of_secrets_is_masked(place: str, secret: str, sizes: list[int]) -> None:
    text = f"before\n{place.format(secret)}\nafter it\n"
    shown = live(text, sizes)
    assert secret not in shown and secret[3:] not in shown
    assert shown.count("[masked: ") == 1 and shown.startswith("before\n") and shown.endswith("after it\n")


@pytest.mark.parametrize("sizes", CHUNKS, ids=str)
@pytest.mark.parametrize(
    "text",
    [
        "Plain words, 中文字符, and `code` with http://localhost:8080/a@b and 12:30.",
        "token = get_token(user)\nAPI_KEY=your-api-key-here\nmax_tokens=4096\n",
        "-----\n| a | b |\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "git@github.com:owner/repo.git sk-learn eyJ sk- s sk gh",
        "x" * (3 * HELD),
        "eyJ" + "x" * 300 + ".",
    ],
    ids=lambda t: t[:12],
)
def test_what_is_no_secret_comes_through_as_it_is(text: str, sizes: list[int]) -> None:
    assert live(text, sizes) == text


@pytest.mark.parametrize("sizes", CHUNKS, ids=str)
def test_of_an_address_that_is_a_secret_nothing_is_shown(sizes: list[int]) -> None:
    text = "curl https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/abcdefgh1234 -d x; see https://hooks.example.org/y\n"
    assert (
        live(text, sizes)
        == mask(text)[0]
        == ("curl [masked: Slack webhook] -d x; see https://hooks.example.org/y\n")
    )
    assert live("see https://hooks.slack.com/ for it", sizes) == "see https://hooks.slack.com/ for it"


def test_only_what_may_be_the_beginning_of_a_secret_is_held() -> None:
    masked = LiveMask()
    assert masked.feed("The words go on") == "The words go on"
    assert masked.feed(" at once. sk-an") == " at once. "
    assert masked.feed("swer") == ""
    assert masked.feed(" and 中文") == "sk-answer and 中文"  # no secret after all


@pytest.mark.parametrize("sizes", [[5], [100], [7000]], ids=str)
@pytest.mark.parametrize(
    ("begin", "inside", "end"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\n", "QUJDREVGR0g\n" * 900, "-----END RSA PRIVATE KEY-----"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.", "c2lnbmF0dXJl" * 900, ""),
        ("ghp_", "a1B2" * 3000, ""),
    ],
    ids=["key", "jwt", "token"],
)
def test_a_secret_longer_than_what_is_held_is_never_shown(
    begin: str, inside: str, end: str, sizes: list[int]
) -> None:
    shown = live(f"before {begin}{inside}{end} after", sizes)
    assert shown.startswith("before ") and shown.endswith(" after")
    assert inside[:12] not in shown and inside[-12:] not in shown and shown.count("[masked: ") == 1


ENDED_KEYS = {
    "key": "-----BEGIN RSA PRIVATE KEY-----\n" + "QUJDREVGR0g\n" * 20 + "-----END RSA PRIVATE KEY-----",
    "putty": "PuTTY-User-Key-File-2: ssh-rsa\n" + "QUJDREVGR0g\n" * 20 + "Private-MAC: " + "0a" * 20,
}


@pytest.mark.parametrize("sizes", [[1], [5], [100], [9000]], ids=str)
@pytest.mark.parametrize("kind", ENDED_KEYS)
def test_after_a_key_that_has_ended_what_follows_is_shown_and_the_key_is_not(
    kind: str, sizes: list[int]
) -> None:
    masked = LiveMask()
    text = f"before\n{ENDED_KEYS[kind]}\n"
    shown = "".join(masked.feed(piece) for piece in pieces(text + "after it ", sizes))
    assert shown.endswith("]\nafter it ") and shown.count("[masked: ") == 1
    shown += "".join(masked.feed(piece) for piece in pieces("words " * HELD, sizes))
    assert shown.endswith("words words ") and "QUJD" not in shown and shown.count("[masked: ") == 1


def test_held_text_is_bounded() -> None:
    masked = LiveMask()
    fed = shown = 0
    for _ in range(400):
        fed += 100
        shown += len(masked.feed("eyJ" + "x" * 97))
        assert fed - shown <= HELD + 100


def test_any_cut_shows_what_masking_the_whole_shows() -> None:
    rng = random.Random(7)
    words = [
        "the",
        "token",
        "is",
        "password:",
        "=",
        "\n",
        "中文",
        "-----",
        "http://a:b",
        "key",
        ",",
        '"',
        "eyJ",
        "sk-",
    ]
    for _ in range(300):
        parts = [rng.choice([*words, *SECRETS]) for _ in range(rng.randint(3, 25))]
        text = " ".join(parts)
        shown = live(text, [rng.randint(1, 30) for _ in range(17)])
        for secret in SECRETS:
            assert secret not in shown
        assert _as_stored(shown) == mask(text)[0]
