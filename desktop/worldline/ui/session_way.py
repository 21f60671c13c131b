"""The way through a session: going to nodes, and back and forward again as in a browser."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject

from worldline.client.process import EngineProcess
from worldline.ui.session_rows import SessionRows


@dataclass(frozen=True, slots=True)
class _Way:
    """A step back or forward: the nodes that it takes from and puts to."""

    node: str
    source: list[str]
    target: list[str]


class SessionWay(SessionRows):
    """One jump at a time. What it would touch that is not the agent's is announced first, as a plan."""

    def __init__(self, client: EngineProcess, parent: QObject | None = None) -> None:
        super().__init__(client, parent)
        self.jumping = False
        self.before_jump: Callable[[str, dict[str, Any]], bool] | None = None
        """May fill in the request of a jump, or take it over (True) to ask the person first and come back."""
        self._back: list[str] = []
        self._forward: list[str] = []
        self._way: _Way | None = None
        """The step back or forward whose plan the person is looking at."""

    @property
    @abstractmethod
    def read_only(self) -> bool: ...

    @abstractmethod
    def select(self, uid: str) -> None: ...

    @abstractmethod
    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        on_result: Callable[[Any], None] | None = None,
        on_error: Callable[[dict[str, Any]], None] | None = None,
    ) -> None: ...

    def keep_way(self, before: SessionWay) -> None:
        """Go back and forward as the state did that this one takes the place of."""
        self._back, self._forward = list(before._back), list(before._forward)

    def go(self, uid: str, params: Mapping[str, Any] | None = None) -> None:
        """Go to a node: put its files back and fork there. A plan that needs the person is announced instead."""
        if self.jumping or not uid:
            return
        if self.read_only:
            self.select(uid)
            return
        request = {"node": uid, **(params or {})}
        if self.before_jump is not None and self.before_jump(uid, request):
            return
        way, self._way = self._way, None
        onward = way is not None and way.node == uid and bool(request.get("plan"))
        self._jump("jump", request, request, way if onward else None)

    def backtrack(self) -> None:
        """Like `go`, to the node that the engine finds: before what failed again and again."""
        if not self.jumping and not self.read_only:
            self._jump("backtrack", {}, {})

    def return_home(self, params: Mapping[str, Any]) -> None:
        """Put HEAD of the person's own folder back on their branch; like `go` with the files of where it left."""
        if not self.jumping and not self.read_only:
            self._jump("return_home", dict(params), {"fork": False})

    def _jump(
        self, method: str, params: dict[str, Any], again: dict[str, Any], way: _Way | None = None
    ) -> None:
        """`again`: what the jump is asked with once its plan was seen, {} = by the node of the plan; `way`: it is a step
        back or forward."""
        left = self.cursor
        self.jumping = True

        def answered(answer: dict[str, Any]) -> None:
            self.jumping = False
            if answer.get("plan"):
                self._way = way
                self.plan_needed.emit(answer["plan"], again or {"node": answer["plan"]["node"]})
            elif answer.get("result"):
                self._remember(left, answer["result"], way)
                self._arrived(answer["result"])

        def refused(error: dict[str, Any]) -> None:
            self.jumping = False
            self.stayed.emit()
            self.failed.emit(error)

        self.request(method, params, answered, refused)

    def _remember(self, left: str, result: dict[str, Any], way: _Way | None) -> None:
        if way is not None:
            way.source.pop()
            way.target.append(left)
        elif left and left != result.get("cursor"):
            self._back.append(left)
            self._forward.clear()

    def _arrived(self, result: dict[str, Any]) -> None:
        self._set_cursor(str(result.get("cursor", self.cursor)))
        self.select("")
        self.jumped.emit(result)
        self.history_changed.emit()
        if result.get("composer_text"):
            self.composer_text.emit(result["composer_text"])

    def can_back(self) -> bool:
        return bool(self._back)

    def can_forward(self) -> bool:
        return bool(self._forward)

    def go_back(self) -> None:
        self._travel(self._back, self._forward)

    def go_forward(self) -> None:
        self._travel(self._forward, self._back)

    def _travel(self, source: list[str], target: list[str]) -> None:
        if not source or self.jumping:
            return
        request = {"node": source[-1]}
        self._jump("jump", request, request, _Way(source[-1], source, target))
