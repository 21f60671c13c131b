"""Contrast of every text colour on every ground it stands on; icons can all be drawn."""

from __future__ import annotations

import re
from typing import Any

import pytest

from worldline.core import paths
from worldline.ui import icons
from worldline.ui.theme import CONTRAST_DARK, CONTRAST_LIGHT, DARK, LIGHT, Tokens, contrast, theme

INKS = ("text", "muted", "accent", "ok", "bad", "warn", "info")
THEMES = {"light": LIGHT, "dark": DARK, "contrast-light": CONTRAST_LIGHT, "contrast-dark": CONTRAST_DARK}


@pytest.mark.parametrize("name", THEMES)
def test_text_can_be_read(name: str) -> None:
    tokens: Tokens = THEMES[name]
    least = 7.0 if name.startswith("contrast") else 4.5
    for ink in INKS:
        for ground in ("bg", "panel"):
            assert contrast(getattr(tokens, ink), getattr(tokens, ground)) >= least, (ink, ground)
    for ground in ("hover", "selected", "add", "remove", "add_word", "remove_word"):
        assert contrast(tokens.text, getattr(tokens, ground)) >= 4.5, ground
    for ink in ("muted", "ok", "bad", "warn", "accent"):
        for ground in ("hover", "selected"):
            assert contrast(getattr(tokens, ink), getattr(tokens, ground)) >= 4.5, (ink, ground)
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5


def test_every_icon_can_be_drawn(qapp: Any) -> None:
    names = sorted(path.stem for path in (paths.resources_dir() / "icons").glob("*.svg"))
    assert len(names) > 60
    for name in names:
        picture = icons.pixmap(name, "accent", 16, 2.0).toImage()
        assert picture.width() == 32
        assert any(picture.pixelColor(x, y).alpha() for x in range(32) for y in range(32)), name


def test_the_stylesheet_has_no_token_left(qapp: Any) -> None:
    for name in ("light", "dark", "contrast"):
        theme().set_name(name)
        assert re.findall(r"@\w+", theme().stylesheet()) == []
