"""A thread that holds one connection and makes it anew when it is lost."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from assistant.home.backoff import Backoff

log = logging.getLogger(__name__)

STEADY_S = 30.0
"""A connection that held so long was a good one: the next wait is short again."""
NUDGE_S = 2.0
"""Somebody who wants something now brings the next try forward, at most this often."""
RECHECK_S = 60.0
"""How often it is looked whether what was wrong here has been corrected."""

Wait = Callable[[threading.Event, float], bool]
"""Waits until the event is set, at most so many seconds; True when it is set."""


class LinkError(Exception):
    """The connection cannot be made, or was lost.

    reason: a sentence that may be spoken; hint: what to do.
    until: True when a new try may work; None tries again after a while.
    """

    def __init__(self, reason: str, hint: str = "", until: Callable[[], bool] | None = None):
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.until = until


class Keeper:
    """Runs sessions, one after the other, with growing waits between those that fail."""

    def __init__(
        self,
        name: str,
        session: Callable[[], None],
        *,
        backoff: Backoff | None = None,
        wait: Wait = threading.Event.wait,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """session: connects, calls ``up`` when all is well, and serves until it is lost.

        It raises LinkError, or returns once ``close`` has been called.
        now: monotonic seconds.
        """
        self._name = name
        self._session = session
        self._backoff = backoff or Backoff()
        self._wait = wait
        self._now = now
        self._wake = threading.Event()
        self._settled = threading.Event()
        self._connected = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._up_since: float | None = None
        self._last_try = 0.0
        self.trouble = f"I am still connecting to {name}."
        self.hint = ""

    @property
    def connected(self) -> bool:
        return self._connected.is_set()

    @property
    def closing(self) -> bool:
        return self._closing

    def start(self) -> None:
        """Begins in the background."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def close(self, timeout_s: float = 2.0) -> None:
        """Begins nothing anew; the session must have been told to end."""
        self._closing = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout_s)

    def up(self) -> None:
        """For the session: it is connected and knows all it needs."""
        if self.trouble and self._settled.is_set():
            log.info("%s is there again", self._name)
        self._up_since = self._now()
        self.trouble = self.hint = ""
        self._connected.set()
        self._settled.set()

    def lost(self) -> None:
        """For the session: from now on nobody can use the connection."""
        self._connected.clear()

    def settle(self, timeout_s: float) -> None:
        """Waits until it is connected or known why not."""
        self._settled.wait(timeout_s)

    def wait_connected(self, timeout_s: float) -> bool:
        """True when there is a connection; one that is lost is tried at once."""
        end = time.monotonic() + timeout_s
        while not self._connected.is_set():
            left = end - time.monotonic()
            if left <= 0:
                return False
            soon = NUDGE_S - (self._now() - self._last_try)
            if soon <= 0:
                self._wake.set()
            self._connected.wait(min(left, max(soon, 0.1)))
        return True

    def _run(self) -> None:
        while not self._closing:
            self._last_try = self._now()
            try:
                self._session()
            except LinkError as error:
                if not self._closing:
                    self._down(error)
                    if not self._correctable(error):
                        return
            except Exception:
                if not self._closing:
                    log.exception("the connection to %s failed", self._name)
                    self._down(LinkError(f"The connection to {self._name} failed."))
            self._connected.clear()
            if self._up_since is not None and self._now() - self._up_since >= STEADY_S:
                self._backoff.reset()
            self._up_since = None
            if self._pause(self._backoff.next_s()):
                return

    def _down(self, error: LinkError) -> None:
        self._connected.clear()
        if error.reason != self.trouble:
            log.warning("%s", f"{error.reason} {error.hint}".strip())
        self.trouble, self.hint = error.reason, error.hint
        self._settled.set()

    def _correctable(self, error: LinkError) -> bool:
        """Waits until what is wrong here was corrected; False when this ends meanwhile."""
        while error.until is not None and not error.until():
            if self._pause(RECHECK_S):
                return False
        return True

    def _pause(self, seconds: float) -> bool:
        """True when it ends now."""
        self._wait(self._wake, seconds)
        self._wake.clear()
        return self._closing
