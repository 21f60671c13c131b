"""Painting the tree: segments first, then nodes, then words; three levels of detail.

Only what is visible is looked at: a handful of segments and at most a screenful of items, or one scaled blit.
"""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen

from worldline.ui.theme import theme
from worldline.ui.tree.geometry import Geometry
from worldline.ui.tree.glyphs import glyph
from worldline.ui.tree.row_words import looks_of, paint_words
from worldline.viewmodel import tree_text
from worldline.viewmodel.tree_items import TreeItems
from worldline.viewmodel.tree_layout import TreeLayout
from worldline.viewmodel.tree_model import LIVE, TreeModel
from worldline.viewmodel.tree_overview import Overview

MANY = 16_000
"""From so many visible items on the overview picture is blitted instead of drawing lines."""
GLYPH = 16
ROOM = 10
"""Pixels to the right of words."""


class Scene:
    """What is to be painted: the model and how it is looked at. Made by the view, changed in place."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.layout = TreeLayout(model)
        self.items = TreeItems(model)
        self.overview = Overview(self.layout, self.items)
        self.geometry = Geometry()
        self.cursor = -1
        self.current = -1
        """Row with the keyboard focus."""
        self.hover = -1
        self.chosen: list[int] = []
        self.hits: set[int] = set()
        """Rows found by the search."""
        self.needle = ""
        """What is searched for, in small letters."""
        self.snippets: dict[int, str] = {}
        """Row → the words around what was found, when the row itself does not show them."""
        self.pulse = 0.0
        """0..1, how far the live node has breathed out."""
        self.focused = False
        self.blocked: tuple[float, float, float] | None = None
        """Left edge, top and bottom of what lies over the right side of the tree: words end before it."""
        self._path: dict[int, int] = {}

    def focus_row(self) -> int:
        """The row that the keys work on."""
        return self.current if self.current >= 0 else self.cursor

    def set_cursor(self, row: int) -> None:
        self.cursor = row
        self._path.clear()
        while row >= 0:
            segment = self.layout.segment[row]
            self._path[segment] = row
            row = self.layout.seg_parent[segment]

    def on_path(self, row: int) -> bool:
        return self._path.get(self.layout.segment[row], -1) >= row

    def path_end(self, segment: int) -> int:
        """Last row of the segment that is on the path to the cursor, -1 when none is."""
        return self._path.get(segment, -1)

    def words_end(self, y: float, width: float) -> float:
        """Where the words of the row in the middle of which `y` is must end."""
        half = self.geometry.step / 2
        if self.blocked is not None and self.blocked[1] < y + half and y - half < self.blocked[2]:
            return min(width, self.blocked[0]) - ROOM
        return width - ROOM

    def visible_items(self, extent: float) -> tuple[int, int]:
        first = max(0, int(self.geometry.item_at(-self.geometry.step)))
        last = min(len(self.items) - 1, int(self.geometry.item_at(extent + self.geometry.step)))
        return first, last


def paint(painter: QPainter, scene: Scene, width: float, height: float, ratio: float) -> None:
    if not len(scene.items):
        return
    geometry = scene.geometry
    first, last = scene.visible_items(width if geometry.sideways else height)
    if last < first:
        return
    if last - first > MANY:
        _paint_overview(painter, scene)
    else:
        row_first, row_last = scene.items.row(first), scene.items.last_row(last)
        segments = scene.layout.segments_between(row_first, row_last)
        if geometry.level < 3 and not geometry.sideways:
            _paint_grounds(painter, scene, first, last, width)
        _paint_lines(painter, scene, segments, first, last)
        if geometry.level == 3:
            _paint_dots(painter, scene, row_first, row_last)
        elif geometry.sideways:
            _paint_cells(painter, scene, first, last, height, ratio)
        else:
            _paint_rows(painter, scene, segments, first, last, width, ratio)
    _paint_cursor_far(painter, scene, ratio)


def _paint_overview(painter: QPainter, scene: Scene) -> None:
    from PySide6.QtGui import QImage  # its enums are not needed before the first paint

    geometry = scene.geometry
    level = max(0, int(1 / geometry.scale).bit_length() - 1)
    picture = scene.overview.picture(level)
    image = QImage(picture.cells, picture.width, picture.height, picture.width, QImage.Format.Format_Indexed8)
    t = theme().tokens
    ink = t.color("muted")
    image.setColorTable([0, ink.rgba()])
    along = picture.height * (1 << level) * geometry.step
    across = picture.width * geometry.lane_step
    left, top = geometry.point(-0.5, -0.5)
    if geometry.sideways:
        painter.save()
        painter.translate(left, top)
        painter.rotate(90)
        painter.scale(1, -1)
        painter.drawImage(QRectF(0, 0, across, along), image)
        painter.restore()
    else:
        painter.drawImage(QRectF(left, top, across, along), image)
    _paint_bad(painter, scene, 0, len(scene.model) - 1)
    _paint_path(painter, scene)


def _paint_path(painter: QPainter, scene: Scene) -> None:
    lines = []
    for segment, end in list(scene._path.items())[:2000]:
        a = scene.geometry.point(
            scene.items.item(scene.layout.seg_top[segment]), scene.layout.seg_lane[segment]
        )
        b = scene.geometry.point(scene.items.item(end), scene.layout.seg_lane[segment])
        lines.append(QLineF(QPointF(*a), QPointF(*b)))
    painter.setPen(QPen(theme().tokens.color("accent"), 2))
    painter.drawLines(lines)


def _paint_bad(painter: QPainter, scene: Scene, first: int, last: int) -> None:
    rows = scene.layout.bad_between(first, last)
    every = max(1, len(rows) // 1500)  # more dots than pixels say nothing more
    geometry, item, lane = scene.geometry, scene.items.item, scene.layout.lane
    points = [QPointF(*geometry.point(item(row), lane[row])) for row in rows[::every]]
    pen = QPen(theme().tokens.color("bad"), 4)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    painter.drawPoints(points)


def _paint_lines(painter: QPainter, scene: Scene, segments: list[int], first: int, last: int) -> None:
    layout, items, geometry = scene.layout, scene.items, scene.geometry
    t = theme().tokens
    plain = t.color("edge")
    strong = t.color("accent")
    thin, thick = (1.5, 2.0) if geometry.level < 3 else (1.0, 2.0)
    lines: list[QLineF] = []
    path_lines: list[QLineF] = []
    hooks: list[tuple[QPainterPath, bool, bool]] = []
    low, high = first - 1.0, last + 1.0
    for segment in segments:
        lane = layout.seg_lane[segment]
        top, start = layout.seg_top[segment], layout.seg_first[segment]
        end = layout.seg_last[segment]
        begin_item, end_item = float(items.item(start)), float(items.item(end))
        path_end = scene.path_end(segment)
        parent = layout.seg_parent[segment]
        if parent >= 0:
            stub = layout.is_stub(segment)
            parent_item = begin_item - 0.8 if stub else float(max(items.item(top), 0))
            parent_lane = lane if stub else layout.lane[parent]
            bend = min(parent_item + 1.0, begin_item)
            if not stub and low <= parent_item + 1 and parent_item <= high + 1:
                hooks.append((_hook(geometry, parent_item, parent_lane, bend, lane), path_end >= 0, False))
            elif stub and low <= begin_item <= high:
                hooks.append((_hook(geometry, parent_item, lane, begin_item, lane), path_end >= 0, True))
            begin_item = begin_item if stub else bend
        a, b = max(begin_item, low), min(end_item, high)
        if b > a:
            lines.append(QLineF(QPointF(*geometry.point(a, lane)), QPointF(*geometry.point(b, lane))))
        if path_end >= 0:
            c = min(float(items.item(path_end)), high)
            if c > a:
                path_lines.append(
                    QLineF(QPointF(*geometry.point(a, lane)), QPointF(*geometry.point(c, lane)))
                )
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, geometry.level < 3)
    painter.setPen(QPen(plain, thin))
    painter.drawLines(lines)
    for hook, on_path, stub in hooks:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(
            QPen(
                strong if on_path else plain,
                thick if on_path else thin,
                Qt.PenStyle.DotLine if stub else Qt.PenStyle.SolidLine,
            )
        )
        painter.drawPath(hook)
    painter.setPen(QPen(strong, thick))
    painter.drawLines(path_lines)


def _hook(geometry: Geometry, item: float, lane: float, to_item: float, to_lane: float) -> QPainterPath:
    a, b = QPointF(*geometry.point(item, lane)), QPointF(*geometry.point(to_item, to_lane))
    path = QPainterPath(a)
    if geometry.level == 3 or lane == to_lane:
        path.lineTo(b)
    elif geometry.sideways:
        path.cubicTo(QPointF((a.x() + b.x()) / 2, a.y()), QPointF((a.x() + b.x()) / 2, b.y()), b)
    else:
        path.cubicTo(QPointF(a.x(), (a.y() + b.y()) / 2), QPointF(b.x(), (a.y() + b.y()) / 2), b)
    return path


def _paint_dots(painter: QPainter, scene: Scene, first: int, last: int) -> None:
    geometry, items, layout, model = scene.geometry, scene.items, scene.layout, scene.model
    if geometry.scale >= 3:
        size = max(2.0, geometry.scale * 0.55)
        points = []
        item = items.item(first)
        while item < len(items) and items.row(item) <= last:
            row = items.row(item)
            points.append(QPointF(*geometry.point(item, layout.lane[row])))
            item += 1
        pen = QPen(theme().tokens.color("muted"), size)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawPoints(points)
    _paint_bad(painter, scene, first, last)
    for row in scene.hits if len(scene.hits) < 500 else ():
        if first <= row <= last:
            painter.setPen(QPen(theme().tokens.color("warn"), 6))
            painter.drawPoint(QPointF(*geometry.point(items.item(row), layout.lane[row])))
    for row in model.live:
        painter.setPen(QPen(theme().tokens.color("accent"), 6))
        painter.drawPoint(QPointF(*geometry.point(items.item(row), layout.lane[row])))


def _paint_cursor_far(painter: QPainter, scene: Scene, ratio: float) -> None:
    """The cursor keeps its size when everything else has become a dot."""
    if scene.geometry.level < 3 or scene.cursor < 0:
        return
    x, y = scene.geometry.point(scene.items.item(scene.cursor), scene.layout.lane[scene.cursor])
    painter.drawPixmap(QPointF(x - 8, y - 8), glyph("cursor", "accent", GLYPH, ratio))


def _halo(painter: QPainter, x: float, y: float, token: str, alpha: int, radius: float) -> None:
    color = theme().tokens.color(token)
    color.setAlpha(alpha)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawEllipse(QPointF(x, y), radius, radius)


def text_of(scene: Scene, item: int) -> tree_text.RowText:
    row = scene.items.row(item)
    if scene.items.is_folded(item):
        return tree_text.fold_text(scene.model, range(row, scene.items.last_row(item) + 1))
    return tree_text.row_text(scene.model, row)


def _node(
    painter: QPainter,
    scene: Scene,
    row: int,
    said: tree_text.RowText,
    x: float,
    y: float,
    size: int,
    ratio: float,
) -> None:
    if row == scene.cursor:
        _halo(painter, x, y, "accent", 46, size * 0.78)
        painter.drawPixmap(QPointF(x - size / 2, y - size / 2), glyph("cursor", "accent", size, ratio))
        return
    if scene.model.outcome[row] in LIVE:
        _halo(painter, x, y, "accent", 30 + int(40 * scene.pulse), size * (0.6 + 0.25 * scene.pulse))
    color = said.color
    if color == "muted" and scene.on_path(row):
        color = "text"
    painter.drawPixmap(QPointF(x - size / 2, y - size / 2), glyph(said.glyph, color, size, ratio))


def _lanes_at(scene: Scene, segments: list[int], first: int, last: int) -> list[int]:
    """The rightmost lane in use beside each visible item: words begin after it."""
    right = [0] * (last - first + 1)
    layout, item = scene.layout, scene.items.item
    for segment in segments:
        lane = layout.seg_lane[segment]
        top = (
            item(layout.seg_first[segment]) if layout.is_stub(segment) else item(layout.seg_top[segment]) + 1
        )
        start, end = max(top, first), min(item(layout.seg_last[segment]), last)
        for at in range(start, end + 1):
            if right[at - first] < lane:
                right[at - first] = lane
    return right


def words_left(scene: Scene, item: int) -> float:
    """Where the words of a row begin."""
    row = scene.items.row(item)
    segments = scene.layout.segments_between(row, scene.items.last_row(item))
    return scene.geometry.across(_lanes_at(scene, segments, item, item)[0]) + GLYPH / 2 + 8


def _paint_grounds(painter: QPainter, scene: Scene, first: int, last: int, width: float) -> None:
    geometry, items, t = scene.geometry, scene.items, theme().tokens
    chosen = set(scene.chosen)
    ring = (scene.current if scene.current >= 0 else scene.cursor) if scene.focused else -1
    for row in {*chosen, scene.current, scene.hover, ring}:
        item = items.item(row) if row >= 0 else -1
        if not first <= item <= last:
            continue
        y = geometry.along(item)
        ground = QRectF(3, y - geometry.step / 2 + 1, width - 6, geometry.step - 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(t.color("selected" if row in chosen or row == scene.current else "hover"))
        painter.drawRoundedRect(ground, 5, 5)
        if row == ring:
            painter.setPen(QPen(t.color("accent"), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(ground.adjusted(0.75, 0.75, -0.75, -0.75), 5, 5)


def _paint_rows(
    painter: QPainter, scene: Scene, segments: list[int], first: int, last: int, width: float, ratio: float
) -> None:
    geometry, items, layout = scene.geometry, scene.items, scene.layout
    looks = theme()
    small = geometry.level == 2
    size = GLYPH if not small else max(8, int(geometry.scale * 0.8))
    delta = 0 if not small else max(-4, min(-1, int(geometry.scale) - 21))
    plain, bold = looks_of(looks.font_ui(delta)), looks_of(looks.font_ui(delta, bold=True))
    side = looks_of(looks.font_ui(min(delta, -2)))
    lanes = _lanes_at(scene, segments, first, last)
    for item in range(first, last + 1):
        row = items.row(item)
        x, y = geometry.point(item, layout.lane[row])
        said = text_of(scene, item)
        _node(painter, scene, row, said, x, y, size, ratio)
        left = geometry.across(lanes[item - first]) + size / 2 + 8
        end = scene.words_end(y, width)
        paint_words(
            painter, scene, row, said, left, end, y, bold if said.strong else plain, side, ratio, small
        )


def _paint_cells(painter: QPainter, scene: Scene, first: int, last: int, height: float, ratio: float) -> None:
    """Left to right: the words stand under the glyph."""
    geometry, items, layout = scene.geometry, scene.items, scene.layout
    t, looks = theme().tokens, theme()
    size = GLYPH if geometry.level == 1 else max(8, int(geometry.scale * 0.8))
    font, bold = looks.font_ui(-1), looks.font_ui(-1, bold=True)
    chosen = {items.row(items.item(row)) for row in scene.chosen}
    for item in range(first, last + 1):
        row = items.row(item)
        x, y = geometry.point(item, layout.lane[row])
        if not -40 <= y <= height + 40:
            continue
        said = text_of(scene, item)
        box = QRectF(x - geometry.step / 2 + 3, y - size, geometry.step - 6, size * 2 + 18)
        if row in chosen or row in (scene.current, scene.hover):
            painter.setPen(
                QPen(t.color("accent"), 1.5) if row == scene.current and scene.focused else Qt.PenStyle.NoPen
            )
            painter.setBrush(t.color("hover" if row == scene.hover else "selected"))
            painter.drawRoundedRect(box, 5, 5)
        _node(painter, scene, row, said, x, y, size, ratio)
        if said.mark:
            painter.drawPixmap(QPointF(x + size / 2, y - size), glyph(said.mark, said.mark_color, 12, ratio))
        if geometry.step > 40:
            used = bold if said.strong else font
            painter.setFont(used)
            painter.setPen(QColor(t.text if said.strong or scene.on_path(row) else t.muted))
            text = QFontMetricsF(used).elidedText(said.text, Qt.TextElideMode.ElideRight, geometry.step - 12)
            painter.drawText(
                QRectF(x - geometry.step / 2 + 4, y + size / 2 + 2, geometry.step - 8, 18),
                Qt.AlignmentFlag.AlignCenter,
                text,
            )
