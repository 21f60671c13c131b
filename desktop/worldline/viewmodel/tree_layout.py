"""Where nodes are drawn: a lane for each row, branches as segments. No Qt, no coordinates in pixels.

Rows are in the order of appending, so a new node never moves another. A segment is a run of nodes on one lane that
hangs on one parent; lanes are reused once a branch has ended above. Appending costs the same at any size.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from worldline.viewmodel.tree_model import BAD, TreeModel

FAR = 400
"""A fork from further above is drawn as a stub: a line over thousands of rows helps nobody and takes a lane."""
GAP = 2
"""Rows that stay free between two branches on one lane, so that they do not look like one."""
MAX_LANES = 4096

_IS_BAD = bytes(int(code in BAD) for code in range(256))


class TreeLayout:
    """Lanes and segments of a `TreeModel`; grows with it by `follow`."""

    def __init__(self, model: TreeModel) -> None:
        self._model = model
        self.lane = array("H")
        """Lane of each row."""
        self.segment = array("I")
        """Segment of each row."""
        self.seg_lane = array("H")
        self.seg_parent = array("i")
        """Row that the segment hangs on, -1 for a root."""
        self.seg_top = array("i")
        """First row that its line crosses: the parent's, or near `seg_first` for a stub."""
        self.seg_first = array("I")
        self.seg_last = array("I")
        self.lanes: list[array[int]] = []
        """Segments on each lane, from above to below."""
        self._lane_tops: list[array[int]] = []
        self._lane_end: list[int] = []
        self.forks = array("I")
        """Rows with more than one child, ascending as far as they were found."""
        self.bad = array("I")
        """Rows that failed, ascending: they keep their colour at every zoom."""

    def __len__(self) -> int:
        return len(self.lane)

    @property
    def lane_count(self) -> int:
        return len(self.lanes)

    def follow(self) -> None:
        """Take in the rows that the model has more than we have."""
        model = self._model
        first = row = len(self.lane)
        while row < len(model):
            self._place(row, model.parent[row])
            # Rows that hang on the one above go on in its lane: taken at once, not one by one.
            end = model.follows.find(0, row + 1)
            end = len(model) if end < 0 else end
            if end > row + 1:
                segment, lane = self.segment[row], self.lane[row]
                self.lane.extend(array("H", [lane]) * (end - row - 1))
                self.segment.extend(array("I", [segment]) * (end - row - 1))
                self.seg_last[segment] = self._lane_end[lane] = end - 1
            row = end
        outcomes = model.outcome[first:].tobytes()
        marked = outcomes.translate(_IS_BAD)
        at = marked.find(1)
        while at >= 0:
            self.bad.append(first + at)
            at = marked.find(1, at + 1)

    def outcome_changed(self, row: int) -> None:
        at = bisect_left(self.bad, row)
        there = at < len(self.bad) and self.bad[at] == row
        if self._model.outcome[row] in BAD:
            if not there:
                self.bad.insert(at, row)
        elif there:
            self.bad.pop(at)

    def _place(self, row: int, parent: int) -> None:
        if parent >= 0:
            segment = self.segment[parent]
            lane = self.seg_lane[segment]
            # A branch goes on in its lane unless a younger one has taken the lane below its end.
            if self.seg_last[segment] == parent and self.lanes[lane][-1] == segment:
                self.seg_last[segment] = row
                self._lane_end[lane] = row
                self._put(row, lane, segment)
                return
            if self.seg_last[segment] != parent:
                self.forks.append(parent)
        top = parent
        start = 0
        if parent >= 0 and row - parent > FAR:
            top = row - 1
            start = 1
        lane = self._free_lane(top, start)
        segment = len(self.seg_lane)
        self.seg_lane.append(lane)
        self.seg_parent.append(parent)
        self.seg_top.append(max(top, 0))
        self.seg_first.append(row)
        self.seg_last.append(row)
        self.lanes[lane].append(segment)
        self._lane_tops[lane].append(max(top, 0))
        self._lane_end[lane] = row
        self._put(row, lane, segment)

    def _free_lane(self, top: int, start: int) -> int:
        ends = self._lane_end
        for lane in range(start, len(ends)):
            if ends[lane] < top - GAP:
                return lane
        if len(ends) >= MAX_LANES:
            return MAX_LANES - 1
        self.lanes.append(array("I"))
        self._lane_tops.append(array("i"))
        ends.append(-1)
        return len(ends) - 1

    def _put(self, row: int, lane: int, segment: int) -> None:
        self.lane.append(lane)
        self.segment.append(segment)

    # What is seen ----------------------------------------------------------------------------------------------
    def segments_between(self, first: int, last: int) -> list[int]:
        """Segments whose line or nodes touch the rows first..last."""
        found: list[int] = []
        ends = self._lane_end
        for lane, tops in enumerate(self._lane_tops):
            if ends[lane] < first:
                continue
            segments = self.lanes[lane]
            at = max(bisect_right(tops, first) - 1, 0)
            for index in range(at, len(segments)):
                if tops[index] > last:
                    break
                if self.seg_last[segments[index]] >= first:
                    found.append(segments[index])
        return found

    def is_stub(self, segment: int) -> bool:
        """The segment hangs on a parent too far above for a line."""
        return self.seg_parent[segment] >= 0 and self.seg_top[segment] != self.seg_parent[segment]

    def bad_between(self, first: int, last: int) -> array[int]:
        return self.bad[bisect_left(self.bad, first) : bisect_right(self.bad, last)]
