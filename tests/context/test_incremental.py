"""Extending a view gives what a full build gives, byte for byte."""

from __future__ import annotations

import copy
import json
import random
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context.support import image, reply, thought, tool, use, user
from context.test_view_properties import paths
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
    took = []
    for end in range(len(path) - 39, len(path) + 1):
        before = time.thread_time()
        builder.build(path[:end], OPTIONS)
        took.append(time.thread_time() - before)
    assert builder.extended == 40
    assert sorted(took)[20] < 0.010
