"""Collections stay off while anybody loads, and are on again afterwards."""

from __future__ import annotations

import gc
import threading

import pytest

from tests_support import PATIENCE_S
from worldline.core.loading import without_collections


def test_collections_are_on_again_when_the_last_one_is_done() -> None:
    gc.enable()
    entered, leave = threading.Event(), threading.Event()

    def load() -> None:
        with without_collections():
            entered.set()
            leave.wait(PATIENCE_S)

    thread = threading.Thread(target=load)
    thread.start()
    assert entered.wait(PATIENCE_S)
    with without_collections():
        assert not gc.isenabled()
    assert not gc.isenabled(), "the other one still loads"
    leave.set()
    thread.join(PATIENCE_S)
    assert gc.isenabled()
    gc.unfreeze()


def test_a_failure_inside_leaves_them_on() -> None:
    gc.enable()
    with pytest.raises(ImportError), without_collections():
        raise ImportError("no such module")
    assert gc.isenabled()
    gc.unfreeze()


def test_who_had_switched_them_off_finds_them_off() -> None:
    gc.disable()
    try:
        with without_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
