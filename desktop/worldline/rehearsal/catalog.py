"""All faults, registered; and those that the demo offers in its menu."""

from __future__ import annotations

from worldline.core.drills import DRILLS
from worldline.rehearsal import fault_content, fault_refusals, fault_streams
from worldline.rehearsal.faults import FAULTS, find

__all__ = ["DRILLS", "FAULTS", "fault_content", "fault_refusals", "fault_streams", "find"]
