"""Which steps say that what they did outside was countered."""

from __future__ import annotations

from worldline.viewmodel.effects import taken_back


def effect(node: str, status: str, reversibility: str = "compensatable") -> dict[str, str]:
    return {"node": node, "status": status, "reversibility": reversibility}


def test_a_step_is_taken_back_when_each_effect_that_no_click_undoes_was_countered() -> None:
    effects = [
        effect("a", "countered"), effect("a", "open", "undoable"),
        effect("b", "countered"), effect("b", "open", "irreversible"),
        effect("c", "undone", "undoable"),
        effect("", "countered"),
    ]  # fmt: skip
    assert taken_back(effects) == {"a"}
