"""plan: the list of steps of this branch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from worldline.core.secrets import mask
from worldline.tools.base import BaseTool, text
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult

_SIGNS = {"done": "[x]", "active": "[>]", "pending": "[ ]"}


class Step(ToolInput):
    text: str = Field(description="What is to be done.", min_length=1)
    status: Literal["pending", "active", "done"] = Field(default="pending", description="How far it is.")


class PlanInput(ToolInput):
    steps: list[Step] = Field(
        description="The whole list, in order; it replaces the one before.", max_length=50
    )


class Plan(BaseTool):
    name = "plan"
    description = (
        "Keep a list of steps for work that has several. Send the whole list each time; mark one step active, and done "
        "as soon as it is. The list belongs to this branch: after a jump it is the one of that node."
    )
    Input = PlanInput
    access = "ask"
    aliases = {
        "todos": "steps",
        "items": "steps",
        "plan": "steps",
        "content": "text",
        "title": "text",
        "state": "status",
    }

    def prepare(self, args: PlanInput, ctx: ToolContext) -> AccessRequest:
        return self.request(args, ctx, summary=f"plan of {len(args.steps)} steps")

    async def run(self, args: PlanInput, ctx: ToolContext) -> ToolResult:
        ctx.state.plan = [{"text": mask(step.text)[0], "status": step.status} for step in args.steps]
        done = sum(step["status"] == "done" for step in ctx.state.plan)
        lines = [f"{_SIGNS[step['status']]} {step['text']}" for step in ctx.state.plan] or [
            "The plan is empty now."
        ]
        return ToolResult(
            content=text("\n".join(lines)),
            summary=f"{done} of {len(args.steps)}",
            detail={"plan": ctx.state.plan},
        )
