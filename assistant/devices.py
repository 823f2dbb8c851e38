"""Microphone and speaker of one assistant: opened together, and what is told of their troubles."""

from __future__ import annotations

from collections.abc import Callable

from assistant.announcements import Announcements
from assistant.audio.base import AudioSink, AudioSource
from assistant.errors import DeviceError
from assistant.events import Event, Recovered, Trouble
from assistant.inbox import Inbox

DEAF = "I can't hear anything. Please check the microphone."


class Devices:
    """Their troubles come from threads of their own and are dealt with in the inbox's thread."""

    def __init__(
        self,
        source: AudioSource,
        sink: AudioSink,
        *,
        inbox: Inbox,
        announcements: Announcements,
        emit: Callable[[Event], None],
        on_deaf: Callable[[], None],
        on_recovered: Callable[[], None],
    ) -> None:
        """on_deaf: no sound comes in any more; on_recovered: a device is back."""
        self._source = source
        self._sink = sink
        self._inbox = inbox
        self._announcements = announcements
        self._emit = emit
        self._on_deaf = on_deaf
        self._on_recovered = on_recovered
        self._deaf_codes: set[str] = set()

    def start(self) -> None:
        """Opens both; one that is absent is waited for. Raises DeviceError when both are."""
        source, sink = self._source, self._sink
        source.on_trouble = source.on_trouble or self._deaf
        sink.on_trouble = sink.on_trouble or self._mute
        for device in (source, sink):
            device.on_recovered = device.on_recovered or self._recovered
        absent: DeviceError | None = None
        for device in (sink, source):
            try:
                device.start()
            except DeviceError as error:
                if absent is not None:
                    raise
                absent = error
                device.wait = True
                device.start()

    def stop(self) -> None:
        self._source.stop()
        self._sink.stop()

    def _deaf(self, code: str, message: str, hint: str) -> None:
        """The microphone is lost or silent."""

        def note() -> None:
            self._emit(Trouble(code=code, message=message, hint=hint))
            self._on_deaf()
            if code not in self._deaf_codes:
                self._deaf_codes.add(code)
                self._announcements.add(DEAF)

        self._inbox.put(note)

    def _mute(self, code: str, message: str, hint: str) -> None:
        """The speaker is lost, so nothing can be said about it."""
        self._inbox.put(lambda: self._emit(Trouble(code=code, message=message, hint=hint)))

    def _recovered(self, code: str, message: str) -> None:
        def note() -> None:
            self._deaf_codes.discard(code)
            if not self._deaf_codes:
                self._announcements.withdraw(DEAF)
            self._emit(Recovered(code=code, message=message))
            self._on_recovered()

        self._inbox.put(note)
