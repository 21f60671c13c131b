"""Extending a view gives what a full build gives, byte for byte."""

from __future__ import annotations

import copy
import json
import random
import time
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context.support import image, reply, thought, tool, use, user
from context.test_view_properties import paths
from tests_support import calls_of, measured
from worldline.context.incremental import ViewBuilder
from worldline.context.limits import waiting_failures
from worldline.context.model import PathNode, View, ViewOptions
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome

OPTIONS = ViewOptions(model="claude-sonnet-5-5", keep_failed_results=2)


def told(view: View) -> tuple[object, ...]:
    repairs = sorted((r.kind, r.node, r.detail, json.dumps(r.data, sort_keys=True)) for r in view.repairs)
    return (
        json.dumps(view.messages), view.origin, view.sizes, view.bytes, view.tokens, view.images, view.tail,
        view.thinking_intact, repairs,
    )  # fmt: skip


def grow(path: list[PathNode], options: ViewOptions, step: int = 1) -> int:
    """Build at every length; compare with a full build over nodes of its own. How often a view was extended."""
    fresh = copy.deepcopy(path)
    builder = ViewBuilder()
    for end in range(1, len(path) + 1, step):
        assert told(builder.build(path[:end], options)) == told(build_view(fresh[:end], options)), end
    return builder.extended


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paths(), st.booleans())
def test_wild_paths(path: list[PathNode], reminded: bool) -> None:
    grow(path, replace(OPTIONS, reminders=["remember"] if reminded else []))


def session(seed: int, turns: int) -> list[PathNode]:
    """What an engine leaves: prompts, thinking, calls in batches, failures, now and then an edit or a compaction."""
    rng = random.Random(seed)
    path: list[PathNode] = [PathNode("root", NodeKind.ROOT, Outcome.NONE, None)]
    for n in range(turns):
        path.append(
            user(f"u{n}", rng.choice(["do it", "and this", [{"type": "text", "text": "see"}, image(10, 10)]]))
        )
        for step in range(rng.randrange(1, 4)):
            ids = [f"t{n}_{step}_{k}" for k in range(rng.randrange(0, 3))]
            if rng.random() < 0.05:
                ids = ["t0_0_0" for _ in ids]
            blocks = [thought(f"{n}")] if rng.random() < 0.5 else []
            detail = {"view_tail": ["go on"]} if rng.random() < 0.1 else {}
            path.append(reply(f"a{n}_{step}", *blocks, f"step {n} ", *[use(i) for i in ids], **detail))
            for k, use_id in enumerate(ids):
                bad = rng.random() < 0.4
                if rng.random() < 0.9:
                    path.append(tool(f"x{n}_{step}_{k}", use_id, "r " * rng.choice([3, 500]), error=bad))
        chance = rng.random()
        if chance < 0.05:
            detail = {"target": rng.choice(path).uid, "replacement": None, "scope": "node"}
            path.append(PathNode(f"e{n}", NodeKind.CONTEXT_EDIT, Outcome.NONE, None, detail=detail))
        elif chance < 0.08:
            detail = {"summary": "what was", "kept_from": rng.choice(path).uid}
            path.append(PathNode(f"c{n}", NodeKind.COMPACTION, Outcome.OK, None, detail=detail))
    return path


@pytest.mark.parametrize("seed", range(12))
def test_sessions(seed: int) -> None:
    path = session(seed, 14)
    assert grow(path, OPTIONS) > len(path) // 4


@pytest.mark.parametrize("seed", range(4))
def test_sessions_with_a_poisoned_block_and_refused_thinking(seed: int) -> None:
    path = session(seed, 12)
    rng = random.Random(seed)
    replies = [n.uid for n in path if n.kind is NodeKind.ASSISTANT]
    bad = rng.choice(replies)
    options = replace(
        OPTIONS, poisoned={(bad, 0): "bad"}, poisoned_at={(bad, 0): rng.choice(path).uid},
        thinking_after=rng.choice(replies), max_images=4,
    )  # fmt: skip
    grow(path, options)


def wander(
    pool: list[PathNode], moves: list[tuple[int, int, int]], variants: list[ViewOptions], builder: ViewBuilder
) -> None:
    """Jump about in a tree: each move goes back to a place on some earlier path and on from there with new nodes. Every
    view is compared with a full build over nodes of its own."""
    fresh = copy.deepcopy(pool)
    known: list[list[int]] = [[]]
    used = 0
    for number, (which, cut, more) in enumerate(moves):
        base = known[which % len(known)]
        path = [*base[: cut % (len(base) + 1)], *range(used, min(used + more, len(pool)))]
        used = min(used + more, len(pool))
        known.append(path)
        options = variants[number % len(variants)]
        jumped = builder.build([pool[at] for at in path], options)
        assert told(jumped) == told(build_view([fresh[at] for at in path], options)), (number, path)


MOVES = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 1000), st.integers(0, 9)), min_size=3, max_size=14
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paths(), MOVES, st.booleans())
def test_wild_jumps(pool: list[PathNode], moves: list[tuple[int, int, int]], reminded: bool) -> None:
    variants = [OPTIONS, replace(OPTIONS, reminders=["remember"])] if reminded else [OPTIONS]
    wander(pool, moves, variants, ViewBuilder())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10_000), MOVES, st.data())
def test_jumps_in_sessions(seed: int, moves: list[tuple[int, int, int]], data: st.DataObject) -> None:
    pool = session(seed, 20)
    some = st.sampled_from([node.uid for node in pool])
    calls = st.sampled_from([("a1_0", "t1_0_0"), ("a2_0", "t2_0_1"), ("a5_1", "t5_1_0")])
    variants = [
        replace(
            OPTIONS, forked_calls=data.draw(st.frozensets(calls)), thinking_after=data.draw(st.just("") | some),
            max_images=data.draw(st.sampled_from([3, 100])),
        )
        for _ in range(2)
    ]  # fmt: skip
    wander(pool, [(0, 0, 12), *moves], variants, ViewBuilder())


def plain(turns: int) -> list[PathNode]:
    path: list[PathNode] = []
    for n in range(turns):
        path += [user(f"u{n}", "do it"), reply(f"a{n}", thought("why"), use(f"t{n}")), tool(f"x{n}", f"t{n}", "done"),
                 reply(f"b{n}", thought("so"), "said")]  # fmt: skip
    return path


def jumped(
    path: list[PathNode], fork: list[PathNode], options: ViewOptions, then: ViewOptions | None = None
) -> bool:
    """Whether the view of the fork was made from that of the path; it must be that of a full build."""
    builder = ViewBuilder()
    builder.build(path, options)
    then = then or options
    assert told(builder.build(fork, then)) == told(build_view(copy.deepcopy(fork), then))
    return builder.extended == 1


def test_a_jump_to_a_guessed_continuation_is_built_anew() -> None:
    path = plain(6)
    guessed = reply("g", "maybe from here", guessed_parent=True)
    assert not jumped(path, [*path[:14], guessed, user("ga", "yes")], OPTIONS)
    assert jumped(path, [*path[:14], reply("g", "from here"), user("ga", "yes")], OPTIONS)


def test_a_jump_back_before_a_compaction_is_built_anew() -> None:
    path = plain(6)
    detail = {"summary": "what was", "kept_from": "u4"}
    compacted = [*path, PathNode("c", NodeKind.COMPACTION, Outcome.OK, None, detail=detail), user("n", "on")]
    assert not jumped(compacted, [*path[:18], user("o", "other")], OPTIONS)
    builder = ViewBuilder()
    builder.build(path, OPTIONS)
    builder.build(compacted, OPTIONS)
    back = [*path[:18], user("o", "other")]
    assert told(builder.build(back, OPTIONS)) == told(build_view(copy.deepcopy(back), OPTIONS))
    assert builder.extended == 1, "the view of before it is still known"


def test_thinking_refused_on_another_branch_is_sent_again_after_a_jump() -> None:
    path = plain(6)
    fork = [*path[:14], user("o", "other")]
    assert not jumped(path, fork, replace(OPTIONS, thinking_after="a5"))
    assert jumped(path, fork, replace(OPTIONS, thinking_after="a1"))
    assert not jumped(path, [*path, user("o", "other")], replace(OPTIONS, thinking_after="o"))


def test_calls_that_ran_elsewhere_are_told_anew() -> None:
    path = plain(6)
    fork = [*path[:14], user("o", "other")]
    open_call = [*path[:2], *path[3:]]
    there = replace(OPTIONS, forked_calls=frozenset({("a0", "t0")}))
    assert not jumped(open_call, [*open_call[:13], user("o", "other")], OPTIONS, there)
    assert jumped(path, fork, OPTIONS, replace(OPTIONS, forked_calls=frozenset({("a3", "t3")})))
    assert jumped(path, fork, OPTIONS, replace(OPTIONS, reminders=["remember"]))


@pytest.mark.parametrize("seed", range(4))
def test_jumps_are_made_from_what_is_known(seed: int) -> None:
    path = [
        node for node in session(seed, 20) if node.kind not in (NodeKind.CONTEXT_EDIT, NodeKind.COMPACTION)
    ]
    options = replace(OPTIONS, keep_failed_results=50)
    builder = ViewBuilder()
    builder.build(path, options)
    ends = [at for at, node in enumerate(path) if node.kind is NodeKind.USER and at > 12]
    for end in ends:
        fork = [*path[:end], user(f"f{end}", "another way"), reply(f"fa{end}", "so")]
        assert told(builder.build(fork, options)) == told(build_view(copy.deepcopy(fork), options))
        assert told(builder.build(path, options)) == told(build_view(copy.deepcopy(path), options))
    assert builder.extended > len(ends)


def test_waiting_failures_counts_as_the_limit_does() -> None:
    for keep in (0, 1, 2, 4):
        waiting = 0
        for count in range(1, 40):
            waiting += 1
            if waiting > 2 * max(1, keep):
                waiting = keep
            assert waiting_failures(count, keep) == waiting


def test_another_path_or_other_options_are_built_anew() -> None:
    path = session(3, 10)
    builder = ViewBuilder()
    builder.build(path, OPTIONS)
    fork = [*path[:9], user("other", "another way")]
    assert told(builder.build(fork, OPTIONS)) == told(build_view(fork, OPTIONS))
    other = replace(OPTIONS, drop_thinking=True)
    assert told(builder.build(fork, other)) == told(build_view(fork, other))


def test_a_long_session_is_extended_in_no_time() -> None:
    path: list[PathNode] = []
    for n in range(1_250):
        path += [user(f"u{n}", f"request {n} " * 20), reply(f"a{n}", "look " * 40, use(f"t{n}")),
                 tool(f"x{n}", f"t{n}", "line of a file\n" * 150), reply(f"b{n}", "done " * 30)]  # fmt: skip
    builder = ViewBuilder()
    builder.build(path[:-40], OPTIONS)
    took, calls = [], []
    for end in range(len(path) - 39, len(path) + 1):
        known, before = path[:end], time.thread_time()
        if end % 2:
            calls.append(calls_of(partial(builder.build, known, OPTIONS)))
        else:
            builder.build(known, OPTIONS)
            took.append(time.thread_time() - before)
    assert builder.extended == 40
    assert max(calls) < len(path), "the path is not walked again"
    measured("seconds of a view that one node was added to", sorted(took)[10], 0.010)
