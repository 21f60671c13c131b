"""Questions of the agent to the person."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from worldline.agent.journal import one_line
from worldline.core.errors import BadInput, ErrorClass, ToolError, ToolFailure
from worldline.core.secrets import mask
from worldline.engine.recovery import waits_for_the_person
from worldline.engine.shared import Shared
from worldline.engine.waiting_rows import show_row
from worldline.policy.approvals import DEFAULT_TIMEOUT_S
from worldline.protocol.commands import AnswerQuestion
from worldline.protocol.events import QuestionAsked, QuestionGone
from worldline.protocol.model import Question


class Questions:
    """Cards that wait for an answer. Without a person at hand (`attended` False) a question fails at once, and the
    model is told to decide by itself."""

    def __init__(self, shared: Shared, unanswered: Callable[[str], None], *, attended: bool) -> None:
        """`unanswered`: a question waited as long as it may; the run is to be ended with this sentence."""
        self._shared = shared
        self._unanswered = unanswered
        self.attended = attended
        self.open: dict[str, tuple[Question, asyncio.Future[str]]] = {}

    async def ask(self, node: str, text: str, choices: list[str], multiple: bool) -> str:
        if not self.attended:
            raise ToolFailure(
                ToolError(
                    error_class=ErrorClass.PERMISSION, type="nobody_there",
                    message="Nobody is there to answer.",
                    next="Decide by what you know, choose what can be undone, and say what you assumed.",
                )
            )  # fmt: skip
        waits_for_the_person(self._shared, node)
        text, choices = mask(text)[0], [mask(choice)[0] for choice in choices]
        question = Question(id=secrets.token_hex(6), node=node, text=text, choices=choices, multiple=multiple)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.open[question.id] = (question, future)
        self._shared.emit("question_asked", QuestionAsked(question=question))
        show_row(self._shared, node, waiting=True)
        before = self._shared.status.now.state
        before = "running" if before == "waiting" else before
        self._shared.status.set(state="waiting", sentence="The agent has a question for you.")
        seconds = self._shared.settings.get("approval_timeout_s") or DEFAULT_TIMEOUT_S
        timer = asyncio.get_running_loop().call_later(
            seconds,
            self._unanswered,
            f"The agent waited for your answer to: {one_line(text, 120)} Answer with a message to go on.",
        )
        try:
            return await future
        finally:
            timer.cancel()
            self.open.pop(question.id, None)
            self._shared.emit("question_gone", QuestionGone(id=question.id))
            show_row(self._shared, node)
            if self._shared.status.now.state == "waiting":
                self._shared.status.set(state=before, sentence="")

    def answer(self, reply: AnswerQuestion) -> None:
        found = self.open.get(reply.id)
        if found is None or found[1].done():
            raise BadInput("This question is not open any more.", "It was answered, or the run was stopped.")
        question, future = found
        unknown = [c for c in reply.choices if c not in question.choices]
        if unknown:
            raise BadInput(f"{unknown[0]!r} is not one of the choices.", "Answer with a choice or with text.")
        answer = "; ".join([*reply.choices, *([reply.text] if reply.text.strip() else [])])
        if not answer:
            raise BadInput("The answer is empty.", "Choose something or write a sentence.")
        future.set_result(answer)

    def nodes(self) -> set[str]:
        """The nodes of the calls that wait for an answer."""
        return {question.node for question, _ in self.open.values()}

    def waiting(self) -> list[dict[str, Any]]:
        return [q.model_dump(mode="json") for q, _ in self.open.values()]
