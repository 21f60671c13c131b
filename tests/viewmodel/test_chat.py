"""The chat as rows: what stays, what is replaced, what streams."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.protocol.events import Delta
from worldline.protocol.model import Approval, Body, RunInfo
from worldline.viewmodel.chat import MOST_BODIES, MOST_TAILS, ChatModel, left_runs
from worldline.viewmodel.chat_markdown import MarkdownStream, pieces
from worldline.viewmodel.chat_rows import OutputTail, RowKind, text_of, tool_call, tool_result, words_in
from worldline.viewmodel.tree_model import TreeModel
from worldline.viewmodel.words import spoken_tool


def header(seq: int, kind: NodeKind, **more: object) -> NodeHeader:
    return NodeHeader(
        seq=seq, uid=f"{seq:016x}", parent=seq - 1, kind=kind, created=seq, preview=f"p{seq}", **more
    )  # type: ignore[arg-type]


def path(*kinds: NodeKind, run: str = "r") -> list[NodeHeader]:
    return [header(at, kind, run=run) for at, kind in enumerate(kinds, 1)]


def test_rows_that_stay_are_the_same_objects_when_the_path_grows() -> None:
    model = ChatModel()
    model.set_path(path(NodeKind.ROOT, NodeKind.USER))
    before = list(model.rows)
    changes: list[tuple[int, int, int]] = []
    model.on_change = lambda *args: changes.append(args)
    model.set_path(path(NodeKind.ROOT, NodeKind.USER, NodeKind.ASSISTANT))
    assert model.rows[:2] == before and all(a is b for a, b in zip(model.rows, before, strict=False))
    assert changes == [(2, 0, 1)]


def test_a_batch_of_deltas_touches_a_reply_once_and_the_stored_node_takes_its_text_over() -> None:
    model = ChatModel()
    model.set_path(path(NodeKind.ROOT, NodeKind.USER))
    touched: list[str] = []
    model.on_touch = lambda row: touched.append(row.key)
    model.deltas([Delta(run="r", turn=1, block=0, kind="text", text=f"w{n} ") for n in range(500)])
    assert touched == ["live:r:1"]
    assert model.rows[-1].kind is RowKind.LIVE
    model.node_stored(header(3, NodeKind.ASSISTANT, run="r"))
    assert [row.kind for row in model.rows] == [RowKind.DIVIDER, RowKind.USER, RowKind.REPLY]
    assert text_of(model.rows[-1].body).startswith("w0 w1 ")


def test_a_discarded_reply_disappears_and_the_retry_starts_empty() -> None:
    model = ChatModel()
    model.set_path(path(NodeKind.ROOT, NodeKind.USER))
    model.deltas([Delta(run="r", turn=1, block=0, kind="text", text="half")])
    model.reply_discarded("r", 1)
    assert [row.kind for row in model.rows] == [RowKind.DIVIDER, RowKind.USER]
    model.deltas([Delta(run="r", turn=1, block=0, kind="text", text="whole")])
    assert model.rows[-1].blocks[0].text == "whole"


def test_events_of_a_run_do_not_show_in_a_preview_of_another_node() -> None:
    model = ChatModel()
    model.set_path(path(NodeKind.ROOT, NodeKind.USER), live=False)
    model.deltas([Delta(run="r", turn=1, block=0, kind="text", text="elsewhere")])
    model.approval_asked(Approval(id="a", digest="d", node="", tool="bash", title="t", why="w"))
    assert [row.kind for row in model.rows] == [RowKind.DIVIDER, RowKind.USER]


def test_every_end_but_completed_is_told_with_its_offers_after_the_last_node_of_its_run() -> None:
    model = ChatModel()
    rows = path(NodeKind.ROOT, NodeKind.USER, NodeKind.ASSISTANT)
    rows.append(header(4, NodeKind.USER, run="r2"))
    model.set_path(rows)
    model.run_changed(RunInfo(uid="r", prompt="", started=0, ended=1, stop_reason="max_turns"), ["go_on"])
    model.run_changed(RunInfo(uid="r2", prompt="", started=0, ended=1, stop_reason="completed"))
    kinds = [row.kind for row in model.rows]
    assert kinds == [RowKind.DIVIDER, RowKind.USER, RowKind.REPLY, RowKind.STOP, RowKind.USER]
    assert model.rows[3].offers == []
    model.set_path(rows[:3])
    assert model.rows[3].offers == ["go_on"]


def test_forks_and_fallbacks_get_a_divider_and_hidden_mechanics_do_not_show() -> None:
    rows = path(NodeKind.ROOT, NodeKind.USER, NodeKind.ASSISTANT, NodeKind.IMPORTED_EVENT)
    rows[2].flags = NodeFlag.FALLBACK
    rows[3].flags = NodeFlag.HIDDEN
    model = ChatModel()
    model.set_path(rows, forks={rows[1].uid: 2})
    assert [row.key for row in model.rows][2:4] == [f"fork:{rows[1].uid}", f"fallback:{rows[2].uid}"]
    assert len(model.rows) == 5


def test_the_end_of_a_tool_drops_its_old_body() -> None:
    model = ChatModel()
    rows = path(NodeKind.ROOT, NodeKind.USER, NodeKind.TOOL)
    rows[2].outcome = Outcome.RUNNING
    model.set_path(rows)
    model.set_bodies([Body(uid=rows[2].uid, kind="tool")])
    ended = header(3, NodeKind.TOOL, run="r", outcome=Outcome.OK, finished=9)
    model.node_changed(ended)
    assert model.missing(model.rows) and model.rows[-1].header is ended


def test_output_keeps_a_bounded_tail_in_order_and_counts_what_it_let_go() -> None:
    tail = OutputTail(max_lines=100)
    for number in range(200_000):
        tail.add(f"{number}\n")
    lines = tail.lines()
    assert lines == [str(number) for number in range(199_900, 200_000)]
    assert tail.total == 200_000


def test_a_carriage_return_overwrites_its_line() -> None:
    tail = OutputTail()
    for percent in range(0, 101, 10):
        tail.add(f"\r{percent} %")
    tail.add("\ndone\r\n")
    assert tail.lines() == ["100 %", "done"]


def test_one_endless_line_stays_bounded() -> None:
    tail = OutputTail(max_chars=10_000)
    for _ in range(1000):
        tail.add("x" * 1000)
    assert sum(map(len, tail.lines())) <= 10_000


@given(st.lists(st.text(alphabet="ab\n\r", max_size=20)))
def test_chunks_make_no_difference_to_output(chunks: list[str]) -> None:
    # A lone \r at a chunk's end may belong to a \r\n that is split: text is compared after the same folding.
    whole, parts = OutputTail(), OutputTail()
    whole.add("".join(chunks))
    for chunk in chunks:
        parts.add(chunk)
    assert whole.lines() == parts.lines()


def test_tools_are_read_in_words_and_results_in_what_the_person_wants_to_see() -> None:
    body = Body(
        uid="u",
        kind="tool",
        call={
            "id": "t",
            "name": "bash",
            "input": {"command": "pytest -q"},
            "repairs": ["timeout: “30” → 30"],
        },
        message={
            "role": "user",
            "content": [{"type": "tool_result", "content": '{"error": {"message": "exit 1"}}'}],
        },
        detail={"exit_code": 1, "output": {"blob": "h", "bytes": 5000, "head": "a", "tail": "z"}},
    )
    call, result = tool_call(None, body), tool_result(body)
    assert (call.verb, call.subject, call.repairs) == ("run", "pytest -q", ["timeout: “30” → 30"])
    assert result.exit_code == 1 and result.blob == "h" and result.error == {"message": "exit 1"}


def test_a_list_of_steps_says_how_far_it_is_and_a_tool_of_a_server_whose_it_is() -> None:
    """The card of a plan was its JSON under the sign of a command."""
    steps = [{"text": "Read", "status": "done"}, {"text": "Repair", "status": "active"}, {"text": "Test"}]
    call = tool_call(None, Body(uid="u", kind="tool", call={"name": "plan", "input": {"steps": steps}}))
    assert (call.verb, call.subject) == ("plan", "1 of 3 done · Repair")
    assert tool_call(None, Body(uid="u", kind="tool", call={"name": "plan", "input": {"steps": 3}})).subject
    asked = {"name": "mcp__words__count_words", "input": {"text": "one two", "top": 3}}
    call = tool_call(None, Body(uid="u", kind="tool", call=asked))
    assert (spoken_tool(call.verb), call.subject) == ("words: count words", "text: one two, top: 3")


def test_what_the_person_answered_is_the_result_of_a_question() -> None:
    told = {"role": "user", "content": [{"type": "tool_result", "content": "The person answered: TOML"}]}
    assert tool_result(Body(uid="u", kind="tool", message=told, detail={"answer": "TOML"})).text == "TOML"


def test_malformed_bodies_are_shown_as_nothing_instead_of_failing() -> None:
    for message in (None, {}, {"content": 3}, {"content": [None, 5, {"type": "text"}]}, {"content": "plain"}):
        body = Body(uid="u", kind="tool", message=message, call={"input": "no dict"}, detail={"output": 7})
        tool_call(None, body)
        tool_result(body)
    assert text_of(Body(uid="u", kind="user", message={"content": "plain"})) == "plain"


TEXT = "# T\n\nSome *words* here.\n\n- one\n\n- two\n\n```py\nx = 1\n\ny = 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n"


def test_a_stream_ends_with_the_same_pieces_as_the_whole_text_and_freezes_what_is_finished() -> None:
    stream = MarkdownStream()
    random.seed(4)
    at = 0
    while at < len(TEXT):
        at += random.randint(1, 7)
        stream.set_text(TEXT[:at])
    assert [(p.kind, p.text) for p in stream.pieces] == [(p.kind, p.text) for p in pieces(TEXT)]
    frozen = list(stream.frozen)
    assert stream.set_text(TEXT + "more") == len(frozen)
    assert all(a is b for a, b in zip(frozen, stream.frozen, strict=False))


def test_html_of_a_model_is_text() -> None:
    html = "".join(piece.text for piece in pieces("<script>x</script> <b>y</b>"))
    assert "<script" not in html and "<b>" not in html


def test_the_person_reads_the_output_of_a_failed_call_not_the_envelope() -> None:
    envelope = (
        '{\n "error": {\n  "type": "nonzero_exit",\n  "message": "The command ended with exit code 2."\n }\n}'
    )
    content = [{"type": "text", "text": f"{envelope}\nboom: no such thing"}]
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    result = tool_result(Body(uid="n", kind="tool", message={"role": "user", "content": [block]}))
    assert result.text == "boom: no such thing"
    assert result.error is not None and result.error["message"] == "The command ended with exit code 2."


def test_the_end_of_a_run_is_not_shown_where_the_path_leaves_it() -> None:
    tree = TreeModel()
    kinds = [NodeKind.ROOT, NodeKind.USER, NodeKind.ASSISTANT, NodeKind.TOOL, NodeKind.ASSISTANT]
    nodes = [header(at, kind, run="r" if at > 2 else "") for at, kind in enumerate(kinds, 1)]
    nodes.append(
        NodeHeader(seq=6, uid=f"{6:016x}", parent=3, kind=NodeKind.USER, created=6, preview="other", run="s")
    )
    tree.extend(nodes)
    assert left_runs(tree, [0, 1, 2, 3, 4]) == []
    assert left_runs(tree, [0, 1]) == [nodes[1].uid]
    assert left_runs(tree, [0, 1, 2]) == left_runs(tree, [0, 1, 2, 5]) == [nodes[2].uid]

    model = ChatModel()
    model.set_runs(
        [RunInfo(uid="r", prompt=nodes[1].uid, started=1, ended=2, stop_reason="repeated_failures")]
    )
    for rows, stops in (([0, 1, 2, 3, 4], 1), ([0, 1, 2], 0), ([0, 1, 2, 5], 0), ([0, 1], 0)):
        model.set_path([nodes[at] for at in rows], left=left_runs(tree, rows))
        assert [row.kind for row in model.rows].count(RowKind.STOP) == stops


def test_what_can_be_done_about_an_end_is_offered_at_the_cursor_also_after_a_restart() -> None:
    model = ChatModel()
    model.set_path(path(NodeKind.ROOT, NodeKind.USER))
    model.set_runs(
        [RunInfo(uid="r", prompt="", started=1, ended=2, stop_reason="interrupted", offers=["retry"])]
    )
    row = model.rows[-1]
    assert row.kind is RowKind.STOP and row.offers == ["retry"]
    revision = row.revision
    model.node_stored(header(3, NodeKind.USER, run="s"))
    assert row in model.rows and row.offers == [] and row.revision > revision
    model.set_path(path(NodeKind.ROOT, NodeKind.USER), live=False)
    assert model.rows[-1].offers == []


def test_words_are_counted_in_scripts_without_spaces_too() -> None:
    assert words_in("look at the test") == 4
    assert words_in("先看测试 then fix it") == 7
    assert words_in("") == 0


def test_a_long_session_does_not_keep_all_that_was_ever_seen() -> None:
    model = ChatModel()
    model.set_path(path(NodeKind.ROOT, NodeKind.USER, NodeKind.ASSISTANT))
    kept = [f"{seq:016x}" for seq in (2, 3)]
    model.set_bodies(Body(uid=uid, kind="user", message={}) for uid in kept)
    for first in range(0, 3 * MOST_BODIES, 100):
        model.set_bodies(Body(uid=f"other{n}", kind="user", message={}) for n in range(first, first + 100))
    assert all(model.body(uid) is not None for uid in kept), "what is shown stays"
    there = [n for n in range(3 * MOST_BODIES) if model.body(f"other{n}") is not None]
    assert len(there) <= MOST_BODIES and there[-1] == 3 * MOST_BODIES - 1, "the newest stay"


def test_what_a_command_prints_is_kept_until_its_result_is_there() -> None:
    model = ChatModel()
    kinds = [NodeKind.ROOT, NodeKind.USER, NodeKind.ASSISTANT, NodeKind.TOOL]
    model.set_path([header(at, kind, outcome=Outcome.RUNNING) for at, kind in enumerate(kinds, 1)])
    uid = f"{4:016x}"
    model.tool_output(uid, "line\n" * 50)
    row = model.row(uid)
    assert row is not None and row.output is not None
    model.set_bodies([Body(uid=uid, kind="tool")])
    assert row.output is not None, "it still runs"
    model.node_changed(header(4, NodeKind.TOOL, outcome=Outcome.OK, finished=9))
    assert row.output is not None, "nothing else is there to be shown"
    model.set_bodies([Body(uid=uid, kind="tool", message={"role": "user", "content": []})])
    assert row.output is None
    for number in range(3 * MOST_TAILS):
        model.tool_output(f"elsewhere{number}", "x")
        assert len(model._outputs) == min(number + 1, MOST_TAILS)
    assert len(model._outputs) <= MOST_TAILS
