from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context.support import body, cases, image, node, reply, text_of, thought, tool, use, user, view_of
from context.test_view_properties import paths
from worldline.context.budget import Limits
from worldline.context.checker import check
from worldline.context.compact_run import Compacted, SummaryAnswer, compact
from worldline.context.compact_text import summary_request
from worldline.context.compaction import (
    CompactionRefused,
    Guard,
    Plan,
    accept_summary,
    next_strategy,
    plan_compaction,
    plan_trim,
    verify,
)
from worldline.context.lossy import expand_draft, lossy_at
from worldline.context.model import PathNode, ViewOptions
from worldline.context.select import select
from worldline.context.texts import TRUNCATED
from worldline.core.kinds import NodeKind, Outcome
from worldline.session.model import NodeDraft

OPTIONS = ViewOptions(model="claude-sonnet-5-5")
GOOD = "## Goal\nTidy the configuration files.\n## Next\nWrite the tests for the parser."


def as_node(uid: str, draft: NodeDraft) -> PathNode:
    return PathNode(
        uid, draft.kind, draft.outcome, draft.message, detail=json.loads(json.dumps(draft.detail))
    )


def turns(count: int, size: int = 4_000) -> list[PathNode]:
    """`count` turns of about `size` / 3.5 tokens each."""
    path = [node("root", NodeKind.ROOT)]
    for i in range(count):
        path += [user(f"u{i}", f"request {i}"), reply(f"a{i}", use(f"t{i}", "edit_file", path=f"f{i}.py")),
                 tool(f"x{i}", f"t{i}", f"{i} " * (size // 3)), reply(f"b{i}", f"did {i}")]  # fmt: skip
    return path


class Model:
    """Answers summary requests from a list; the last one again and again."""

    def __init__(self, *answers: SummaryAnswer) -> None:
        self.answers = list(answers) or [SummaryAnswer(GOOD, "end_turn")]
        self.requests: list[list[dict[str, Any]]] = []

    async def __call__(self, system: str, messages: list[dict[str, Any]], max_tokens: int) -> SummaryAnswer:
        assert check({"model": "m", "max_tokens": max_tokens, "system": system, "messages": messages}) == []
        self.requests.append(messages)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def run(path: list[PathNode], limits: Limits, model: Model, **options: Any) -> Compacted:
    return asyncio.run(compact(path, OPTIONS, limits, ask=model, **options))


# -- planning


def test_everything_fits_so_nothing_is_summarised() -> None:
    assert plan_compaction(turns(3), OPTIONS, 1_000_000) is None


def test_the_kept_part_begins_with_a_prompt() -> None:
    plan = plan_compaction(turns(10), OPTIONS, 4_000)
    assert plan is not None
    assert plan.kept_from.startswith("u")
    assert 1_000 <= plan.tokens_kept <= 4_000


def test_a_huge_turn_is_split_but_never_at_a_result() -> None:
    path = [user("u", "do it all")]
    for i in range(30):
        path += [
            reply(f"a{i}", use(f"t{i}"), use(f"s{i}")),
            tool(f"x{i}", f"t{i}", "r" * 3_000),
            tool(f"y{i}", f"s{i}", "r" * 3_000),
        ]
    for keep in range(1_000, 9_000, 700):
        plan = plan_compaction(path, OPTIONS, keep)
        assert plan is not None
        assert plan.kept_from.startswith("a")


def test_one_batch_longer_than_what_may_be_kept_goes_into_the_summary() -> None:
    path = [user("u", "x"), reply("a", use("t")), tool("r", "t", "y" * 80_000)]
    plan = plan_compaction(path, OPTIONS, 1_000)
    assert plan is not None and plan.keeps == []


def test_only_a_summary_before_what_is_kept_is_no_plan() -> None:
    path = [*turns(2), node("c", NodeKind.COMPACTION, summary="S" * 400, kept_from="")]
    assert plan_compaction(path, OPTIONS, 10) is None


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paths(), st.integers(1, 400))
def test_summarised_and_kept_are_the_old_view(path: list[PathNode], keep: int) -> None:
    plan = plan_compaction(path, OPTIONS, keep)
    if plan is None:
        return
    old = [i.node.uid for i in select(path, OPTIONS).items]
    assert [*plan.covers, *plan.keeps] == old
    assert not set(plan.covers) & set(plan.keeps)
    if plan.keeps:
        assert {n.uid: n.kind for n in path}[plan.kept_from] is not NodeKind.TOOL


def test_a_plan_that_would_lose_something_is_refused() -> None:
    path = turns(4)
    plan = plan_compaction(path, OPTIONS, 1_500)
    assert plan is not None
    for bad in (Plan(plan.covers[:-1], plan.keeps, 0, 0), Plan(plan.covers, plan.keeps[1:], 0, 0)):
        with pytest.raises(CompactionRefused):
            verify(path, OPTIONS, bad)


# -- the summary


@pytest.mark.parametrize(
    ("text", "stop", "why"),
    [
        (GOOD, "end_turn", ""),
        (GOOD, "max_tokens", "did not end normally"),
        (GOOD, "", "did not end normally"),
        ("   ", "end_turn", "empty"),
        ("x" * 90_000, "end_turn", "no smaller"),
    ],
)
def test_which_summaries_are_accepted(text: str, stop: str, why: str) -> None:
    assert why in accept_summary(text, stop, 20_000) and bool(why) == bool(accept_summary(text, stop, 20_000))


def test_a_good_summary_becomes_a_node() -> None:
    path = turns(10)
    limits = Limits(12_000, 2_000)
    model = Model()
    state = {"plan": [{"text": "write tests", "status": "active"}]}
    outcome = run(path, limits, model, task_state=state, instructions="mind the parser")
    assert outcome.draft is not None and outcome.fits and not outcome.truncated
    assert outcome.tokens_after < outcome.tokens_before
    view = view_of([*path, as_node("c", outcome.draft), user("n", "go on")])
    assert check(body(view)) == []
    first = text_of(view.messages[0]["content"][0])
    for fact in (GOOD, "request 0", "changed: f0.py", "[active] write tests"):
        assert fact in first
    asked = text_of(model.requests[0][0]["content"][0])
    assert "mind the parser" in asked and "edit_file" in asked


def test_the_summary_request_has_no_images_and_short_results() -> None:
    path = [user("u", [image(50, 50), {"type": "text", "text": "see"}]), reply("a", thought("secret"), use("t")),
            tool("x", "t", "z" * 50_000)]  # fmt: skip
    messages = summary_request(path, 1_000_000)
    assert [b["type"] for b in messages[0]["content"]] == ["text"]
    text = messages[0]["content"][0]["text"]
    assert len(text) < 6_000 and "secret" not in text and "(an image)" in text
    assert len(summary_request(path, 1_000)[0]["content"][0]["text"]) < 4_000


def test_a_second_compaction_carries_the_requests_and_files_of_the_first() -> None:
    path = turns(10)
    first = run(path, Limits(12_000, 2_000), Model())
    assert first.draft is not None
    longer = [*path, as_node("c1", first.draft)]
    for i in range(10, 20):
        longer += turns(i + 1)[1 + 4 * i :]
    second = run(longer, Limits(12_000, 2_000), Model())
    assert second.draft is not None
    assert second.draft.detail["covers"][0] == "c1"
    text = second.draft.detail["summary"]
    assert "- request 0\n- request 1\n- request 2\n" in text and "- changed: f0.py" in text
    view = view_of([*longer, as_node("c2", second.draft)])
    assert check(body(view)) == []
    assert sum(r.kind == "summary_applied" for r in view.repairs) == 2


# -- cases


def case(case_id: str) -> dict[str, Any]:
    (found,) = [c for c in cases("compaction") if c["id"] == case_id]
    payload: dict[str, Any] = found["payload"]
    return payload


def test_the_summary_call_is_refused() -> None:
    payload = case("ctx-020")
    model = Model(SummaryAnswer(failure=payload["summary_call"][0]["message"]))
    path = turns(52, 16_000)
    assert view_of(path).tokens > 200_000
    outcome = run(path, Limits(payload["window"], 32_000), model, trigger="overflow")
    assert len(model.requests) <= payload["expect"]["max_summary_calls"]
    assert outcome.truncated and outcome.fits and outcome.draft is not None
    view = view_of([*path, as_node("c", outcome.draft), user("n", "go on")])
    assert view.tokens < payload["expect"]["view_tokens_below"]
    assert text_of(view.messages[0]["content"][0]).startswith(TRUNCATED)
    assert "request 0" in text_of(view.messages[0]["content"][0])


def test_system_text_and_tools_alone_are_over_the_trigger() -> None:
    payload = case("ctx-022")
    limits = Limits(payload["window"], 4_000, trigger_ratio=payload["trigger_ratio"])
    fixed, guard, notices, compactions = payload["fixed_overhead_tokens"], Guard(), [], 0
    path = [user("u", "x" * 800), reply("a", "y" * 900)]
    for turn in range(20):
        if guard.refuse(turn, path[-1].kind, "auto"):
            continue
        outcome = run(
            path,
            limits,
            Model(SummaryAnswer("z" * payload["summary_tokens"] * 3, "end_turn")),
            fixed_tokens=fixed,
        )
        if outcome.draft is not None:
            compactions += 1
            path.append(as_node(f"c{turn}", outcome.draft))
            path += [user(f"u{turn}", "more"), reply(f"a{turn}", "yes")]
        notice = guard.done(turn, "auto", outcome.tokens_after, limits, fixed)
        notices += [notice] if notice else []
    assert compactions <= payload["expect"]["max_auto_compactions"]
    assert len(notices) == 1 and "29,000" in notices[0] and "27,852" in notices[0]
    assert guard.refuse(30, NodeKind.USER, "manual") == ""
    guard.person_acted()
    assert guard.refuse(30, NodeKind.USER, "auto") == ""


def test_strategies_are_tried_once_each_in_order() -> None:
    payload = case("ctx-024")
    tokens, tried = payload["history_tokens"], []
    while tokens > payload["trigger"]:
        name = next_strategy(payload["strategies"], tried)
        if not name:
            break
        freed = payload["freed_tokens"][name]
        tokens -= freed
        tried.append((name, freed))
    assert [name for name, _ in tried] == payload["expect"]["order"]


def test_outputs_that_fill_the_window_again_and_again() -> None:
    payload = case("ctx-026")
    limits = Limits(payload["window"], 16_000, trigger_ratio=payload["trigger"] / payload["window"])
    path, guard, compactions, stopped = [user("u", "read all logs")], Guard(), 0, ""
    for turn, tokens in enumerate(payload["turn_tool_output_tokens"]):
        path += [reply(f"a{turn}", use(f"t{turn}")), tool(f"x{turn}", f"t{turn}", "word " * tokens)]
        view = view_of(path)
        assert max(view.sizes) / 3.5 <= payload["expect"]["tool_output_cap_tokens_max"]
        if view.tokens > limits.trigger:
            stopped = guard.refuse(turn, path[-1].kind, "auto")
            if stopped:
                break
            outcome = run(path, limits, Model())
            compactions += 1
            assert outcome.fits and outcome.draft is not None
            path.append(as_node(f"c{turn}", outcome.draft))
    assert compactions <= payload["expect"]["max_auto_compactions"]


def test_refills_within_a_few_turns_stop_the_run() -> None:
    guard, limits = Guard(), Limits(200_000)
    for turn in (1, 2, 3):
        assert guard.refuse(turn, NodeKind.TOOL, "auto") == ""
        assert guard.done(turn, "auto", 10_000, limits, 0) == ""
    assert "filled up again 3 times" in guard.refuse(4, NodeKind.TOOL, "auto")
    assert guard.refuse(40, NodeKind.TOOL, "auto") == ""
    assert Guard.from_json(json.loads(json.dumps(guard.to_json()))).at == guard.at
    guard.person_acted()
    assert guard.refuse(4, NodeKind.TOOL, "auto") == ""
    later = Guard(at=[50, 60, 70])
    assert later.refuse(2, NodeKind.TOOL, "auto") == ""


def test_the_newest_entry_is_a_compaction() -> None:
    payload = case("ctx-028")
    assert payload["session_tail"] == ["compaction"]
    guard = Guard()
    for trigger in ("auto", "manual", "overflow"):
        assert "just now" in guard.refuse(1, NodeKind.COMPACTION, trigger)  # type: ignore[arg-type]
    path = [*turns(3), node("c", NodeKind.COMPACTION, summary="S" * 100, kept_from="")]
    model = Model()
    outcome = run(path, Limits(200_000), model)
    assert outcome.nothing_to_do and outcome.draft is None and model.requests == []


async def test_interrupting_the_summary_changes_nothing() -> None:
    payload = case("res-004")
    path = turns(payload["history_messages"] // 4)
    waiting = asyncio.Event()

    async def ask(system: str, messages: list[dict[str, Any]], max_tokens: int) -> SummaryAnswer:
        waiting.set()
        await asyncio.Event().wait()
        return SummaryAnswer(GOOD, "end_turn")

    before = view_of(path).messages
    task = asyncio.create_task(compact(path, OPTIONS, Limits(20_000, 1_000), ask=ask))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert view_of(path).messages == before


def test_two_overflow_answers_at_most() -> None:
    guard, limits = Guard(), Limits(200_000)
    for turn in (10, 30):
        assert guard.refuse(turn, NodeKind.USER, "overflow") == ""
        guard.done(turn, "overflow", 100, limits, 0)
    assert guard.refuse(50, NodeKind.USER, "overflow")
    guard.answered()
    assert guard.refuse(50, NodeKind.USER, "overflow") == ""


@pytest.mark.parametrize(
    "answer",
    [
        SummaryAnswer(GOOD, "max_tokens"),
        SummaryAnswer("", "end_turn"),
        SummaryAnswer(failure="it was refused"),
    ],
)
def test_at_most_two_summaries_are_asked_for(answer: SummaryAnswer) -> None:
    model = Model(answer)
    outcome = run(turns(20), Limits(12_000, 2_000), model)
    assert len(model.requests) == 2 and outcome.truncated and outcome.fits
    assert len(outcome.notes) == 3
    recovered = run(turns(20), Limits(12_000, 2_000), Model(answer, SummaryAnswer(GOOD, "end_turn")))
    assert not recovered.truncated


def test_a_newest_batch_that_fits_nowhere_is_let_go_and_marked() -> None:
    path = [*turns(6), user("u", "x"), reply("a", *(use(f"q{i}") for i in range(4)))]
    path += [tool(f"y{i}", f"q{i}", "w" * 60_000) for i in range(4)]
    outcome = run(path, Limits(20_000, 2_000), Model())
    assert outcome.fits and outcome.draft is not None
    view = view_of([*path, as_node("c", outcome.draft)])
    assert check(body(view)) == []
    assert view.tokens <= Limits(20_000, 2_000).trigger


def test_compaction_nodes_hold_no_copies() -> None:
    (payload,) = [c["payload"] for c in cases("store_growth")]
    path: list[PathNode] = [node("root", NodeKind.ROOT)]
    stored = messages = 0
    made = 0
    for i in range(payload["messages"]):
        text = f"message {i} " + "m" * payload["message_bytes"]
        path.append(user(f"u{i}", text) if i % 2 == 0 else reply(f"a{i}", text))
        messages += len(text)
        if i % 3 == 2 and made < payload["compactions"]:
            outcome = run(path, Limits(20_000, 2_000), Model(), trigger="manual", keep_tokens=2_000)
            if outcome.draft is not None:
                made += 1
                stored += len(json.dumps(outcome.draft.detail))
                path.append(as_node(f"c{i}", outcome.draft))
    assert made > 20
    assert (messages + stored) / messages <= payload["expect"]["file_bytes_max_factor_of_messages"]
    view = view_of(path)
    used = {uid for origin in view.origin for uid, _ in origin if uid.startswith("c")}
    assert len(used) == 1


# -- cheap reduction, lossy forks


def test_old_outputs_can_be_left_out_by_an_edit() -> None:
    path = turns(8, 20_000)
    uids, freed = plan_trim(path, OPTIONS, 8_000)
    assert uids and "x7" not in uids
    edit = node("e", NodeKind.CONTEXT_EDIT, targets=uids, replacement="[Output left out to save room.]")
    view = view_of([*path, edit])
    assert check(body(view)) == []
    assert view_of(path).tokens - view.tokens >= freed * 0.8


def test_a_fork_says_what_its_model_does_not_remember() -> None:
    path = turns(10)
    outcome = run(path, Limits(12_000, 2_000), Model())
    assert outcome.draft is not None
    longer = [*path, as_node("c", outcome.draft)]
    assert lossy_at(path, OPTIONS, Limits(12_000)).note == ""
    tight = lossy_at(longer, OPTIONS, Limits(9_000, 2_000))
    assert tight.steps == len([n for n in path if n.kind is not NodeKind.ROOT]) - len(
        [i for i in select(longer, OPTIONS).items if i.node.uid != "c"]
    )
    assert f"first {tight.steps} messages only as a summary" in tight.note and not tight.can_expand
    roomy = lossy_at(longer, OPTIONS, Limits(200_000))
    assert roomy.can_expand
    expanded = [*longer, as_node("e", expand_draft("c", roomy))]
    assert view_of(expanded).messages == view_of(path).messages
    assert Outcome.OK is expand_draft("c", roomy).outcome


def test_one_message_is_not_spoken_of_as_of_many() -> None:
    path = turns(1)
    summary = node("c", NodeKind.COMPACTION, summary="s", kept_from="", covers=[path[0].uid, path[1].uid])
    lossy = lossy_at([*path[:2], summary], OPTIONS, Limits(200_000))
    assert lossy.steps == 1 and lossy.can_expand
    assert lossy.note == (
        "From here the model knows the first message only as a summary. It can be sent word for word again."
    )
    assert expand_draft("c", lossy).preview == "1 earlier step is sent word for word again"
