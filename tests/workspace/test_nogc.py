from __future__ import annotations

import gc
import threading

import pytest

from tests_support import PATIENCE_S
from worldline.workspace import nogc


def test_the_collector_is_on_again_after_the_last() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with nogc.paused():
            inside.set()
            leave.wait(PATIENCE_S)

    thread = threading.Thread(target=other)
    with nogc.paused():
        thread.start()
        assert inside.wait(PATIENCE_S)
        with pytest.raises(ValueError), nogc.paused():
            raise ValueError
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off() -> None:
    gc.disable()
    try:
        with nogc.paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
