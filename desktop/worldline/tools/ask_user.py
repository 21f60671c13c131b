"""ask_user: a question to the person."""

from __future__ import annotations

from pydantic import Field

from worldline.core.errors import ErrorClass
from worldline.tools.base import BaseTool, text
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail


class AskInput(ToolInput):
    question: str = Field(description="One question, with what the person needs to decide it.", min_length=1)
    choices: list[str] = Field(default=[], description="Answers to choose from, best first.", max_length=8)
    multiple: bool = Field(default=False, description="More than one choice may be taken.")


class AskUser(BaseTool):
    name = "ask_user"
    description = (
        "Ask the person. Use it when the goal can be understood in two ways, when the same thing has failed twice, at a "
        "boundary that only the person can move, and before a step that cannot be undone. Do not guess instead."
    )
    Input = AskInput
    access = "ask"
    aliases = {
        "text": "question",
        "prompt": "question",
        "message": "question",
        "options": "choices",
        "multi_select": "multiple",
    }

    def prepare(self, args: AskInput, ctx: ToolContext) -> AccessRequest:
        return self.request(args, ctx, summary=args.question[:80])

    async def run(self, args: AskInput, ctx: ToolContext) -> ToolResult:
        answer = await ctx.ask(args.question, list(dict.fromkeys(args.choices)), args.multiple)
        if not answer.strip():
            raise fail(
                ErrorClass.USER,
                "no_answer",
                "The person closed the question without an answer.",
                next_="Go on with the most careful choice and say which it was, or stop and say what is open.",
            )
        return ToolResult(
            content=text(f"The person answered: {answer}"), summary=answer[:60], detail={"answer": answer}
        )
