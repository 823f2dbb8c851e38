"""How long tests wait for what should come: a limit costs time only where something is broken."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""Far more than the slowest and busiest machine needs, and less than the limit of a test."""


def until(true: Callable[[], bool], what: str = "") -> None:
    """Waits for a condition that nothing announces."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, what or "it did not come true"
        time.sleep(0.005)
