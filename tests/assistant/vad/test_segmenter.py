"""Tracks are written as "s300 v800 s600": milliseconds of silence and of voiced sound."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.config import TurnConfig, VadConfig
from assistant.vad.segmenter import (
    FAINT_EXTRA_MS,
    ONSET_MS,
    PAUSE_MS,
    PRE_ROLL_MS,
    Decision,
    Hint,
    Segmenter,
)

TURN = TurnConfig(
    end_silence_ms=500,
    complete_silence_ms=300,
    unfinished_silence_ms=1500,
    no_speech_ms=3000,
    max_speech_ms=8000,
)
VAD = VadConfig(start_threshold=0.5, end_threshold=0.35)
PROBABILITY = {"s": 0.02, "v": 0.95, "m": 0.42}
"""m: between the two thresholds."""


def track(text: str) -> Iterator[float]:
    for part in text.split():
        yield from [PROBABILITY[part[0]]] * (int(part[1:]) // 10)


def ms(decision: Decision) -> int:
    return decision.position // 16


def run(
    text: str, hint: Hint = "unknown", segmenter: Segmenter | None = None
) -> list[tuple[str, int, str]]:
    """Decisions as (kind, ms, reason); ``hint`` is set at each pause."""
    seg = segmenter or started()
    found = []
    for i, probability in enumerate(track(text)):
        decision = seg.feed(probability, i * 160)
        if decision is not None:
            found.append((decision.kind, ms(decision), decision.reason))
            if decision.kind == "paused":
                seg.hint = hint
    return found


def started() -> Segmenter:
    seg = Segmenter(TURN, VAD)
    seg.start(0)
    return seg


@pytest.mark.parametrize(
    ("text", "hint", "expected"),
    [
        (
            "s500 v1000 s2000",
            "unknown",
            [("started", 570, ""), ("paused", 1630, ""), ("ended", 2000, "silence")],
        ),
        (
            "s500 v1000 s2000",
            "complete",
            [("started", 570, ""), ("paused", 1630, ""), ("ended", 1800, "complete")],
        ),
        (
            "s500 v1000 s2000",
            "unfinished",
            [("started", 570, ""), ("paused", 1630, ""), ("ended", 3000, "silence")],
        ),
        # A hesitation of 1.2 s is waited for when the sentence is unfinished.
        (
            "s500 v1000 s1200 v600 s2000",
            "unfinished",
            [
                ("started", 570, ""),
                ("paused", 1630, ""),
                ("resumed", 2710, ""),
                ("paused", 3430, ""),
                ("ended", 4800, "silence"),
            ],
        ),
        # Without the hint the same hesitation ends the turn.
        (
            "s500 v1000 s1200 v600 s2000",
            "unknown",
            [("started", 570, ""), ("paused", 1630, ""), ("ended", 2000, "silence")],
        ),
        # A gap shorter than a pause is not even told.
        (
            "s300 v500 s120 v500 s900",
            "unknown",
            [("started", 370, ""), ("paused", 1550, ""), ("ended", 1920, "silence")],
        ),
        # The lower threshold keeps speech going but does not start it.
        (
            "m1000 v300 m600 s900",
            "unknown",
            [("started", 1070, ""), ("paused", 2030, ""), ("ended", 2400, "silence")],
        ),
        ("s4000", "unknown", [("ended", 3000, "no_speech")]),
        ("m4000", "unknown", [("ended", 3000, "no_speech")]),
        # Clicks are no speech, however often they come.
        ("s500 v30 s500 v60 s500 v30 s2000", "unknown", [("ended", 3000, "no_speech")]),
        # Just before the time is over somebody speaks: he is heard.
        (
            "s2980 v900 s900",
            "unknown",
            [("started", 3050, ""), ("paused", 4010, ""), ("ended", 4380, "silence")],
        ),
        # A cough is dropped, and the command after it is found.
        (
            "s500 v100 s600 v700 s900",
            "unknown",
            [
                ("started", 570, ""),
                ("dropped", 730, ""),
                ("started", 1270, ""),
                ("paused", 2030, ""),
                ("ended", 2400, "silence"),
            ],
        ),
        ("s200 v20000", "unknown", [("started", 270, ""), ("ended", 8200, "too_long")]),
    ],
)
def test_decisions(text: str, hint: Hint, expected: list[tuple[str, int, str]]) -> None:
    assert run(text, hint) == expected


@pytest.mark.parametrize("gap", [0, 100, 300])
def test_command_right_after_the_wake_word(gap: int) -> None:
    """The detector fires while its word still sounds; then the command follows."""
    found = run(f"v120 s{gap} v900 s2000")
    assert found[-1][0] == "ended"
    assert found[-1][1] == 120 + gap + 900 + TURN.end_silence_ms
    assert [kind for kind, _, _ in found].count("ended") == 1


def test_the_tail_of_the_wake_word_is_no_command() -> None:
    """He says the wake word and thinks for two seconds."""
    found = run("v150 s2000 v800 s900")
    assert [kind for kind, _, _ in found] == ["started", "dropped", "started", "paused", "ended"]


def test_a_pause_within_the_wait_then_the_time_without_speech_is_over() -> None:
    assert run("v150 s4000")[-1] == ("ended", 3000, "no_speech")


def test_carried_tells_that_speech_was_going_on_at_the_start() -> None:
    seg = started()
    run("v900", segmenter=seg)
    assert seg.carried
    seg = started()
    run("s400 v900", segmenter=seg)
    assert not seg.carried


def test_hint_may_change_while_the_silence_lasts() -> None:
    seg = started()
    assert run("s100 v600 s200", segmenter=seg)[-1][0] == "paused"
    position = 900 * 16
    seg.hint = "unfinished"
    for i in range(60):
        assert seg.feed(0.0, position + i * 160) is None
    seg.hint = "complete"
    decision = seg.feed(0.0, position + 60 * 160)
    assert decision is not None
    assert (decision.kind, decision.reason) == ("ended", "complete")


def test_hint_does_not_survive_more_speech() -> None:
    seg = started()
    run("s100 v600 s200 v300", hint="complete", segmenter=seg)
    assert seg.hint == "unknown"


def test_positions() -> None:
    seg = started()
    assert seg.speech_start is None
    assert seg.last_voiced is None
    run("s1000 v600 s200", segmenter=seg)
    assert seg.speech_start == 16_000
    assert seg.last_voiced == 1600 * 16
    assert seg.keep_from == 16_000 - PRE_ROLL_MS * 16


def test_keep_from_moves_on_while_nobody_speaks_and_stays_in_an_onset() -> None:
    seg = started()
    run("s1000", segmenter=seg)
    assert seg.keep_from == (1000 - PRE_ROLL_MS) * 16
    run("s1000 v40", segmenter=(seg := started()))
    assert seg.keep_from == (1000 - PRE_ROLL_MS) * 16


def test_keep_from_reaches_before_the_start_but_not_before_the_sound() -> None:
    seg = Segmenter(TURN, VAD)
    seg.start(32_000)
    for i in range(20):
        seg.feed(0.9, 32_000 + i * 160)
    assert seg.keep_from == 32_000 - PRE_ROLL_MS * 16
    seg.start(0)
    seg.feed(0.9, 0)
    assert seg.keep_from == 0


def test_end_of_file() -> None:
    seg = started()
    run("s200 v600 s200", segmenter=seg)
    assert seg.finish(16_000) == Decision("ended", 16_000, "end_of_file")
    seg = started()
    run("s200 v40", segmenter=seg)
    assert seg.finish(3840).reason == "no_speech"


def test_after_the_end_frames_are_ignored_until_started_again() -> None:
    seg = started()
    run("s4000", segmenter=seg)
    assert seg.state == "ended"
    assert seg.feed(0.99, 80_000) is None
    seg.start(96_000)
    kinds = [d.kind for i in range(20) if (d := seg.feed(0.99, 96_000 + i * 160)) is not None]
    assert kinds == ["started"]


def test_before_the_first_start_nothing_is_decided() -> None:
    seg = Segmenter(TURN, VAD)
    assert all(seg.feed(0.99, i * 160) is None for i in range(50))


def test_own_time_without_speech() -> None:
    seg = Segmenter(TURN, VAD)
    seg.start(0, no_speech_ms=800)
    assert run("s2000", segmenter=seg) == [("ended", 800, "no_speech")]


def levelled(parts: list[tuple[int, float]]) -> list[tuple[str, int, str]]:
    """Voiced all the time, at (milliseconds, dBFS)."""
    seg = started()
    found, i = [], 0
    for length, level in parts:
        for _ in range(length // 10):
            decision = seg.feed(0.9, i * 160, level)
            i += 1
            if decision is not None:
                found.append((decision.kind, ms(decision), decision.reason))
    return found


def test_voices_in_the_background_do_not_keep_it_listening() -> None:
    found = levelled([(2000, -20.0), (6000, -32.0)])
    latest = 2000 + TURN.end_silence_ms + FAINT_EXTRA_MS + 200
    assert found[-1][0] == "ended"
    assert found[-1][2] == "silence"
    assert found[-1][1] <= latest


def test_last_voiced_is_the_last_loud_sample() -> None:
    seg = started()
    for i in range(200):
        seg.feed(0.9, i * 160, -20.0 if i < 100 else -40.0)
    last = seg.last_voiced
    assert last is not None
    # The level is the loudest of the last 200 ms.
    assert 1000 * 16 <= last <= 1200 * 16


def test_inaudible_frames_are_silence_whatever_the_detector_says() -> None:
    seg = started()
    for i in range(100):
        seg.feed(0.9, i * 160, -20.0)
    for i in range(100, 110):
        seg.feed(0.9, i * 160, -75.0)
    assert seg.last_voiced == 16_000


def test_quiet_words_between_loud_ones_do_not_end_it() -> None:
    found = levelled([(800, -20.0), (900, -33.0), (800, -20.0), (900, -33.0), (500, -20.0)])
    assert [kind for kind, _, _ in found] == ["started"]


@given(
    st.lists(st.tuples(st.sampled_from("svm"), st.integers(1, 120)), min_size=1, max_size=40),
    st.sampled_from(["complete", "unfinished", "unknown"]),
)
def test_any_track(parts: list[tuple[str, int]], hint: Hint) -> None:
    """Decisions come in an order that a caller can rely on, and every turn ends in time."""
    found = run(" ".join(f"{kind}{10 * n}" for kind, n in parts) + " s6000", hint)
    kinds = [kind for kind, _, _ in found]
    assert kinds.count("ended") == 1
    assert kinds[-1] == "ended"
    follows = {
        "": {"started", "ended"},
        "started": {"paused", "dropped", "ended"},
        "paused": {"resumed", "ended"},
        "resumed": {"paused", "ended"},
        "dropped": {"started", "ended"},
    }
    for before, after in zip(["", *kinds], kinds, strict=False):
        assert after in follows[before], kinds
    if kinds == ["ended"]:
        assert found[-1][1] < TURN.no_speech_ms + ONSET_MS + 200
    for kind, at, _ in found:
        if kind == "started":
            latest = at - ONSET_MS + TURN.max_speech_ms
            assert found[-1][1] <= max(latest, TURN.no_speech_ms) + TURN.max_speech_ms
    assert TURN.complete_silence_ms > PAUSE_MS
