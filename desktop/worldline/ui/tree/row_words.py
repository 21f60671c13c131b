"""The words of one row: text, outcome, label at the left; badges, numbers and "you are here" at the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from worldline.ui.theme import theme
from worldline.ui.tree.glyphs import glyph
from worldline.viewmodel import tree_text
from worldline.viewmodel.words import translate

if TYPE_CHECKING:
    from worldline.ui.tree.painter import Scene

LEAST_WORDS = 90.0
"""Width that the words keep: numbers beside them go first in a narrow tree."""


Looks = tuple[QFont, QFontMetricsF]
"""Made once for all rows of a picture."""


def looks_of(font: QFont) -> Looks:
    return font, QFontMetricsF(font)


def paint_words(
    canvas: QPainter,
    scene: Scene,
    row: int,
    said: tree_text.RowText,
    left: float,
    right: float,
    y: float,
    looks: Looks,
    side: Looks,
    ratio: float,
    small: bool,
) -> None:
    """`looks` of the words, `side` of what stands beside them."""
    t = theme().tokens
    font, metrics = looks
    note, side_metrics = side
    height = metrics.height()

    def put(text: str, token: str, at: float, used_font: QFont, used_metrics: QFontMetricsF) -> float:
        wide = used_metrics.horizontalAdvance(text)
        canvas.setFont(used_font)
        canvas.setPen(t.color(token))
        canvas.drawText(QRectF(at, y - height, wide + 2, height * 2), Qt.AlignmentFlag.AlignVCenter, text)
        return float(wide)

    if not small:
        if row == scene.cursor:
            right -= (
                _pill(canvas, translate("tree", "you are here"), "accent", right, y, note, side_metrics) + 8
            )
        for text, token in reversed(said.side):
            if right - left - side_metrics.horizontalAdvance(text) < LEAST_WORDS:
                break
            right -= put(text, token, right - side_metrics.horizontalAdvance(text), note, side_metrics) + 6
        for text, token in reversed(said.badges):
            right -= put(text, token, right - side_metrics.horizontalAdvance(text), note, side_metrics) + 6
    room = right - left
    mark = 18.0 if said.mark and not small else 0.0
    tag = ""
    tag_width = 0.0
    if said.label:
        tag = side_metrics.elidedText(said.label, Qt.TextElideMode.ElideRight, max(40.0, room * 0.4))
        tag_width = side_metrics.horizontalAdvance(tag) + 24
    text = metrics.elidedText(said.text, Qt.TextElideMode.ElideRight, max(0.0, room - mark - tag_width))
    token = (
        "warn"
        if row in scene.hits
        else "muted"
        if said.muted or (not scene.on_path(row) and not said.strong)
        else "text"
    )
    found = scene.snippets.get(row, "") if row in scene.hits and not small else ""
    shown = said.text.casefold()
    if found.casefold().strip("…") in shown or (scene.needle and scene.needle in shown):
        found = ""  # the title says it already
    if found:
        # Why it was found takes the place of most of the title.
        text = metrics.elidedText(said.text, Qt.TextElideMode.ElideRight, max(60.0, room * 0.4))
    at = left + put(text, token, left, font, metrics) + 6
    if found:
        rest = side_metrics.elidedText(found, Qt.TextElideMode.ElideRight, max(0.0, left + room - at))
        put(rest, "warn", at, note, side_metrics)
        return
    if mark:
        canvas.drawPixmap(QPointF(at, y - 7), glyph(said.mark, said.mark_color, 14, ratio))
        at += 18
    if tag:
        canvas.drawPixmap(QPointF(at, y - 7), glyph("flag", said.label_color or "accent", 14, ratio))
        put(tag, "text", at + 16, note, side_metrics)


def _pill(
    canvas: QPainter, text: str, token: str, right: float, y: float, font: QFont, metrics: QFontMetricsF
) -> float:
    t = theme().tokens
    wide = metrics.horizontalAdvance(text) + 14
    box = QRectF(right - wide, y - 9, wide, 18)
    canvas.setPen(Qt.PenStyle.NoPen)
    canvas.setBrush(t.color(token))
    canvas.drawRoundedRect(box, 9, 9)
    canvas.setPen(t.color("on_accent"))
    canvas.setFont(font)
    canvas.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    return float(wide)
