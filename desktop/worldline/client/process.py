"""The engine process as the window sees it: requests with callbacks, notifications in batches.

Threads: one reads the engine's lines, one writes them (a full pipe must never block the window), one copies its
stderr into the log. All signals are emitted and all callbacks are called in the thread that owns the object, at most
one batch a frame, in the order of the lines.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from shiboken6 import isValid

if TYPE_CHECKING:
    from worldline.client.link import Link

log = logging.getLogger("worldline.client")

PROTOCOL_VERSION = 1
"""The same as `protocol.wire.PROTOCOL_VERSION` (a test holds them together); pydantic is not worth its 200 ms here."""
FRAME_S = 0.016
BUDGET_S = 0.008
"""Events are handed over for at most this long in one frame; the rest waits for the next."""
CHUNK = 400
LAST_WORDS_S = 2.0
"""At most so long the last words of an engine are waited for that are there already and only have to be read."""
RESTARTS = 3
RESTART_WINDOW_S = 60.0

OnResult = Callable[[Any], None]
OnError = Callable[[dict[str, Any]], None]


def engine_command(arguments: Sequence[str]) -> list[str]:
    """The command line that starts an engine with the interpreter of this process."""
    return [sys.executable, "-m", "worldline", "engine", *arguments]


def engine_environment() -> dict[str, str]:
    """Our environment, with the package importable even when it runs from a source tree."""
    environment = dict(os.environ)
    package_home = str(Path(__file__).resolve().parent.parent.parent)
    known = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    if package_home not in known:
        environment["PYTHONPATH"] = os.pathsep.join([package_home, *known])
    environment["PYTHONUTF8"] = "1"
    return environment


_GONE = ("already deleted", "has been deleted")
"""How PySide says that an object, or the one whose signal it is, is not there any more."""


def _call(callback: Callable[[Any], None], value: Any) -> None:
    """An answer may come after the widget that asked has been closed; then nobody needs it."""
    try:
        callback(value)
    except RuntimeError as error:
        if not any(words in str(error) for words in _GONE):
            raise
        log.info("an answer came too late: %s", error)


class EngineProcess(QObject):
    """Starts the engine, talks to it, restarts it when it dies.

    States: `stopped`, `starting` (no answer to hello yet), `running`, `restarting`, `gone` (it died too often),
    `stopping`.
    """

    batch = Signal(list)
    """Notifications as (method, params), in order; at most one signal a frame."""
    hello = Signal(dict)
    """The answer to the handshake; after a restart it comes again."""
    refused = Signal(dict)
    """The engine could not open the document: {"message", "kind", "hint"}; it will not be restarted."""
    state_changed = Signal(str)
    stopped = Signal()
    """The engine has ended because it was asked to."""
    _woken = Signal()

    def __init__(
        self, arguments: Sequence[str], parent: QObject | None = None, *, command: Sequence[str] | None = None
    ) -> None:
        """`arguments` of `worldline engine`; `command` replaces the whole command line."""
        super().__init__(parent)
        self._command = list(command) if command is not None else engine_command(arguments)
        self._environment = engine_environment()
        self.reopen: list[str] = []
        """Arguments of a restart: it opens the document, also when the first start made a new one."""
        self._once: tuple[str, ...] = ()
        self._custom = command is not None
        self._link: Link | None = None
        self._callbacks: dict[int, tuple[OnResult | None, OnError | None, str]] = {}
        self._next_id = 1
        self._deaths: list[float] = []
        self._last_flush = 0.0
        self._anew = False
        """Another engine follows the one that is ending."""
        self.state = "stopped"
        self._refusal: dict[str, Any] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._flush)
        self._limit = QTimer(self)
        self._limit.setSingleShot(True)
        self._limit.timeout.connect(self._kill)
        self._wake_pending = threading.Event()
        self._woken.connect(self._on_woken, Qt.ConnectionType.QueuedConnection)

    # Life ------------------------------------------------------------------------------------------------------
    @staticmethod
    def preparing() -> Iterator[Callable[[], object]]:
        """Import what `start` needs, 15 ms in all, one step at a time. It does so itself if nobody has."""
        for name in ("json", "queue", "subprocess", "worldline.client.link"):
            yield partial(importlib.import_module, name)

    def start(self) -> None:
        assert self._link is None or self.state in ("stopped", "gone", "restarting")
        self._set_state("restarting" if self.state == "restarting" else "starting")
        if self.reopen and not self._custom:
            self._command = engine_command(self.reopen)
        from worldline.client.link import Link

        try:
            command, self._once = [*self._command, *self._once], ()
            self._link = Link(command, self._environment, self._wake)
        except OSError as error:
            self._set_state("gone")
            self._refuse(
                {
                    "message": f"The engine could not be started: {error}",
                    "kind": "engine",
                    "hint": "Reinstall Worldline.",
                }
            )
            return
        self._greet()

    def restart(self, *once: str) -> None:
        """Start again after `gone`, because the person asked for it; `once`: options for this start alone."""
        self._once = once
        self._deaths.clear()
        if self.state == "gone":
            self._set_state("restarting")
            if self._link is None:
                self.start()

    def stop(self, seconds: float = 5.0) -> None:
        """Ask the engine to end; `stopped` follows, after `seconds` at the latest (it is killed then). It is for good: an
        engine that was to be started anew is not."""
        self._anew = False
        if self._link is None:
            self._set_state("stopped")
            self.stopped.emit()
            return
        if self.state == "stopping":
            return
        self._set_state("stopping")
        self._link.send({"jsonrpc": "2.0", "id": 0, "method": "shutdown", "params": {}})
        self._link.close_input()
        self._limit.start(int(seconds * 1000))

    def start_anew(self) -> None:
        """End this engine in order and start another one in its place; `stopped` is not emitted in between."""
        if self.state == "running":
            self.stop()
            self._anew = True

    def stop_and_wait(self, seconds: float = 5.0) -> None:
        """As `stop`, but blocks: for the very end of the program, when no window is left to freeze."""
        link = self._link
        if link is None:
            return
        self.stop(seconds)
        if not link.join(seconds):
            self._kill()
            link.join(2.0)
        self._flush()

    @property
    def pid(self) -> int:
        return self._link.process.pid if self._link is not None else 0

    def _kill(self) -> None:
        if self._link is not None and self._link.process.poll() is None:
            log.error("the engine did not end in time and is killed")
            self._link.process.kill()

    # Requests --------------------------------------------------------------------------------------------------
    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        on_result: OnResult | None = None,
        on_error: OnError | None = None,
    ) -> int:
        """Send a command. Exactly one of the callbacks is called, in this thread, also when the engine dies.
        `on_error` gets {"message", "kind", "hint", "code"}; without one an error is logged."""
        number = self._next_id
        self._next_id += 1
        entry = (on_result, on_error, method)
        if self._link is None or self.state in ("stopped", "gone", "stopping"):

            def refuse() -> None:
                if isValid(self):
                    self._callbacks[number] = entry
                    self._fail(number, "The engine is not running.", "engine_gone")

            # It has the callbacks alone, and runs out also when this object goes before: with this object as its
            # context it would be kept for good then, with the window of whoever asked.
            QTimer.singleShot(0, refuse)
            return number
        self._callbacks[number] = entry
        self._link.send({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params or {})})
        return number

    def _fail(self, number: int, message: str, kind: str) -> None:
        self._answer_error(number, {"code": 3, "message": message, "data": {"kind": kind, "hint": ""}})

    def _answer_error(self, number: int, error: Mapping[str, Any]) -> None:
        entry = self._callbacks.pop(number, None)
        if entry is None:
            return
        data = error.get("data") or {}
        plain = {
            "message": str(error.get("message", "")),
            "kind": str(data.get("kind", "")),
            "hint": str(data.get("hint", "")),
            "code": int(error.get("code", 0)),
        }
        if entry[1] is not None:
            _call(entry[1], plain)
        else:
            log.warning("%s: %s", entry[2], plain["message"])

    def greet_again(self) -> None:
        """Have `hello` (or `refused`) say once more what it said: somebody new listens."""
        if self.state == "running":
            self._greet()
        elif self.state == "gone" and self._refusal:
            self.refused.emit(self._refusal)

    def _greet(self) -> None:
        self.request(
            "hello", {"protocol": PROTOCOL_VERSION, "client": "window"}, self._greeted, self._not_greeted
        )

    def _greeted(self, result: Any) -> None:
        if self.state == "stopping":
            return  # it was told to end before it had answered: its end is no death, and nobody listens any more
        self._set_state("running")
        self.hello.emit(result)

    def _not_greeted(self, error: dict[str, Any]) -> None:
        if error["kind"] == "engine_gone" or self.state == "stopping":
            return  # it died before it answered; the restart says hello again
        self._set_state("gone")
        if self._link is not None:
            self._link.close_input()  # it has nothing to serve; it ends when its input does
        self._refuse(error)

    def _refuse(self, error: dict[str, Any]) -> None:
        self._refusal = error
        self.refused.emit(error)

    # Lines of the engine ---------------------------------------------------------------------------------------
    def _wake(self) -> None:
        """Called by the reading thread: one queued signal, however many lines come until it is handled."""
        if not self._wake_pending.is_set():
            self._wake_pending.set()
            # The interpreter may end while the thread still reads: the object is gone then, and so is the need.
            with contextlib.suppress(RuntimeError):
                self._woken.emit()

    def _on_woken(self) -> None:
        if self._timer.isActive():
            return
        wait = self._last_flush + FRAME_S - time.monotonic()
        if wait > 0:
            self._timer.start(max(1, int(wait * 1000)))
        else:
            self._flush()

    def _flush(self) -> None:
        link = self._link
        self._wake_pending.clear()
        if link is None:
            return
        try:
            self._hand_over(link)
        except BaseException:
            # A callback broke, which is told elsewhere. What has come behind its answer comes all the same, also when no
            # further line follows.
            if link.outbox:
                self._timer.start(int(FRAME_S * 1000))
            raise

    def _hand_over(self, link: Link) -> None:
        started = self._last_flush = time.monotonic()
        events: list[tuple[str, dict[str, Any]]] = []
        while link.outbox:
            message = link.outbox.popleft()
            if message is None:
                self._emit(events)
                self._ended(link)
                return
            if "method" in message:
                method, params = str(message["method"]), message.get("params") or {}
                if method == "batch":
                    events.extend((str(e["method"]), e.get("params") or {}) for e in params.get("events", []))
                else:
                    events.append((method, params))
            else:
                events = self._emit(events)
                self._answer(message)
            if len(events) >= CHUNK:
                events = self._emit(events)
            if time.monotonic() - started > BUDGET_S and link.outbox:
                self._emit(events)
                self._timer.start(int(FRAME_S * 1000))
                return
        self._emit(events)

    def _emit(self, events: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
        if events:
            self.batch.emit(events)
        return []

    def _answer(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if not isinstance(number, int):
            log.error("the engine reports: %s", message.get("error"))
            return
        error = message.get("error")
        if error is not None:
            self._answer_error(number, error)
            return
        entry = self._callbacks.pop(number, None)
        if entry is not None and entry[0] is not None:
            _call(entry[0], message.get("result"))

    def _ended(self, link: Link) -> None:
        code = link.process.returncode
        link.heard_out.wait(LAST_WORDS_S)
        self._link = None
        self._limit.stop()
        stopping = self.state == "stopping"
        for number in list(self._callbacks):
            self._fail(number, "The engine stopped before it answered.", "engine_gone")
        if stopping:
            self._set_state("stopped")
            anew, self._anew = self._anew, False
            if anew:
                self.start()
            else:
                self.stopped.emit()
            return
        log.error("the engine ended with %s: %s", code, " | ".join(link.last_words))
        if self.state == "gone":
            return
        now = time.monotonic()
        self._deaths = [at for at in self._deaths if now - at < RESTART_WINDOW_S] + [now]
        if len(self._deaths) > RESTARTS:
            self._set_state("gone")
            words = next((word for word in reversed(link.last_words) if word.strip()), "")
            self._refuse({"message": "The engine stops again and again.", "kind": "engine", "hint": words})
            return
        self._set_state("restarting")
        # A short pause that grows: a full disk or a bad library is not cured by a tight loop.
        QTimer.singleShot(100 * 4 ** (len(self._deaths) - 1), self, self._start_again)

    def _start_again(self) -> None:
        if self.state == "restarting":
            self.start()

    def _set_state(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.state_changed.emit(state)
