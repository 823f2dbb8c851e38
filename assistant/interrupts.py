"""SIGINT and SIGTERM: raised at once, or noted where something has to be ended in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Raise:
    """A signal handler that remembers: what it raises may be lost in somebody's import."""

    def __init__(self) -> None:
        self.seen = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        raise KeyboardInterrupt


@contextmanager
def raised() -> Iterator[None]:
    """Inside, both signals raise KeyboardInterrupt. For the main thread."""
    handler = _Raise()
    before = [(number, signal.signal(number, handler)) for number in SIGNALS]
    try:
        yield
    finally:
        for number, old in before:
            signal.signal(number, old)


@contextmanager
def noted() -> Iterator[threading.Event]:
    """An event that both signals set; a second signal raises KeyboardInterrupt.

    Raises KeyboardInterrupt when a signal came before. For the main thread.
    """
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = [(number, signal.signal(number, handle)) for number in SIGNALS]
    try:
        if any(isinstance(old, _Raise) and old.seen for _, old in before):
            raise KeyboardInterrupt
        yield stop
    finally:
        for number, old in before:
            signal.signal(number, old)
