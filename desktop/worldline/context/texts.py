"""Every text that a view can hold and no node does. Changing one voids the caches of all sessions."""

from __future__ import annotations

import re

TRUNCATED = "[Earlier conversation truncated]"
START_MISSING = "[The conversation starts in the middle: what came before is not part of this request.]"
CONTINUE = "[Your reply above was cut off or ended there. Continue from where it stopped.]"
NOTHING_LEFT = "[Nothing of the earlier conversation could be shown.]"

NOT_EXECUTED = "Not executed: the conversation went on before this call was run. It had no effect."
DENIED = "Not executed: permission was denied. It had no effect."
FORKED = (
    "Not executed on this branch: the conversation was forked before this ran. The files are as they were before "
    "this call. Call it again if it is still needed."
)
INTERRUPTED = (
    "Interrupted: this call was started and its end is not known, so its effects are unknown. It may have done all, "
    "some or nothing of its work. Check before relying on it or repeating it."
)
NO_OUTPUT = "(no output)"
FAILED_WITHOUT_TEXT = "Failed without a message."

SUMMARY_HEAD = "[Summary of the earlier conversation, which is not shown any more]"
BRANCH_HEAD = (
    "[Summary of another attempt that was left. Its files were put back; nothing of it is on disk here.]"
)
EDIT_LEFT_OUT = "[Left out by the person.]"
TRIMMED = "[This older result was left out to save room. Call the tool again if it is needed.]"
SERVER_SUMMARY = "[The conversation before this point was summarised. Go on from there.]"

IMAGE_DROPPED = "[An image was left out here to keep the request small enough.]"
IMAGE_UNREADABLE = "[An image was here that cannot be read ({why}).]"
SHORTENED = "\n[… {n} characters left out …]\n"
POISONED = "[Part of the conversation was left out here: the model's API refused it ({why}).]"
UNKNOWN_BLOCK = "[A part of type {kind} was left out here: it cannot be sent.]"

_SYNTHETIC = re.compile(
    r"cancell?ed|interrupt|not executed|aborted|no result provided|skipped|did not run|was not run|"
    r"no response requested|missing (tool )?result|result (is )?(missing|unavailable)|rejected by (the )?user",
    re.IGNORECASE,
)


def looks_synthetic(text: str) -> bool:
    """A stored result that only says that there is none (other programs write such results into history)."""
    return len(text) <= 400 and _SYNTHETIC.search(text) is not None


def shorten(text: str, limit: int) -> str:
    """Head and tail of a text, at most `limit` bytes in all. Texts that fit come back as they are, so that
    shortening twice is shortening once."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    room = max(0, limit - len(SHORTENED.encode()) - 12)
    head = data[: room * 2 // 3].decode("utf-8", "ignore")
    tail = data[len(data) - room // 3 :].decode("utf-8", "ignore") if room >= 3 else ""
    return head + SHORTENED.format(n=len(text) - len(head) - len(tail)) + tail
