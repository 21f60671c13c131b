"""What is said when work has come to the person's own folder or branch."""

from __future__ import annotations

from worldline.viewmodel.home import brought_words

ENTRIES = [{"path": "a.py", "action": "create"}, {"path": "b.py", "action": "delete"}]


def test_each_way_says_where_the_work_is_now() -> None:
    result = {"entries": ENTRIES, "branch": "main", "commit": "0123456789abcdef"}
    said = {how: brought_words(how, result, "/home/me/shop") for how in ("changes", "commit", "branch")}
    assert said == {
        "changes": "Brought to /home/me/shop as uncommitted changes (2 files).",
        "commit": "Brought to main as commit 0123456789 (2 files).",
        "branch": "The branch main has the work now (2 files). Merge it when you like.",
    }
    detached = {**result, "branch": "", "entries": ENTRIES[:1]}
    assert brought_words("commit", detached, "") == "Brought to your folder as commit 0123456789 (1 file)."


def test_what_did_not_come_is_said_as_well() -> None:
    more = [{"path": "mine", "action": "keep_mine"}, *({"path": p, "action": "not_captured"} for p in "xy")]
    said = brought_words("changes", {"entries": ENTRIES + more}, "/shop")
    assert said.endswith("(2 files). Kept as you have them: 1. Could not be brought: 2.")
