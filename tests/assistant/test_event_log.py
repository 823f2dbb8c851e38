from __future__ import annotations

import logging

import pytest

from assistant import events
from assistant.event_log import EventLog, StatusLine

CANARY = "xylophone marmalade"

SPOKEN: list[events.Event] = [
    events.PartialTranscript(turn=1, text=CANARY),
    events.Transcript(turn=1, text=CANARY, confidence=0.9),
    events.IntentMatched(
        turn=1, intent="timer.set", score=1.0, source="grammar", slots={"name": CANARY}
    ),
    events.ActionDone(turn=1, skill="timer", ok=True, action={"name": CANARY}),
    events.Reply(turn=1, text=f"The timer {CANARY} is set."),
    events.RingStarted(turn=1, name=CANARY),
    events.TurnEnded(turn=1, outcome="answered"),
]


def test_nothing_that_was_said_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog()
    with caplog.at_level(logging.DEBUG):
        for event in SPOKEN:
            log(event)
    assert CANARY not in caplog.text
    assert "IntentMatched turn=1 intent='timer.set' score=1.0 source='grammar'" in caplog.text
    assert len(caplog.records) == len(SPOKEN)


def test_speech_is_logged_when_switched_on(caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog(log_speech=True)
    with caplog.at_level(logging.INFO):
        for event in SPOKEN:
            log(event)
    assert caplog.text.count(CANARY) == 6


def test_no_event_has_speech_outside_the_marked_fields() -> None:
    """A field that may hold speech must be marked, or it would reach the log."""
    marked = {(type(e).__name__, key) for e in SPOKEN for key in e.to_dict() if CANARY in str(e)}
    plain = {(type(e).__name__, k) for e in SPOKEN for k in e.to_dict(content=False)}
    assert not {(n, k) for n, k in marked & plain if k in ("text", "slots", "action", "name")}


def test_trouble_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog()
    with caplog.at_level(logging.INFO):
        log(events.Trouble(code="audio.lost", message="The microphone is gone.", hint="Plug it."))
        log(events.Recovered(code="audio.lost"))
    assert [r.levelname for r in caplog.records] == ["WARNING", "INFO"]
    assert caplog.records[0].message == "The microphone is gone. Plug it. [audio.lost]"


def test_latencies_after_every_second_turn(caplog: pytest.LogCaptureFixture) -> None:
    log = EventLog(log_every=2)
    with caplog.at_level(logging.INFO):
        for turn in range(1, 6):
            log(events.SpeechEnded(turn=turn, t=10.0, last_voiced_t=9.5, reason="silence"))
            log(events.SpeakingStarted(turn=turn, t=10.5))
            log(events.TurnEnded(turn=turn, t=12.0, outcome="answered"))
    told = [r.message for r in caplog.records if r.message.startswith("latency total")]
    assert told == [
        "latency total: p50 1000 ms, p95 1000 ms, p99 1000 ms over 2 turns",
        "latency total: p50 1000 ms, p95 1000 ms, p99 1000 ms over 4 turns",
    ]


def test_status_line_tells_state_and_troubles() -> None:
    shown: list[str] = []
    status = StatusLine(shown.append)
    status(events.StateChanged(state="idle"))
    status(events.StateChanged(state="idle"))
    status(events.Trouble(code="audio.no_signal", message="The microphone is dead."))
    status(events.Trouble(code="audio.no_speaker", message="The speaker is gone."))
    status(events.Transcript(text="hello"))
    status(events.Recovered(code="audio.no_signal"))
    status(events.Recovered(code="audio.no_speaker"))
    assert shown == [
        "ready (idle)",
        "degraded: The microphone is dead.",
        "degraded: The microphone is dead. The speaker is gone.",
        "degraded: The speaker is gone.",
        "ready (idle)",
    ]


def test_the_status_forgets_the_trouble_of_a_turn_when_a_later_one_works() -> None:
    status = StatusLine(lambda line: None)
    status(events.Trouble(turn=3, code="llm.timeout", message="No answer in time."))
    status(events.TurnEnded(turn=3, outcome="answered"))
    assert status.text == "degraded: No answer in time."
    status(events.TurnEnded(turn=4, outcome="not_heard"))
    assert status.text.startswith("degraded")
    status(events.TurnEnded(turn=5, outcome="answered"))
    assert status.text == "ready (starting)"
