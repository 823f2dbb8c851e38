"""One JSON-ready record per turn, gathered from the event stream."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assistant.audio.wav_sink import write_wav
from assistant.errors import InputFileError
from assistant.events import (
    ActionDone,
    Event,
    IntentMatched,
    Reply,
    Transcript,
    TurnEnded,
    WakeDetected,
)
from assistant.timing import turn_latency
from assistant.tts.base import Speech

Record = dict[str, Any]


def blank(file: str | None = None, turn: int = 0) -> Record:
    """The record of a turn in which nothing happened."""
    return {
        "file": file,
        "turn": turn,
        "wake": None,
        "transcript": "",
        "intent": None,
        "intent_score": 0.0,
        "source": None,
        "slots": {},
        "reply": "",
        "action": None,
        "outcome": "",
        "audio_out": None,
        "ms": {},
    }


class TurnRecorder:
    """An event subscriber that makes the record of each turn when it has ended.

    Keys: file, turn, wake, transcript, intent, intent_score, source, slots, reply, action,
    outcome, audio_out, ms.

    failure: why the sound of an answer could not be written; the record has no audio_out then.
    """

    def __init__(
        self,
        done: Callable[[Record], None],
        *,
        file: str | None = None,
        audio_dir: Path | None = None,
        stem: str = "answer",
    ) -> None:
        """done: called with each finished record; audio_dir: where the answers' WAV files go."""
        self._done = done
        self._file = file
        self._audio_dir = audio_dir
        self._stem = stem
        self._events: dict[int, list[Event]] = {}
        self._sound: dict[int, list[Speech]] = {}
        self._lock = threading.Lock()
        self.failure: InputFileError | None = None

    def record(self, turn: int, speech: Speech) -> None:
        """Takes a piece of the answer's sound."""
        with self._lock:
            self._sound.setdefault(turn, []).append(speech)

    def __call__(self, event: Event) -> None:
        if event.turn == 0:
            return
        with self._lock:
            events = self._events.setdefault(event.turn, [])
            events.append(event)
            if not isinstance(event, TurnEnded):
                return
            sound = self._sound.get(event.turn, [])
            # Turns end in order; an earlier one that did not will not.
            for kept in (self._events, self._sound):
                for number in [n for n in kept if n <= event.turn]:
                    del kept[number]
        self._done(self._make(event.turn, events, sound))

    def _make(self, turn: int, events: list[Event], sound: list[Speech]) -> Record:
        record = blank(self._file, turn)
        replies: list[str] = []
        for event in events:
            match event:
                case WakeDetected():
                    record["wake"] = event.word
                case Transcript():
                    record["transcript"] = event.text
                case IntentMatched():
                    record["intent"] = event.intent
                    record["intent_score"] = round(event.score, 3)
                    record["source"] = event.source
                    record["slots"] = event.slots or {}
                case ActionDone():
                    record["action"] = event.action
                case Reply():
                    replies.append(event.text)
                case TurnEnded():
                    record["outcome"] = event.outcome
        record["reply"] = " ".join(replies)
        record["audio_out"] = self._write(turn, sound)
        record["ms"] = turn_latency(events)
        return record

    def _write(self, turn: int, sound: list[Speech]) -> str | None:
        if self._audio_dir is None or not sound:
            return None
        path = self._audio_dir / f"{self._stem}-{turn}.wav"
        try:
            write_wav(path, np.concatenate([piece.samples for piece in sound]), sound[0].rate)
        except InputFileError as error:
            self.failure = error
            return None
        return str(path)


def human(record: Record) -> str:
    """The record as a few lines for a person."""
    lines = []
    if record["wake"]:
        lines.append(f"wake word   {record['wake']}")
    lines.append(f"heard       {record['transcript'] or '(nothing)'}")
    if record["intent"]:
        slots = ", ".join(f"{k}={v}" for k, v in record["slots"].items())
        lines.append(
            f"understood  {record['intent']}{f' ({slots})' if slots else ''} by {record['source']}"
        )
    lines.append(f"answered    {record['reply'] or '(nothing)'}")
    stages = [f"{name} {value:.0f}" for name, value in record["ms"].items() if value is not None]
    lines.append(f"latency ms  {' · '.join(stages)}")
    if record["audio_out"]:
        lines.append(f"answer WAV  {record['audio_out']}")
    return "\n".join(lines)
