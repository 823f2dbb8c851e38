"""Numbered requests over one connection to Home Assistant, and their answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from assistant.home.keeper import LinkError
from assistant.home.websocket import WebSocket

log = logging.getLogger(__name__)

MAX_WAITING = 200
"""Requests without an answer; beyond it the connection is taken for dead."""


class Refused(Exception):
    """Home Assistant answered that it did not do it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Requests:
    """``send`` may be called from any thread; ``pump`` from the one that holds the link."""

    def __init__(self, socket: WebSocket, on_event: Callable[[Mapping[str, Any]], None]) -> None:
        """on_event: takes each event of a subscription, on the thread that pumps."""
        self._socket = socket
        self._on_event = on_event
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._last_id = 0
        self._over: LinkError | None = None

    def send(self, kind: str, **fields: Any) -> Future[Any]:
        """The future of the answer; it ends with Refused or LinkError when there is none."""
        future: Future[Any] = Future()
        # The numbers must arrive in order, so they are given and sent under one lock.
        with self._lock:
            if self._over is not None:
                future.set_exception(self._over)
                return future
            if len(self._waiting) >= MAX_WAITING:
                raise LinkError("Home Assistant does not answer any more.")
            self._last_id += 1
            self._waiting[self._last_id] = future
            try:
                self._socket.send({"id": self._last_id, "type": kind, **fields})
            except LinkError:
                del self._waiting[self._last_id]
                raise
        return future

    def forget(self, future: Future[Any]) -> None:
        """Nobody waits for this answer any longer."""
        with self._lock:
            self._waiting = {n: f for n, f in self._waiting.items() if f is not future}

    def pump(self, timeout_s: float) -> bool:
        """Takes one message; False when none came in time. Raises LinkError."""
        message = self._socket.receive(timeout_s)
        if message is None:
            return False
        kind = message.get("type")
        if kind == "result":
            self._answer(message)
        elif kind == "event" and isinstance(message.get("event"), Mapping):
            self._on_event(message["event"])
        return True

    def get(self, future: Future[Any], timeout_s: float) -> Any:
        """The answer, for the thread that pumps. Raises Refused, LinkError."""
        end = time.monotonic() + timeout_s
        while not future.done():
            left = end - time.monotonic()
            if left <= 0:
                self.forget(future)
                raise LinkError("Home Assistant does not answer.")
            self.pump(left)
        return future.result()

    def end(self, error: LinkError) -> None:
        """The connection is over: whoever waits is told."""
        with self._lock:
            self._over = error
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(error)

    def _answer(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        with self._lock:
            future = self._waiting.pop(number, None) if isinstance(number, int) else None
        if future is None:
            log.debug("an answer to a question that nobody asked")
        elif message.get("success") is True:
            future.set_result(message.get("result"))
        else:
            error = message.get("error")
            error = error if isinstance(error, Mapping) else {}
            future.set_exception(
                Refused(str(error.get("code", "unknown")), str(error.get("message", ""))[:500])
            )
