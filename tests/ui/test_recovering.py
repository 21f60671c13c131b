"""A damaged session in a window: what is readable of it is saved beside it, said, and opened when one asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QPushButton

from tests_support import damage_page_of, session_of_pages
from worldline.client.process import EngineProcess
from worldline.client.recovering import RecoverJob, new_name
from worldline.session.verify import verify
from worldline.ui.dialogs.text_viewer import TextViewer
from worldline.ui.main_window import MainWindow
from worldline.ui.recovering import NAMED
from worldline.ui.renewing import renewed
from worldline.ui.session_state import SessionState

Open = Callable[..., MainWindow]
NODES = 60
OPEN = "Open it in place of this one"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = session_of_pages(tmp_path / "s.worldline", NODES - 1)
    damage_page_of(path, b"needle-30 ")
    return path


def facts(path: Path) -> dict[str, Any]:
    return {"path": str(path), "read_only": True, "read_only_why": "s is damaged.", "damaged": True}


def buttons(window: MainWindow, line: str) -> dict[str, QPushButton]:
    found = window.notices.items.get(line)
    return {button.text(): button for button in found.buttons} if found is not None else {}


def ended(window: MainWindow, qtbot: Any) -> str:
    qtbot.waitUntil(lambda: "recover" in window.notices.items and "Cancel" not in buttons(window, "recover"))
    return window.notices.items["recover"].text.text()


def test_what_is_readable_is_saved_beside_it_and_opened_on_demand(
    window_of: Open, damaged: Path, qtbot: Any
) -> None:
    window = window_of(session=facts(damaged))
    before = damaged.read_bytes()
    taken = damaged.with_name("s-recovered.worldline")
    taken.write_text("mine")
    opened: list[str] = []
    window.open_asked.connect(opened.append)
    buttons(window, "read_only")["Save what is readable…"].click()
    window.recovering.start()  # once is enough
    assert len(window.state.client.findChildren(RecoverJob)) == 1
    said = ended(window, qtbot)
    out = damaged.with_name("s-recovered-2.worldline")
    assert said.startswith(f"{NODES} step(s) are saved in ") and "steps is lost" in said
    assert opened == [] and damaged.read_bytes() == before and taken.read_text() == "mine"
    assert verify(out).sound
    assert window.state.client.findChildren(RecoverJob) == []
    buttons(window, "recover")[OPEN].click()
    assert opened == [str(out)]


def test_a_window_that_closes_leaves_no_half_of_a_session(window_of: Open, damaged: Path, qtbot: Any) -> None:
    window = window_of(session=facts(damaged))
    window.recovering.start()
    (job,) = window.state.client.findChildren(RecoverJob)
    window.close()
    assert job._process.state() == job._process.ProcessState.NotRunning
    left = list(damaged.parent.glob("s-recovered*"))
    assert not left or verify(left[0]).sound


def test_it_can_be_cancelled_and_begun_again(window_of: Open, damaged: Path, qtbot: Any) -> None:
    window = window_of(session=facts(damaged))
    window.recovering.start()
    buttons(window, "recover")["Cancel"].click()
    assert "recover" not in window.notices.items
    window.recovering.start()
    assert "saved in" in ended(window, qtbot)


def test_it_goes_on_in_another_language(
    fake: Callable[..., EngineProcess], settings: QSettings, damaged: Path, qtbot: Any
) -> None:
    window = MainWindow(SessionState(fake(session=facts(damaged))), settings)
    window.show()
    qtbot.waitUntil(lambda: window.complete)
    with qtbot.waitSignal(window.state.loaded):
        window.state.client.start()
    window.recovering.start()
    new = renewed(window)
    qtbot.waitUntil(lambda: new.complete and new.state.is_loaded)
    assert "saved in" in ended(new, qtbot)
    with qtbot.waitSignal(new.closed):
        new.close()
    new.deleteLater()


def test_what_fails_is_said_and_can_be_tried_again(window_of: Open, tmp_path: Path, qtbot: Any) -> None:
    nothing = tmp_path / "log.worldline"
    nothing.write_text("a line of a log\n" * 2_000)
    window = window_of(session=facts(nothing))
    window.recovering.start()
    assert "Nothing of a session can be found in log.worldline." in ended(window, qtbot)
    assert list(buttons(window, "recover")) == ["Save what is readable…"]
    assert list(tmp_path.glob("*recovered*")) == []


def test_many_losses_are_a_list_of_their_own(window_of: Open) -> None:
    window = window_of()
    losses = [f"what is lost {n}" for n in range(NAMED + 2)]
    window.recovering._done({"out": "/tmp/x.worldline", "nodes": 0, "losses": losses})
    text = window.notices.items["recover"].text.text()
    assert losses[NAMED - 1] in text and losses[NAMED] not in text and text.endswith("… and 2 more")
    assert OPEN not in buttons(window, "recover"), "there is nothing in it"
    buttons(window, "recover")["All that is lost"].click()
    viewer = window.findChild(TextViewer)
    assert viewer is not None and viewer.text.whole.splitlines() == losses
    viewer.close()


def test_a_session_that_is_refused_for_damage_offers_it_too(
    fake: Any, settings: QSettings, qtbot: Any
) -> None:
    window = MainWindow(SessionState(fake()), settings)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.complete)
    for kind, offered in (("damaged", True), ("locked", False)):
        window.state.refused.emit({"message": "No.", "hint": "", "kind": kind})
        assert ("Save what is readable…" in buttons(window, "engine")) is offered
    window.close()


def test_a_name_is_never_one_that_is_taken(tmp_path: Path) -> None:
    source = tmp_path / "a b.worldline"
    first = new_name(source)
    assert first.name == "a b-recovered.worldline"
    first.symlink_to(tmp_path / "nowhere")
    assert new_name(source).name == "a b-recovered-2.worldline"
