"""Masking of secrets in text that is shown while it comes in, piece by piece.

What could be the beginning of a secret is held back until the next pieces show what it is; everything else goes on at
once. What is held is bounded: a secret that is longer than that is shown as its mark, and the rest of it is dropped.
"""

from __future__ import annotations

import re

from worldline.core.private_keys import KeyFilter, Segment
from worldline.core.secrets import MARK, Found, find, hinted, replaced

CONTEXT = 256
"""Characters before a piece that are looked at again: a name and what stands between it and its value."""
HELD = 4096
"""Characters held back at most."""

_HEADS = (
    "sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
    "glptt-", "glrt-", "gldt-", "glsoat-", "glcbt-", "glft-", "glimt-", "glagent-", "gloas-", "AKIA", "ASIA", "ABIA", "ACCA",
    "AIza", "ya29.", "GOCSPX-", "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "sk_live_",
    "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "whsec_", "npm_", "pypi-", "hf_", "SG.", "doo_v1_", "dop_v1_",
    "dor_v1_", "dckr_pat_", "dckr_oat_", "dapi", "lin_api_", "lin_oauth_", "secret_", "ntn_", "hvs.", "hvb.", "hvr.",
    "AGE-SECRET-KEY-1", "eyJ", "https://hooks.slack.com/",
)  # fmt: skip
"""How tokens of a known form begin."""
_BEGINNINGS = frozenset(head[:n] for head in _HEADS for n in range(1, len(head) + 1))
_LONGEST = max(map(len, _HEADS))
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

_OPEN = tuple(
    (literals, re.compile(pattern, flags))
    # A form that goes on to the end of the text; what group `v` holds (else all of it) is the secret if it is one.
    for literals, pattern, flags in (
        (
            tuple(h.lower() for h in _HEADS),
            r"(?<![A-Za-z0-9_])(?:" + "|".join(map(re.escape, _HEADS)) + r")[A-Za-z0-9_.+/=-]*\Z",
            0,
        ),
        (
            ("secret", "token", "passw", "passphrase", "api", "access", "private", "credential"),
            r"(?:secret|token|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credential)[A-Za-z0-9_-]{0,64}[\"']?"
            r"\s*(?:=>|=|:)\s*(?P<v>[\"']?[A-Za-z0-9+/_.~!@#%^&*=-]{1,201}[\"']?)\Z",
            re.IGNORECASE,
        ),
        (("bearer",), r"\bbearer\s+(?P<v>[A-Za-z0-9._~+/=-]+)\Z", re.IGNORECASE),
        (
            ("authorization",),
            r"\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+(?P<v>[A-Za-z0-9._~+/=-]+)\Z",
            re.IGNORECASE,
        ),
        (("aws",), r"aws_?secret_?(?:access_?)?key[\"']?\s*[=:]\s*[\"']?(?P<v>[A-Za-z0-9/+=]{1,41})\Z", re.IGNORECASE),
        (("accountkey", "sharedaccesskey"), r"(?:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/=]+)\Z", re.IGNORECASE),
        (("_authtoken=",), r":_authToken=(?P<v>[^\s$\"']+)\Z", 0),
        (("://",), r"://[^\s:/@\"'<>{}$]{0,200}:(?P<v>[^\s:/@\"'<>{}$*]{1,200}@?)\Z", 0),
        ((":a",), r"\b\d{8,10}(?P<v>:A[A-Za-z0-9_-]*)\Z", 0),
        (("machine",), r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<v>\S+)\Z", re.IGNORECASE),
    )
)  # fmt: skip
_GOES_ON = re.compile(r"[A-Za-z0-9_.+/=~-]*")


class LiveMask:
    """Of one running text. `feed` gives what may be shown by now, `rest` what was still held at its end."""

    def __init__(self) -> None:
        self._shown = ""
        """The end of what was given out, as it was before masking."""
        self._held = ""
        self._dropping = False
        """The rest of a secret comes in, and is dropped."""
        self._keys = KeyFilter()
        self._in_key = False
        """The last thing that came was of a key, whose mark is given."""
        self.count = 0
        """Secrets so far."""

    def feed(self, piece: str) -> str:
        return self._without_keys(self._keys.feed(piece))

    def rest(self) -> str:
        """At the end of the text."""
        shown = self._without_keys(self._keys.finish())
        self._dropping = False
        return shown + self._give("", last=True)

    def _without_keys(self, segments: list[Segment]) -> str:
        """Private keys have forms of their own; in what is left the others are looked for."""
        out: list[str] = []
        for is_key, part in segments:
            if not is_key:
                out.append(self._masked(part))
            elif not self._in_key:
                # Nothing before can go on over a key.
                self._dropping = False
                out += [self._give("", last=True), MARK.format("private key")]
                self._shown = self._held = ""
                self.count += 1
            self._in_key = is_key
        return "".join(out)

    def _masked(self, piece: str) -> str:
        if self._dropping:
            piece = self._after_secret(piece)
        return self._give(piece, last=False) if piece else ""

    def left_out(self, text: str) -> None:
        """Text went by that is not shown at all. Call it in order, before what comes after it; a key may go on there."""
        self._keys.pass_over(text)
        self._shown = self._held = ""
        self._dropping, self._in_key = True, False

    def _give(self, piece: str, *, last: bool) -> str:
        known = len(self._shown)
        text = self._shown + self._held + piece
        may_hold_some = hinted(text.lower())
        found = find(text) if may_hold_some else []
        secrets = [s for s in found if s.end > known]
        cut = len(text) if last else max(known, _safe(_without_ended(text, found), may_hold_some))
        out: list[str] = []
        at = known
        for secret in secrets:
            if secret.start >= cut:
                break
            if not last and (secret.end > cut or secret.end == len(text)):
                # It may go on in what comes, so it waits as a whole.
                cut = max(at, min(cut, secret.start))
                break
            out += [text[at : secret.start], MARK.format(secret.kind)]
            at = max(at, secret.end)
            self.count += 1
        if not last and len(text) - cut > HELD:
            return "".join(out) + text[at:cut] + self._too_long(text, cut, secrets)
        out.append(text[at:cut])
        self._shown, self._held = text[max(0, cut - CONTEXT) : cut], text[cut:]
        return "".join(out)

    def _too_long(self, text: str, cut: int, secrets: list[Found]) -> str:
        """What is held is more than it may be. If it is a secret by now, its mark is shown and its rest dropped as it comes;
        else it was none of a form that is known."""
        out, at = "", cut
        for secret in secrets:
            if secret.end > cut:
                out += text[at : secret.start] + MARK.format(secret.kind)
                at = secret.end
                self.count += 1
                self._dropping = at == len(text)
        self._held = ""
        if self._dropping:
            self._shown = ""
            return out
        self._shown = text[-CONTEXT:]
        return out + text[at:]

    def _after_secret(self, piece: str) -> str:
        """What comes after the secret that is being dropped."""
        match = _GOES_ON.match(piece)
        at = match.end() if match else 0
        if at == len(piece):
            return ""
        self._dropping = False
        return piece[at:]


def _without_ended(text: str, found: list[Found]) -> str:
    """`text` with something else in the place of each secret that has ended: what comes after it is no part of it."""
    spans = [(secret.start, secret.end) for secret in found if secret.end < len(text)]
    return replaced(text, spans, lambda start, end: "[" + "\ue000" * (end - start - 1)) if spans else text


def _safe(text: str, may_hold_some: bool) -> int:
    """Up to where `text` can be shown, whatever comes next."""
    cut = len(text)
    for size in range(1, min(_LONGEST, len(text)) + 1):
        if text[-size:] in _BEGINNINGS and (size == len(text) or text[-size - 1] not in _WORD):
            cut = len(text) - size
    if not may_hold_some:
        return cut
    base = max(0, len(text) - HELD - CONTEXT)
    tail = text[base:]
    lowered = tail.lower()
    for literals, pattern in _OPEN:
        if any(map(lowered.__contains__, literals)):
            match = pattern.search(tail)
            if match is not None:
                cut = min(cut, base + match.start("v" if "v" in pattern.groupindex else 0))
    return cut
