"""The engine process from the window's side: order, batches, death, restart, orderly end."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import shiboken6
from PySide6.QtCore import QObject, Signal

from tests_support import PATIENCE_S, halt_imports, wait_until
from worldline.client import process
from worldline.client.importing import ImportJob
from worldline.client.process import PROTOCOL_VERSION, EngineProcess
from worldline.core import paths
from worldline.core.kinds import NodeKind
from worldline.engine.bundle import write_bundle
from worldline.protocol import wire
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
from worldline.ui.session_state import SessionState
from worldline.workspace.engine import Workspace

from . import sample


def test_the_protocol_version_is_the_engines() -> None:
    assert PROTOCOL_VERSION == wire.PROTOCOL_VERSION


def scripted(tmp_path: Path, body: str) -> EngineProcess:
    file = tmp_path / "engine.py"
    file.write_text("import json, sys, threading, time\n" + textwrap.dedent(body), "utf-8")
    return EngineProcess([], command=[sys.executable, str(file)])


class Owner(QObject):
    told = Signal(object)


@pytest.mark.parametrize(
    "tell", [lambda owner, answer: owner.told.emit(answer), lambda owner, _: owner.objectName()]
)
def test_an_answer_for_what_is_gone_by_now_is_nobodys_error(
    fake: Callable[..., EngineProcess], qtbot: Any, tell: Callable[[Owner, Any], object]
) -> None:
    """A window that is made anew leaves questions behind: their answers find that the one who asked is deleted."""
    client, owner, answered = fake(), Owner(), []

    def take(answer: Any) -> None:
        answered.append(answer)
        tell(owner, answer)

    client.start()
    client.request("headers", {"since": 0, "limit": 1}, take)
    shiboken6.delete(owner)
    qtbot.waitUntil(lambda: bool(answered))


def test_every_message_arrives_once_and_in_order(tmp_path: Path, qtbot: Any) -> None:
    """Four writers at once, a thousand each: nothing lost, doubled or turned round."""
    client = scripted(
        tmp_path,
        """
        lock = threading.Lock()
        def say(who):
            for number in range(1000):
                with lock:
                    print(json.dumps({"jsonrpc": "2.0", "method": "delta", "params": {"who": who, "n": number}}), flush=True)
        threads = [threading.Thread(target=say, args=(who,)) for who in range(4)]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), flush=True)
        sys.stdin.readline(); sys.stdin.read()
        """,
    )
    got: list[tuple[int, int]] = []

    def take(events: list[tuple[str, dict[str, Any]]]) -> None:
        got.extend((params["who"], params["n"]) for _method, params in events)

    client.batch.connect(take)
    with qtbot.waitSignal(client.hello, timeout=20_000):
        client.start()
    assert len(got) == 4000 == len(set(got))
    for who in range(4):
        assert [n for w, n in got if w == who] == list(range(1000))
    client.stop_and_wait(PATIENCE_S)


def test_what_has_come_meanwhile_comes_in_batches(tmp_path: Path, qtbot: Any) -> None:
    client = scripted(
        tmp_path,
        """
        for number in range(4000):
            print(json.dumps({"jsonrpc": "2.0", "method": "delta", "params": {"n": number}}), flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), flush=True)
        sys.stdin.readline(); sys.stdin.read()
        """,
    )
    batches: list[list[int]] = []
    client.batch.connect(lambda events: batches.append([params["n"] for _method, params in events]))
    client.start()
    link = client._link
    assert link is not None
    wait_until(lambda: len(link.outbox) == 4001)  # the loop of the window does not turn meanwhile
    with qtbot.waitSignal(client.hello):
        pass
    assert [n for batch in batches for n in batch] == list(range(4000))
    assert len(batches) < 400
    client.stop_and_wait(PATIENCE_S)


def test_answers_stand_between_the_notifications_where_they_were_sent(tmp_path: Path, qtbot: Any) -> None:
    client = scripted(
        tmp_path,
        """
        def out(**m): print(json.dumps({"jsonrpc": "2.0", **m}), flush=True)
        for line in sys.stdin:
            r = json.loads(line)
            out(method="batch", params={"events": [{"method": "a", "params": {"of": r["id"]}}]})
            out(id=r["id"], result=r["id"])
            out(method="b", params={"of": r["id"]})
            if r["method"] == "shutdown": break
        """,
    )
    order: list[str] = []
    client.batch.connect(lambda events: order.extend(f"{m}{p['of']}" for m, p in events))
    with qtbot.waitSignal(client.hello, timeout=10_000):
        client.start()
    done: list[Any] = []
    for _ in range(3):
        client.request("x", {}, lambda result: (order.append(f"answer{result}"), done.append(result)))
    qtbot.waitUntil(lambda: len(done) == 3 and order[-1] == "b4", timeout=10_000)
    assert order == ["a1", "b1", *(f"{w}{n}" for n in (2, 3, 4) for w in ("a", "answer", "b"))]
    client.stop_and_wait(PATIENCE_S)


def test_an_answer_that_breaks_who_asked_keeps_back_none_behind_it(tmp_path: Path, qtbot: Any) -> None:
    """Also where the engine says nothing more that would have it looked at again."""
    client = scripted(
        tmp_path,
        """
        sys.stdin.readline()
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), flush=True)
        sys.stdin.readline(); sys.stdin.readline()
        for number in (2, 3):
            print(json.dumps({"jsonrpc": "2.0", "id": number, "result": number}), flush=True)
        sys.stdin.readline()
        """,
    )
    with qtbot.waitSignal(client.hello, timeout=20_000):
        client.start()
    link = client._link
    assert link is not None
    answered: list[int] = []
    client.request("one", {}, lambda number: 1 // (number - 2))
    client.request("two", {}, answered.append)
    wait_until(lambda: len(link.outbox) == 2)  # the loop of the window does not turn meanwhile
    try:
        with qtbot.captureExceptions() as broken:
            qtbot.waitUntil(lambda: bool(answered), timeout=20_000)
        assert answered == [3] and [one[0] for one in broken] == [ZeroDivisionError]
    finally:
        client.stop_and_wait(PATIENCE_S)


def test_a_refusal_reaches_the_one_who_asked(state: SessionState, qtbot: Any) -> None:
    errors: list[dict[str, Any]] = []
    state.request("no_such_command", {}, None, errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert "no_such_command" in errors[0]["message"]
    with qtbot.waitSignal(state.failed):
        state.request("no_such_command")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_while_streaming_it_restarts_and_the_document_is_there(
    state: SessionState, qtbot: Any
) -> None:
    deltas: list[dict[str, Any]] = []
    state.delta_batch.connect(deltas.extend)
    state.request("prompt", {"text": "forever"})
    qtbot.waitUntil(lambda: len(deltas) > 50, timeout=10_000)
    pending: list[dict[str, Any]] = []
    states: list[str] = []
    state.engine_state_changed.connect(states.append)
    with qtbot.waitSignal(state.hello, timeout=15_000):
        os.kill(state.client.pid, signal.SIGKILL)
        state.request("search", {"text": "x"}, None, pending.append)
    assert states[:2] == ["restarting", "running"]
    assert not state.busy
    # Asked while it was dead or dying: answered with an error, not left hanging.
    qtbot.waitUntil(lambda: len(pending) == 1, timeout=10_000)
    assert pending[0]["kind"] == "engine_gone"
    assert state.cursor == sample.uid(27)


def test_one_that_dies_again_and_again_is_not_restarted_for_ever(
    tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "RESTART_WINDOW_S", 3_600.0)  # however long each start takes
    client = scripted(tmp_path, 'sys.stderr.write("no such library\\n"); sys.exit(3)')
    with qtbot.waitSignal(client.refused, timeout=30_000) as refused:
        client.start()
    assert client.state == "gone"
    assert refused.args[0]["hint"] == "no such library"
    with qtbot.waitSignal(client.refused) as again:  # a window that is made anew asks what there is
        client.greet_again()
    assert again.args == refused.args
    client.stop()
    assert client.state == "stopped"


def test_one_that_will_not_end_is_killed_in_time(tmp_path: Path, qtbot: Any) -> None:
    client = scripted(
        tmp_path,
        """
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), flush=True)
        threading.Event().wait()
        """,
    )
    with qtbot.waitSignal(client.hello, timeout=10_000):
        client.start()
    with qtbot.waitSignal(client.stopped, timeout=5_000):
        client.stop(0.3)
    assert client.state == "stopped"


def test_an_engine_that_cannot_be_started_is_explained(qtbot: Any) -> None:
    client = EngineProcess([], command=["/no/such/program"])
    with qtbot.waitSignal(client.refused) as refused:
        client.start()
    assert "could not be started" in refused.args[0]["message"]


def test_a_locked_session_is_refused_and_not_restarted(
    fake: Callable[..., EngineProcess], qtbot: Any
) -> None:
    client = fake(refuse="The session is open elsewhere.")
    with qtbot.waitSignal(client.refused, timeout=10_000) as refused:
        client.start()
    assert refused.args[0] == {
        "message": "The session is open elsewhere.", "kind": "locked", "hint": "Close it.", "code": 1,
    }  # fmt: skip
    assert client.state == "gone"


def test_lines_that_are_no_json_are_passed_over(tmp_path: Path, qtbot: Any) -> None:
    client = scripted(
        tmp_path,
        """
        print("a library prints a greeting", flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"fine": True}}), flush=True)
        sys.stdin.readline(); sys.stdin.readline()
        """,
    )
    with qtbot.waitSignal(client.hello, timeout=10_000) as hello:
        client.start()
    assert hello.args[0] == {"fine": True}
    client.stop_and_wait(PATIENCE_S)


def test_a_child_that_outlives_the_engine_does_not_hold_the_window(tmp_path: Path, qtbot: Any) -> None:
    """A server that the agent started holds the engine's error output open; the window must not wait for its end."""
    client = scripted(
        tmp_path,
        """
        import os, subprocess
        sys.stdin.readline()
        child = subprocess.Popen(["sleep", "100"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"child": child.pid}}), flush=True)
        print("last words", file=sys.stderr, flush=True)
        sys.stdin.readline()
        os._exit(3)
        """,
    )
    with qtbot.waitSignal(client.hello, timeout=20_000) as hello:
        client.start()
    link = client._link
    assert link is not None
    child = psutil.Process(hello.args[0]["child"])
    try:
        client.request("headers")
        qtbot.waitUntil(lambda: client.state == "restarting", timeout=20_000)
        assert "last words" in link.last_words
        assert child.is_running(), "it was waited for"
    finally:
        child.kill()
    client.stop()
    for thread in link._threads:
        thread.join(PATIENCE_S)


def test_an_import_that_is_given_up_leaves_nothing_behind(
    tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, store = tmp_path / "work", tmp_path / "store"
    folder.mkdir()
    for number in range(400):
        (folder / f"{number}.txt").write_text(f"{number}\\n" * 20)
    workspace = Workspace(folder, store)
    state = workspace.capture(None).state
    workspace.close()
    place = {"mode": "in_place", "root": str(folder), "path": str(folder), "store": str(store), "slug": "s"}
    with SessionDocument.create(tmp_path / "s.worldline", title="S", workspace=place) as session:
        session.append(NodeDraft(kind=NodeKind.ROOT, parent=None, state=state))
    write_bundle(tmp_path / "s.worldline", tmp_path / "s.zip")

    halt_imports(monkeypatch, tmp_path / "halts", "states")
    out = tmp_path / "out"
    job = ImportJob([str(tmp_path / "s.zip")], out)
    job.start()

    def begun() -> bool:
        # `os.walk` passes over what goes while it looks: a store is made under a passing name.
        return any(names for _, _, names in os.walk(paths.stores_dir()))

    qtbot.waitUntil(begun, timeout=20_000)
    job.stop(gently=True)
    assert list(paths.stores_dir().iterdir()) == []
    assert list(paths.worktrees_dir().iterdir()) == []
    assert list(out.iterdir()) == []
