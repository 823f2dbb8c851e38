"""Keeps one PortAudio stream open: notices that it is lost, and opens it again by name."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from assistant.audio.devices import DeviceInfo, Direction, find_device
from assistant.audio.sounddevice import PortAudio
from assistant.errors import AssistantError, DeviceError

log = logging.getLogger(__name__)

STALL_S = 1.0
"""An open stream that did not call for this long is lost; callbacks come every 20 ms."""

SETTLE_S = 2.0
"""Extra patience for the first callback (Bluetooth, sound servers)."""

FIRST_RETRY_S = 0.5
LONGEST_RETRY_S = 10.0
CHECK_S = 0.25


class Owner(Protocol):
    """The microphone or speaker whose stream is kept."""

    def formats(self, device: DeviceInfo) -> list[tuple[int, int]]:
        """(rate, channels) to try, best first. Raises DeviceError."""

    def prepare(self, rate: int, channels: int) -> Callable[..., None]:
        """The stream's callback for this format, which is being tried."""

    def opened(self) -> None:
        """The stream was opened in the format prepared last."""

    def closed(self) -> None:
        """The device is gone, or ``stop`` was called. Not called for a short suspension."""

    def trouble(self, code: str, message: str, hint: str) -> None:
        """The device was lost."""

    def recovered(self, code: str, message: str) -> None:
        """The device is back."""


class StreamKeeper:
    """Opens a stream and keeps it open, with a thread of its own.

    A stream is lost when it ends, when PortAudio calls it inactive, or when no callback
    came for a second. The owner is told once; then it is tried again after 0.5 s, 1 s, ...
    up to every 10 s, by name, since the device may return under another number.

    Args:
        wanted: device name as in the configuration.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        portaudio: PortAudio,
        direction: Direction,
        wanted: str,
        owner: Owner,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.device: DeviceInfo | None = None
        """The device last opened."""
        self._portaudio = portaudio
        self._direction: Direction = direction
        self._wanted = wanted
        self._owner = owner
        self._clock = clock
        self._what = "microphone" if direction == "input" else "speaker"
        self._code = f"audio.{direction}_lost"
        self._stream: Any = None
        self._opened_at = 0.0
        self._last_beat = 0.0
        self._beaten = False
        self._late = False
        self._lost = False
        self._delay = 0.0
        self._next_try = 0.0
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, *, wait: bool = False, threaded: bool = True) -> None:
        """Opens the stream. Raises DeviceError, PackageError.

        wait: a missing device is reported as trouble and waited for instead.
        threaded: False leaves the calls of ``step`` to the caller.
        """
        self._stopping.clear()
        self._lost = False
        self._delay = 0.0
        self._portaudio.register(self)
        try:
            self._open()
        except AssistantError as e:
            if not (wait and isinstance(e, DeviceError)):
                self._portaudio.unregister(self)
                raise
            self._lose(e.message, e.hint)
        if threaded:
            self._thread = threading.Thread(
                target=self._run, name=f"audio-{self._direction}", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Closes the stream and ends the thread; safe to call twice."""
        self._stopping.set()
        self._wake.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5.0)
        self._portaudio.unregister(self)
        self._close()
        self._owner.closed()

    def suspend(self) -> None:
        """Closes the stream; the next step opens it again without a word."""
        self._close()
        self._next_try = 0.0
        self._wake.set()

    def step(self) -> float:
        """Looks after the stream once; the seconds until it wants to be called again."""
        with self._portaudio.lock:
            idle = self._stream is None
            problem = "" if idle else self._problem()
            if problem:
                self._close()
        if idle:
            wait = self._next_try - self._clock()
            return wait if wait > 0 else self._retry()
        if problem:
            name = self.device.name if self.device else self._wanted
            self._lose(
                f'The {self._what} "{name}" was lost: {problem}.',
                "Plug it in again; it is taken up by itself.",
            )
            return self._next_try - self._clock()
        if self._lost and self._beaten:
            self._lost = False
            name = self.device.name if self.device else self._wanted
            log.warning('the %s "%s" is back', self._what, name)
            self._owner.recovered(self._code, f'The {self._what} "{name}" works again.')
        return CHECK_S

    def _problem(self) -> str:
        if not self._portaudio.active(self._stream):
            return "its stream ended"
        patience = STALL_S if self._beaten else STALL_S + SETTLE_S
        was_late, self._late = self._late, self._clock() - self._last_beat > patience
        # Late twice: when the whole process stood still, the callback gets its chance first.
        if was_late and self._late:
            return "no sound comes from it" if self._direction == "input" else "it takes no sound"
        return ""

    def _retry(self) -> float:
        try:
            # A stream that gave way to a refresh needs none of its own.
            if self._lost:
                self._portaudio.refresh()
            self._open()
        except AssistantError as e:
            self._lose(e.message, e.hint)
            return self._next_try - self._clock()
        return CHECK_S

    def _lose(self, message: str, hint: str) -> None:
        """Plans the next try, and tells the owner if this is news."""
        now = self._clock()
        if not self._lost and now - self._opened_at > LONGEST_RETRY_S:
            self._delay = 0.0
        self._delay = min(max(FIRST_RETRY_S, self._delay * 2), LONGEST_RETRY_S)
        self._next_try = now + self._delay
        if self._lost:
            log.debug("no %s yet: %s", self._what, message)
            return
        self._lost = True
        log.warning("%s", message)
        self._owner.closed()
        self._owner.trouble(self._code, message, hint)

    def _open(self) -> None:
        with self._portaudio.lock:
            device = find_device(self._portaudio.devices(), self._wanted, self._direction)
            stream = self._portaudio.open(
                self._direction, device, self._owner.formats(device), self._prepare, self._wake.set
            )
            self._beaten = self._late = False
            self._last_beat = self._opened_at = self._clock()
            self.device = device
            self._stream = stream
            self._owner.opened()

    def _prepare(self, rate: int, channels: int) -> Callable[..., None]:
        inner = self._owner.prepare(rate, channels)

        def callback(*args: Any) -> None:
            self._last_beat = self._clock()
            self._beaten = True
            inner(*args)

        return callback

    def _close(self) -> None:
        with self._portaudio.lock:
            stream, self._stream = self._stream, None
            if stream is not None:
                self._portaudio.close(stream)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                delay = self.step()
            except Exception:
                # A listener that fails must not end the watch over the device.
                log.exception("looking after the %s failed", self._what)
                delay = LONGEST_RETRY_S
            self._wake.wait(delay)
            self._wake.clear()
