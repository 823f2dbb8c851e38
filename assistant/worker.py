"""A thread that does one task after the other."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)


class Worker:
    """Runs submitted tasks in order; a task handles its own errors."""

    def __init__(self, name: str) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._lock = threading.Lock()
        self._pending = 0
        self._alive_t = time.monotonic()

    def start(self) -> None:
        self._thread.start()

    def submit(self, task: Callable[[], None]) -> None:
        with self._lock:
            if self._pending == 0:
                self._alive_t = time.monotonic()
            self._pending += 1
        self._tasks.put(task)

    @property
    def busy(self) -> bool:
        """True while a task runs or waits."""
        with self._lock:
            return self._pending > 0

    def touch(self) -> None:
        """A sign of life of the running task."""
        self._alive_t = time.monotonic()

    def idle_or_alive(self, seconds: float) -> bool:
        """False when a task has shown no sign of life for ``seconds``."""
        return not self.busy or time.monotonic() - self._alive_t < seconds

    def stop(self, timeout: float = 5.0) -> None:
        """Ends the thread after the tasks that wait; gives up after ``timeout`` seconds."""
        if self._thread.ident is None:
            return
        self._tasks.put(None)
        self._thread.join(timeout)
        if self._thread.is_alive():
            log.warning("the %s thread did not end in time", self._thread.name)

    def _run(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                return
            try:
                task()
            except Exception:
                log.exception("a task failed")
            finally:
                with self._lock:
                    self._pending -= 1
                    self._alive_t = time.monotonic()
