"""What others change on disk while a run goes on: kept as theirs, and told to the model before it is asked again."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldline.agent.capture import OUTSIDE, StateTracker, change_from_outside, doubt
from worldline.agent.deps import RunDeps
from worldline.agent.journal import Journal
from worldline.agent.meanwhile import Seen
from worldline.core.background import while_ran
from worldline.workspace.model import CaptureResult

_SHOWN = 40
_READ = "Read them again before you rely on what you remember of them."


@dataclass(slots=True)
class Onlooker:
    """Of one branch while a run writes to it."""

    journal: Journal
    deps: RunDeps
    states: StateTracker
    _untold: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Path → commands that may have changed it; () = it was the person. In the order in which they were found."""
    _known: set[str] = field(default_factory=set)
    """Paths of which the model knows in this run that a command in the background may change them. One that writes a log
    would be told of before each request."""
    _unplaced: tuple[CaptureResult, Seen] | None = None
    """Found, and in no node yet: the model knows of these paths, so that it is no news."""

    async def before_step(self, node: str) -> None:
        """What was changed by now was changed by others, and not by what the step of this node is about to do."""
        found = await self._found()
        if found is None:
            return
        result, seen = found
        with self.journal.doc.transaction():
            data = {"state": result.state, "paths": result.paths, **doubt(seen.commands)}
            self.journal.doc.add_record(OUTSIDE, data, node=node)
            self._settle(seen)
        self._note(result.paths, seen.commands)

    async def before_request(self) -> None:
        """Tell the model, in a note of its own, what it cannot have seen. What was changed since the last step becomes a
        node, as between two runs."""
        found = await self._found()
        if found is not None:
            result, seen = found
            self._note(result.paths, seen.commands)
            if self._untold:
                draft = change_from_outside(result, self.journal.doc, self.journal.tip, seen.commands)
                with self.journal.doc.transaction():
                    header = self.journal.append(draft, announce=False)
                    self._settle(seen)
                self.journal.announce(header)
                self.states.placed()
            else:
                self._unplaced = found
        untold, self._untold = self._untold, {}
        for commands in dict.fromkeys(untold.values()):
            self._tell([path for path, of in untold.items() if of == commands], commands)

    async def _found(self) -> tuple[CaptureResult, Seen] | None:
        """What no step has changed and no node has yet."""
        earlier, self._unplaced = self._unplaced, None
        if not await self.deps.stirred():
            return earlier
        seen = await self.deps.meanwhile.look() if self.deps.meanwhile is not None else Seen((), frozenset())
        result = await self.states.before()
        if result is None or earlier is None:
            return (result, seen) if result is not None else earlier
        result.paths = list(dict.fromkeys([*earlier[0].paths, *result.paths]))
        result.files = max(result.files, len(result.paths))
        result.added, result.removed = result.added + earlier[0].added, result.removed + earlier[0].removed
        return result, Seen(tuple(dict.fromkeys([*earlier[1].commands, *seen.commands])), seen.ended)

    def _settle(self, seen: Seen) -> None:
        if self.deps.meanwhile is not None:
            self.deps.meanwhile.settle(seen)

    def _note(self, paths: list[str], commands: tuple[str, ...]) -> None:
        for path in paths:
            if commands and path in self._known:
                continue
            self._untold[path] = commands
            if commands:
                self._known.add(path)

    def _tell(self, paths: list[str], commands: tuple[str, ...]) -> None:
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        how = f" {while_ran(commands, 'the person', ',')}" if commands else ", and not by you"
        start = "these files were changed" if commands else "while you worked these files were changed"
        self.journal.user(
            f"[Worldline: {start}{how}: {', '.join(paths[:_SHOWN])}{more}. {_READ}]", by_engine=True
        )
