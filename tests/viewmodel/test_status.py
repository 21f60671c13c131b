"""The words of the status bar about what lies outside the files."""

from __future__ import annotations

import pytest

from worldline.viewmodel.status import segments
from worldline.viewmodel.status_pages import explain


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({}, "nothing outside"),
        ({"effects": 2, "effects_elsewhere": 1, "effects_undoable": 3}, "⚠ 2 cannot be undone"),
        ({"effects_elsewhere": 1}, "⚠ 1 on other branches"),
        ({"effects_undoable": 1}, "1 outside"),
    ],
)
def test_nothing_outside_is_said_only_when_it_is_so(status: dict[str, int], text: str) -> None:
    (segment,) = [
        s for s in segments({"state": "ready", **status}, "running", True, 0) if s.name == "effects"
    ]
    assert segment.text == text


def test_what_can_be_stopped_has_a_button_for_it() -> None:
    for state in ("running", "retrying", "compacting"):
        first = segments({"state": state}, "running", True, 0)[0]
        assert "stop" in [command for command, _ in first.buttons], state
    for state in ("ready", "jumping", "stopping"):
        first = segments({"state": state}, "running", True, 0)[0]
        assert "stop" not in [command for command, _ in first.buttons], state


def test_a_sandbox_that_does_not_start_is_said_in_the_bar_and_in_its_own_words() -> None:
    said = {"sandbox": "complete", "sandbox_why": "Commands can …", "sandbox_problem": "bwrap: no."}
    [segment] = [s for s in segments(said, "running", True, 0) if s.name == "sandbox"]
    assert segment.text == "sandbox: does not start" and segment.color == "bad"
    title, lines, text = explain("sandbox", said)
    assert (title, text) == ("Sandbox", "bwrap: no.") and lines == [("This machine", "Commands can …")]


def test_a_run_that_could_not_be_saved_is_past_once_writing_works() -> None:
    status = {"state": "ready", "last_stop": "store_error"}
    assert segments({**status, "saved": False}, "running", True, 0)[0].text.endswith(
        "last: could not be saved"
    )
    assert segments({**status, "saved": True}, "running", True, 0)[0].text.endswith("saved at that time")
