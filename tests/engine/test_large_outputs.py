"""Nothing of what a command put out is lost, however much: it is in the session, masked, and can be read in parts."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from engine.conftest import Bench, Open
from engine.support import call, reply
from worldline.agent.outputs import PART
from worldline.protocol.commands import Blob, BlobRef
from worldline.protocol.model import Body
from worldline.session.verify import verify
from worldline.tools import output
from worldline.viewmodel.chat_rows import tool_result

TOKEN = "ghp_" + "a1B2" * 9


async def read(b: Bench, name: str, step: int) -> bytes:
    found, total = b"", 1
    while len(found) < total:
        answer = await b.actor.handle("blob", BlobRef(hash=name, offset=len(found), limit=step))
        assert isinstance(answer, Blob)
        total = answer.total
        found += base64.b64decode(answer.data)
    return found


@pytest.mark.slow
async def test_more_than_is_held_in_memory(bench: Open) -> None:
    b = await bench()
    command = f"seq 500000; printf 'my token is {TOKEN[:9]}'; sleep 0.1; printf '{TOKEN[9:]}\\n'; seq 500000"
    b.script(reply("", call("bash", command=command)), "Done.")
    assert await b.ask("go") == "completed"
    (node,) = b.nodes("tool")
    detail: dict[str, Any] = b.doc.body(node.uid).end_detail
    kept = detail["output"]
    numbers = b"".join(b"%d\n" % n for n in range(1, 500_001))
    wanted = numbers + b"my token is [masked: GitHub token]\n" + numbers
    assert kept["bytes"] == len(wanted) > 2 * PART - 4_000_000
    assert [part["bytes"] for part in kept["parts"][:-1]] == [PART] * (len(kept["parts"]) - 1)
    shown = tool_result(Body(uid=node.uid, kind="tool", detail=detail))
    assert shown.blob.count("+") == len(kept["parts"]) - 1
    for step in (1_000_000, 3_999_999):
        assert await read(b, shown.blob, step) == wanted
    assert "the whole output is kept in the session" in str(b.sent(1)["messages"][-1])
    assert TOKEN not in str(b.sent(1)["messages"])
    path = b.doc.path
    await b.actor.close()
    assert verify(path).sound


@pytest.mark.slow
async def test_what_is_not_kept_is_said(bench: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (
        "worldline.tools.output",
        "worldline.tools.bash",
        "worldline.tools.process",
        "worldline.agent.confined",
    ):
        monkeypatch.setattr(f"{place}.KEEP_LIMIT", 5_000_000)
    assert output.KEEP_LIMIT == 5_000_000
    b = await bench()
    b.script(reply("", call("bash", command="head -c 12000000 /dev/zero | tr '\\0' x; echo end")), "Done.")
    assert await b.ask("go") == "completed"
    (node,) = b.nodes("tool")
    kept = b.doc.body(node.uid).end_detail["output"]
    assert 7_000_000 < kept["bytes"] < 7_000_200 and kept["tail"].endswith("end\n")
    whole = b"".join(b.doc.blob(part["blob"]) for part in kept["parts"])
    at = whole.index(b"left out")
    assert b"[... 5000004 bytes left out here ...]" in whole, whole[at - 30 : at + 20]
    assert "of which only the first 5,000,000 and the end are kept" in str(b.sent(1)["messages"][-1])
