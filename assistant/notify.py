"""systemd's readiness and watchdog protocol: short datagrams to the socket it names."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, MutableMapping

log = logging.getLogger(__name__)

BEATS_PER_INTERVAL = 4
"""Signs of life per watchdog interval: systemd asks for two, a slow moment may eat some."""


class Notifier:
    """Tells the service manager how we are; without one every call does nothing."""

    def __init__(self, address: str = "") -> None:
        """address: path of a datagram socket, or @NAME of an abstract one; "" for none."""
        self._socket: socket.socket | None = None
        if not address:
            return
        if address[0] not in "/@":
            log.warning("NOTIFY_SOCKET=%s is of a kind that is not supported", address)
            return
        where = "\0" + address[1:] if address[0] == "@" else address
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.connect(where)
        except OSError as exc:
            log.warning("the service manager cannot be reached at %s: %s", address, exc.strerror)
            self.close()

    @classmethod
    def from_environ(cls, environ: MutableMapping[str, str] | None = None) -> Notifier:
        """The one of $NOTIFY_SOCKET, which is removed so that no child speaks for us."""
        env = os.environ if environ is None else environ
        return cls(env.pop("NOTIFY_SOCKET", ""))

    @property
    def connected(self) -> bool:
        return self._socket is not None

    def ready(self, status: str) -> None:
        """The start, or a reload, is complete."""
        self._send("READY=1", f"STATUS={status}")

    def status(self, text: str) -> None:
        """One line for ``systemctl status``."""
        self._send(f"STATUS={text}")

    def reloading(self) -> None:
        """A reload has begun; ``ready`` ends it."""
        self._send(
            "RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}"
        )

    def stopping(self) -> None:
        """The stop has begun."""
        self._send("STOPPING=1", "STATUS=stopping")

    def watchdog(self) -> None:
        """A sign of life."""
        self._send("WATCHDOG=1")

    def close(self) -> None:
        """Forgets the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, *lines: str) -> None:
        if self._socket is None:
            return
        message = "\n".join(line.replace("\n", " ") for line in lines)
        try:
            self._socket.send(message.encode("utf-8", "replace"), socket.MSG_DONTWAIT)
        except OSError as exc:
            # A manager that is away or slow must not end or hold the assistant.
            log.debug("the service manager did not take %r: %s", lines[0], exc)


class Watchdog:
    """Passes signs of life on, at most ``BEATS_PER_INTERVAL`` times per watchdog interval.

    It has no timer of its own: when the loop that calls ``beat`` hangs, the signs stop and the
    service manager restarts the process.
    """

    def __init__(
        self,
        notifier: Notifier,
        interval_s: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """interval_s: seconds after which silence counts as death; None when nobody watches."""
        self._notifier = notifier
        self._pause = None if interval_s is None else interval_s / BEATS_PER_INTERVAL
        self._clock = clock
        self._next = float("-inf")

    @classmethod
    def from_environ(
        cls, notifier: Notifier, environ: MutableMapping[str, str] | None = None
    ) -> Watchdog:
        """The interval of $WATCHDOG_USEC, when $WATCHDOG_PID is us or not set."""
        env = os.environ if environ is None else environ
        usec, pid = env.pop("WATCHDOG_USEC", ""), env.pop("WATCHDOG_PID", "")
        meant = pid in ("", str(os.getpid()))
        watched = meant and usec.isdecimal() and int(usec) > 0
        return cls(notifier, int(usec) / 1e6 if watched else None)

    def beat(self) -> None:
        """Cheap; call it often from the loop whose life matters."""
        if self._pause is None:
            return
        now = self._clock()
        if now >= self._next:
            self._next = now + self._pause
            self._notifier.watchdog()
