"""Private keys in texts: none gets out, whole or in pieces, and what is none is not lost behind one that was cut off."""

from __future__ import annotations

import base64
import random

import pytest

from worldline.core.live_mask import LiveMask
from worldline.core.private_keys import HELD, MOST, spans
from worldline.core.secrets import mask

HEADS = (
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
)


def key_lines(rng: random.Random, size: int = 1200, width: int = 64) -> list[str]:
    text = base64.b64encode(rng.randbytes(size)).decode()
    return [text[at : at + width] for at in range(0, len(text), width)]


def live(text: str, rng: random.Random, most: int = 40) -> str:
    masked, at, out = LiveMask(), 0, []
    while at < len(text):
        size = rng.randint(1, most)
        out.append(masked.feed(text[at : at + size]))
        at += size
    return "".join(out) + masked.rest()


def shows_of(shown: str, lines: list[str]) -> list[str]:
    """Pieces of eight characters of the key that can be read."""
    key = "".join(lines)
    return [key[at : at + 8] for at in range(len(key) - 8) if key[at : at + 8] in shown]


WAYS = {
    "plain": lambda line, n: line,
    "numbered": lambda line, n: f"{n:6}\t{line}",
    "grep": lambda line, n: f"{n}:{line}",
    "diff": lambda line, n: f"+{line}",
    "removed": lambda line, n: f"-{line}",
    "quoted": lambda line, n: f"> {line}",
    "code": lambda line, n: f'    "{line}"',
    "yaml": lambda line, n: f"      {line}",
    "joined": lambda line, n: f'    + "{line}\\n"',
    "cat -A": lambda line, n: f"{line}$",
    "cat -An": lambda line, n: f"{n:6}^I{line}$",
    "cat -A of Windows": lambda line, n: f"{line}^M$",
}
AFTER = '\nThe run ended here.\nls: cannot open x: no such file\nDone\nok\n  File "/usr/lib/python3/dist/x.py", line 3\n'


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("closed", [True, False], ids=["whole", "cut"])
@pytest.mark.parametrize("written", ["stored", "live"])
def test_no_piece_of_a_key_is_shown_however_it_is_printed(way: str, closed: bool, written: str) -> None:
    rng = random.Random(f"{way}{closed}{written}")
    for _ in range(12):
        head = rng.choice(HEADS)
        lines = key_lines(rng, rng.randint(50, 2500), rng.choice((64, 70, 76)))
        shown_as = [WAYS[way](line, n + 2) for n, line in enumerate(lines)]
        end = f"\n{WAYS[way](f'-----END {head}-----', len(lines) + 2)}" if closed else ""
        text = f"before\n-----BEGIN {head}-----\n" + "\n".join(shown_as) + end + AFTER
        shown = mask(text)[0] if written == "stored" else live(text, rng)
        assert shows_of(shown, lines) == [], shown[:300]
        assert shown.startswith("before\n") and "masked: private key" in shown
        assert "The run ended here." in shown and "ls: cannot open x" in shown and "line 3" in shown


def test_a_key_in_one_line_is_one_as_well() -> None:
    rng = random.Random(3)
    for glue in ("\\n", " ", ""):
        lines = key_lines(rng)
        for end in ("-----END PRIVATE KEY-----", ""):
            text = f'KEY="-----BEGIN PRIVATE KEY-----{glue}{glue.join(lines)}{glue}{end}"\nThe rest of it.\n'
            for shown in (mask(text)[0], live(text, rng)):
                assert shows_of(shown, lines) == [] and "The rest of it." in shown, shown[-200:]


def test_words_between_do_not_let_the_rest_out() -> None:
    rng = random.Random(4)
    lines = key_lines(rng)
    text = "\n".join(
        [
            "-----BEGIN PRIVATE KEY-----",
            *lines[:8],
            "[... 700 bytes left out here ...]",
            *lines[8:],
            "The end.",
        ]
    )
    for shown in (mask(text)[0], live(text, rng)):
        assert shows_of(shown, lines) == []
        assert "700 bytes left out" in shown and shown.endswith("The end.")


@pytest.mark.parametrize("way", WAYS)
def test_words_between_let_the_rest_out_in_no_form(way: str) -> None:
    rng = random.Random(way)
    for _ in range(40):
        lines = key_lines(rng, rng.randint(50, 2500), rng.choice((64, 70, 76)))
        shown_as = [WAYS[way](line, n + 2) for n, line in enumerate(lines)]
        shown_as.insert(
            rng.randrange(len(lines) + 1), rng.choice(("...", "[... 700 bytes left out here ...]"))
        )
        text = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(shown_as) + AFTER
        for shown in (mask(text)[0], live(text, rng)):
            assert shows_of(shown, lines) == [], shown[-400:]
            assert "The run ended here." in shown


@pytest.mark.parametrize(
    "text",
    [
        'if line.startswith("-----BEGIN RSA PRIVATE KEY-----"):\n    return load(path)\nprint("done")\n',
        "grep -r 'BEGIN PRIVATE KEY' found -----BEGIN PRIVATE KEY----- in 3 files.\nNow the next step.\nmake all\n",
        "-----BEGIN PRIVATE KEY-----\n...\n\nAll tests passed.\n12 passed in 3.4 s\n",
        "PuTTY-User-Key-File-2: is how such a file begins.\nThen come lines of text.\nAnd more.\n",
    ],
)
def test_text_that_only_names_a_key_goes_on_to_be_read(text: str) -> None:
    rng = random.Random(5)
    last = text.splitlines()[-2:]
    for shown in (mask(text)[0], live(text, rng)):
        assert all(line in shown for line in last), shown


def test_an_unfinished_key_of_putty_is_masked_too() -> None:
    rng = random.Random(6)
    lines = key_lines(rng, 800)
    text = (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: me\nPublic-Lines: 3\n" + "\n".join(lines[:3])
        + "\nPrivate-Lines: 9\n" + "\n".join(lines[3:]) + AFTER
    )  # fmt: skip
    for shown in (mask(text)[0], live(text, rng)):
        assert shows_of(shown, lines) == [] and "The run ended here." in shown


def test_what_is_longer_than_any_key_is_none() -> None:
    rng = random.Random(8)
    lines = key_lines(rng, MOST)
    text = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(lines) + "\n"
    hidden = sum(end - start for start, end in spans(text))
    assert MOST - 200 < hidden <= MOST + 200
    shown = live(text, rng, 4000)
    assert lines[-1] in shown and lines[0] not in shown


def test_two_keys_and_what_stands_between() -> None:
    rng = random.Random(9)
    one, two = key_lines(rng), key_lines(rng)
    text = (
        "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(one) + "\nSomething else was said.\n"
        "-----BEGIN PRIVATE KEY-----\n" + "\n".join(two) + "\n-----END PRIVATE KEY-----\nafter\n"
    )  # fmt: skip
    for shown in (mask(text)[0], live(text, rng)):
        assert shows_of(shown, one + two) == []
        assert "Something else was said." in shown and shown.endswith("\nafter\n")


def test_what_nobody_sees_may_hold_the_beginning(own_home: object) -> None:
    rng = random.Random(10)
    lines = key_lines(rng)
    masked = LiveMask()
    shown = masked.feed("begin\n")
    masked.left_out("x\n-----BEGIN PRIVATE KEY-----\n" + "\n".join(lines[:4]) + lines[4][:30])
    shown += masked.feed(lines[4][30:] + "\n" + "\n".join(lines[5:]) + "\nThe end of it.\n") + masked.rest()
    assert shows_of(shown, lines) == [] and shown.endswith("The end of it.\n")


def test_a_line_without_end_is_not_waited_for() -> None:
    masked = LiveMask()
    masked.feed("-----BEGIN PRIVATE KEY-----\n")
    shown = "".join(masked.feed("words of a line that never ends ") for _ in range(HELD // 10))
    assert len(shown) > HELD


@pytest.mark.parametrize(
    "text", ["sl", "https://hooks.sl", "https://hooks.slack.com/", "https://hooks.slack.com/services/T0A"]
)
def test_masking_twice_changes_nothing(text: str) -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(key_lines(random.Random(1))) + f"\n{text} is said.\n"
    once = mask(key)[0]
    assert mask(once) == (once, 0)
