"""Ctrl-C and SIGTERM, while a program waits for a run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_signals(act: Callable[[], object]) -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM; has no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        for one, handler in before.items():
            signal.signal(one, handler)  # a second signal ends the process
        act()

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
