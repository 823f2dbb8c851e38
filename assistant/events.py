"""Frozen, time-stamped events: the one stream that logs, latencies and tests read.

``t`` is ``time.monotonic()`` in seconds. ``turn`` counts from 1; 0 means outside a turn.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events."""

    turn: int = 0
    t: float = field(default_factory=time.monotonic)

    @property
    def kind(self) -> str:
        return type(self).__name__

    def to_dict(self, *, content: bool = True) -> dict[str, Any]:
        """A JSON-ready dictionary; ``content=False`` leaves out what was said."""
        data: dict[str, Any] = {"event": self.kind}
        for f in dataclasses.fields(self):
            if content or not f.metadata.get("speech"):
                data[f.name] = getattr(self, f.name)
        return data


def speech(default: Any = "") -> Any:
    """A field that holds what somebody said; kept out of logs unless switched on."""
    return field(default=default, metadata={"speech": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged(Event):
    """state: idle, listening, thinking, speaking, ringing or stopped."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MicrophoneOpened(Event):
    """The microphone is open for commands. reason: wake, followup or question."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MicrophoneClosed(Event):
    """The microphone is closed for commands (it still hears the wake word)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeDetected(Event):
    word: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechStarted(Event):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialTranscript(Event):
    text: str = speech()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechEnded(Event):
    """End of the user's turn.

    last_voiced_t: monotonic time at which the last voiced sample was captured.
    reason: silence, complete (the sentence so far is a whole command), too_long,
    no_speech or end_of_file.
    """

    last_voiced_t: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript(Event):
    text: str = speech()
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentMatched(Event):
    """source: grammar, heads or dialogue."""

    intent: str
    score: float
    source: str
    slots: dict[str, Any] | None = speech(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDone(Event):
    """A skill acted. action is its JSON-ready description."""

    skill: str
    ok: bool
    action: dict[str, Any] | None = speech(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Event):
    """A piece of the answer (one or more sentences) on its way to the voice."""

    text: str = speech()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakingStarted(Event):
    """t: the first sample of the answer was handed to the sound device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakingEnded(Event):
    """The last sample has left the speaker, or the speech was cut (interrupted)."""

    interrupted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """outcome: answered, stopped, not_heard, not_understood or failed."""

    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RingStarted(Event):
    """A timer or alarm has begun to ring."""

    name: str = speech()


@dataclass(frozen=True, slots=True, kw_only=True)
class RingEnded(Event):
    """reason: stopped or missed (nobody answered within the limit)."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble(Event):
    """Something is wrong but the service goes on; code as in AssistantError."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered(Event):
    """The trouble with this code is over."""

    code: str
    message: str = ""


class EventBus:
    """Hands each event to every subscriber, in order, from any thread.

    A subscriber that raises is logged once and dropped: watching must never
    break the turn.
    """

    def __init__(self) -> None:
        self._subscribers: list[Callable[[Event], None]] = []
        self._lock = threading.RLock()

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Adds a subscriber; the returned function removes it again."""
        with self._lock:
            self._subscribers.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._subscribers:
                    self._subscribers.remove(callback)

        return unsubscribe

    def emit(self, event: Event) -> None:
        with self._lock:
            for callback in list(self._subscribers):
                try:
                    callback(event)
                except Exception:
                    log.exception("an event subscriber failed and was removed")
                    self._subscribers.remove(callback)
