"""Keeping a copy of the repository ready for the next session: made by a process of its own, when nobody wants anything.

The process has the lowest priority, begins only after some quiet seconds, and is killed as soon as the session is asked for
something that works on files, or ends. It is begun again at the next quiet time; what it leaves half made is removed then,
or by a process of the same kind when the next session is opened, whatever its folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import sys
from collections.abc import Callable

from worldline.core import paths
from worldline.engine.comparing import child_environment
from worldline.engine.shared import Shared
from worldline.workspace import isolate_ready

logger = logging.getLogger(__name__)

QUIET_S = 20.0
"""Without a command that works on files, and without a run."""
_LOOK_S = 0.5
"""So often it is looked whether a run has begun by itself."""
DISTURBING = frozenset(
    {
        "prompt", "go_on", "queue_edit", "backtrack", "jump_plan", "jump", "return_home", "bring_home", "take_file",
        "undo_effect", "compact", "prune", "set_settings",
    }
)  # fmt: skip
"""Commands that nothing should slow down, and the one that may change whether a copy is wanted."""


class ReadyDesk:
    """All of it on the session's loop. `busy`: a run or a jump goes on."""

    def __init__(self, shared: Shared, busy: Callable[[], bool]) -> None:
        self._shared = shared
        self._busy = busy
        self._disturbed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._begun = False
        self.process: asyncio.subprocess.Process | None = None
        """The one that is at work."""
        self.made = 0
        """How often a process came to its end."""

    def begin(self) -> None:
        """From now on. Only for a session that works in a worktree: the person may make another one of the same kind. What
        makers that were killed have left goes at every opening."""
        info = self._shared.info
        self._begun = info.workspace_mode == "isolated" and not info.read_only and not info.scripted_model
        if not info.read_only:
            self._start()

    def noticed(self, method: str) -> None:
        """The session is asked for this."""
        if method in DISTURBING:
            self._disturbed.set()
            if method == "set_settings":
                self._start()

    async def close(self) -> None:
        """Nothing of it goes on when this returns."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _start(self) -> None:
        """Unless it is going on: a window that is made anew has it begun once more."""
        if self._task is not None and not self._task.done():
            return
        if self._begun or isolate_ready.is_left():
            self._task = asyncio.get_running_loop().create_task(self._work(), name="copy kept ready")

    async def _work(self) -> None:
        if isolate_ready.is_left():
            try:
                await self._run(["--tidy"])
            except OSError as error:
                # The next one that is made, or a list of the folders, removes it too.
                logger.warning("what is left of copies cannot be removed: %s", error)
        while self._begun:
            await self._quiet()
            wanted = self._shared.settings.get("ready_copy") is True
            if not wanted and not any(paths.ready_dir().iterdir()):
                return
            try:
                if await self._run([self._shared.info.root] if wanted else ["--remove-all"]):
                    return
            except OSError as error:
                # It only saves time; without it a new session is as it was.
                logger.warning("no copy can be kept ready: %s", error)
                return

    async def _quiet(self) -> None:
        while True:
            self._disturbed.clear()
            try:
                await asyncio.wait_for(self._disturbed.wait(), QUIET_S)
            except TimeoutError:
                if not self._busy():
                    return

    async def _run(self, words: list[str]) -> bool:
        """Whether it came to its end undisturbed."""
        command = [sys.executable, "-m", "worldline.workspace.isolate_make", *words]
        if sys.platform.startswith("linux") and (ionice := shutil.which("ionice")):
            command = [ionice, "-c", "3", *command]
        process = self.process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=child_environment()
        )
        ended = asyncio.ensure_future(process.communicate())
        try:
            while not (self._disturbed.is_set() or self._busy()):
                done, _ = await asyncio.wait([ended], timeout=_LOOK_S)
                if done:
                    said = ended.result()[0].decode("utf-8", "replace").strip()
                    logger.info("copy kept ready: %s (%s)", said, process.returncode)
                    self.made += 1
                    return True
            return False
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await asyncio.gather(ended, return_exceptions=True)
            self.process = None
