"""Tasks that other threads hand to one."""

from __future__ import annotations

import queue
from collections.abc import Callable

Task = Callable[[], None]


class Inbox:
    """Any thread may ``put``; one alone takes out and runs."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()

    def put(self, task: Task) -> None:
        self._tasks.put(task)

    def run(self, do: Callable[[Task], None], wait: float = 0.0) -> None:
        """Gives every task to ``do``; waits up to ``wait`` seconds for a first one."""
        timeout = wait
        while True:
            try:
                task = self._tasks.get(block=timeout > 0, timeout=timeout or None)
            except queue.Empty:
                return
            timeout = 0.0
            do(task)
