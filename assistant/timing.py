"""Latencies per stage, read off the event stream.

A turn's latency is counted from the last voiced sample of the user to the first
sample of the answer handed to the sound device. In milliseconds:

endpoint    last voiced sample -> end of turn decided
asr         end of turn decided -> final transcript
understand  transcript -> intent known
act         intent known -> the skill has acted
tts_first   first text of the answer -> first sample handed over
total       last voiced sample -> first sample handed over (for a turn without
            an answer: -> the turn's last event)
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterable, Sequence

from assistant.events import (
    ActionDone,
    Event,
    IntentMatched,
    Reply,
    SpeakingStarted,
    SpeechEnded,
    Transcript,
    TurnEnded,
)

STAGES = ("endpoint", "asr", "understand", "act", "tts_first", "total")

Latency = dict[str, float | None]
"""Milliseconds by stage; None where the turn did not reach it."""


def turn_latency(events: Iterable[Event]) -> Latency:
    """The latencies of one turn, from its events in order."""
    first: dict[type[Event], Event] = {}
    last_t = 0.0
    for event in events:
        # The wake phrase alone ends speech too; the command that follows is what counts.
        if isinstance(event, SpeechEnded) and Transcript not in first:
            first[SpeechEnded] = event
        first.setdefault(type(event), event)
        last_t = event.t
    result: Latency = dict.fromkeys(STAGES)

    def span(start: float | None, kind: type[Event]) -> float | None:
        end = first.get(kind)
        if start is None or end is None:
            return None
        return round(max(0.0, end.t - start) * 1000, 1)

    def time_of(kind: type[Event]) -> float | None:
        event = first.get(kind)
        return None if event is None else event.t

    ended = first.get(SpeechEnded)
    voiced = ended.last_voiced_t if isinstance(ended, SpeechEnded) else None
    result["endpoint"] = span(voiced, SpeechEnded)
    result["asr"] = span(time_of(SpeechEnded), Transcript)
    result["understand"] = span(time_of(Transcript), IntentMatched)
    result["act"] = span(time_of(IntentMatched), ActionDone)
    result["tts_first"] = span(time_of(Reply), SpeakingStarted)
    result["total"] = span(voiced, SpeakingStarted)
    if result["total"] is None and voiced is not None and TurnEnded in first:
        result["total"] = round(max(0.0, last_t - voiced) * 1000, 1)
    return result


def percentile(values: Sequence[float], p: float) -> float:
    """The p-th percentile (0 to 100) by linear interpolation; NaN when there is no value."""
    if not values:
        return math.nan
    ordered = sorted(values)
    rank = (len(ordered) - 1) * p / 100
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


class LatencyLog:
    """An event subscriber that keeps the last turns' latencies (at most 1,000)."""

    def __init__(self, keep: int = 1000) -> None:
        self._open: dict[int, list[Event]] = {}
        self._turns: deque[Latency] = deque(maxlen=keep)
        self._lock = threading.Lock()
        self.turns = 0

    def __call__(self, event: Event) -> None:
        if event.turn == 0:
            return
        with self._lock:
            self._open.setdefault(event.turn, []).append(event)
            if isinstance(event, TurnEnded):
                self._turns.append(turn_latency(self._open.pop(event.turn)))
                # Turns end in order; an earlier one that did not will not.
                self._open = {n: e for n, e in self._open.items() if n > event.turn}
                self.turns += 1

    def summary(self) -> dict[str, dict[str, float]]:
        """p50, p95 and p99 in milliseconds of each stage that was reached, and n."""
        with self._lock:
            turns = list(self._turns)
        result: dict[str, dict[str, float]] = {}
        for stage in STAGES:
            values = [v for turn in turns if (v := turn[stage]) is not None]
            if values:
                result[stage] = {f"p{p}": round(percentile(values, p), 1) for p in (50, 95, 99)}
                result[stage]["n"] = len(values)
        return result
