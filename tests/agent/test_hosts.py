"""What a confined command may reach: one question for each host, however many connections wait for the answer."""

from __future__ import annotations

import asyncio

from worldline.agent.hosts import hold_for_answer


async def test_connections_that_come_together_are_asked_about_once() -> None:
    asked: list[str] = []

    async def ask(host: str, port: int, method: str, command: str) -> str:
        asked.append(host)
        await asyncio.sleep(0.2)
        return "" if host == "good.example" else "no"

    policy = hold_for_answer(asyncio.get_running_loop(), ask, "npm install", [])
    hosts = ["good.example"] * 6 + ["bad.example"] * 6
    answers = await asyncio.gather(*(asyncio.to_thread(policy, host, 443, "CONNECT") for host in hosts))
    assert answers == [""] * 6 + ["no"] * 6
    assert sorted(asked) == ["bad.example", "good.example"]
