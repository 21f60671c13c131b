"""What a person chose for single paths."""

from __future__ import annotations

import os
from collections.abc import Mapping

from worldline.workspace import difftext


def chosen_for(choices: Mapping[str, str], path: str) -> str:
    """What was chosen for a path, named as it is or as people are shown it; "" = nothing."""
    return choices.get(path) or choices.get(difftext.path_text(os.fsencode(path))[0], "")
