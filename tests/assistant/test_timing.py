from __future__ import annotations

import math

import pytest

from assistant.events import (
    ActionDone,
    IntentMatched,
    Reply,
    SpeakingStarted,
    SpeechEnded,
    Transcript,
    TurnEnded,
)
from assistant.timing import LatencyLog, percentile, turn_latency

TURN = [
    SpeechEnded(turn=1, t=10.5, last_voiced_t=10.0, reason="silence"),
    Transcript(turn=1, t=10.6, text="what time is it"),
    IntentMatched(turn=1, t=10.602, intent="clock.time", score=1.0, source="grammar"),
    ActionDone(turn=1, t=10.605, skill="clock", ok=True),
    Reply(turn=1, t=10.606, text="It's noon."),
    SpeakingStarted(turn=1, t=10.756),
    TurnEnded(turn=1, t=12.0, outcome="answered"),
]


def test_stages_add_up_to_the_total() -> None:
    ms = turn_latency(TURN)
    assert ms == {
        "endpoint": 500.0,
        "asr": 100.0,
        "understand": 2.0,
        "act": 3.0,
        "tts_first": 150.0,
        "total": 756.0,
    }


def test_only_the_first_reply_counts() -> None:
    later = [*TURN[:6], Reply(turn=1, t=11.5, text="More."), SpeakingStarted(turn=1, t=11.9)]
    assert turn_latency(later)["tts_first"] == 150.0


def test_a_turn_without_an_answer_has_no_speech_latency() -> None:
    ms = turn_latency([TURN[0], TURN[1], TURN[6]])
    assert ms["tts_first"] is None
    assert ms["act"] is None
    assert ms["total"] == 2000.0


def test_no_events() -> None:
    assert set(turn_latency([]).values()) == {None}


@pytest.mark.parametrize(
    ("values", "p", "expected"),
    [([3.0], 50, 3.0), ([1.0, 3.0], 50, 2.0), ([4.0, 1.0, 2.0, 3.0, 5.0], 100, 5.0)],
)
def test_percentile(values: list[float], p: float, expected: float) -> None:
    assert percentile(values, p) == expected


def test_percentile_of_nothing() -> None:
    assert math.isnan(percentile([], 50))


def test_log_keeps_turns_apart() -> None:
    log = LatencyLog()
    for event in TURN[:-1]:
        log(event)
    assert log.summary() == {}
    log(TURN[-1])
    summary = log.summary()
    assert summary["total"] == {"p50": 756.0, "p95": 756.0, "p99": 756.0, "n": 1}


def test_turns_that_never_end_are_not_kept() -> None:
    log = LatencyLog()
    for turn in range(1, 1000):
        log(SpeechEnded(turn=turn, last_voiced_t=0.0, reason="no_speech"))
    log(TurnEnded(turn=1000, outcome="answered"))
    assert not log._open
