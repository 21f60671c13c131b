"""What the person changes on disk while a run goes on: kept as theirs, and told to the model before it is asked again."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldline.agent.capture import OUTSIDE, StateTracker, change_from_outside
from worldline.agent.deps import RunDeps
from worldline.agent.journal import Journal

_SHOWN = 40


@dataclass(slots=True)
class Onlooker:
    """Of one branch while a run writes to it."""

    journal: Journal
    deps: RunDeps
    states: StateTracker
    _untold: dict[str, None] = field(default_factory=dict)
    """Paths, in the order in which they were found."""

    async def before_step(self, node: str) -> None:
        """What was changed by now is the person's, and not what the step of this node is about to do."""
        if not await self.deps.person_wrote():
            return
        found = await self.states.before()
        if found is not None:
            data = {"state": found.state, "paths": found.paths}
            self.journal.doc.add_record(OUTSIDE, data, node=node)
            self._untold.update(dict.fromkeys(found.paths))

    async def before_request(self) -> None:
        """Tell the model, in a note of its own, what it cannot have seen. What was changed since the last step becomes a
        node, as between two runs."""
        if await self.deps.person_wrote() and (found := await self.states.before()) is not None:
            self.journal.append(change_from_outside(found, self.journal.tip))
            self.states.placed()
            self._untold.update(dict.fromkeys(found.paths))
        if self._untold:
            paths = list(self._untold)
            self._untold.clear()
            more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
            self.journal.user(
                f"[Worldline: while you worked these files were changed, and not by you: {', '.join(paths[:_SHOWN])}{more}. "
                "Read them again before you rely on what you remember of them.]",
                by_engine=True,
            )
