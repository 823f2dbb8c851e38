"""Turns in which something goes wrong: stuck or failing parts, lost devices, bad moments."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fakes import BeepVoice, EventLog, HoldingSink, PushSource, ScriptedRecognizer

import assistant.pipeline
from assistant.asr.base import Hypothesis
from assistant.audio.base import Pcm
from assistant.audio.chime import chime
from assistant.config import Config
from assistant.errors import AsrError, StateError
from assistant.events import (
    ActionDone,
    Event,
    IntentMatched,
    MicrophoneClosed,
    MicrophoneOpened,
    Recovered,
    Reply,
    RingEnded,
    RingStarted,
    SpeakingEnded,
    SpeakingStarted,
    SpeechEnded,
    SpeechStarted,
    StateChanged,
    Transcript,
    Trouble,
    TurnEnded,
    WakeDetected,
)
from assistant.timing import turn_latency
from assistant.tts.base import Speech
from tests.assistant.room import Room
from tests.patience import PATIENCE_S

Make = Callable[..., Room]

NO_FOLLOWUP = Config.model_validate({"turn": {"followup_ms": 0}})


def of_turn(log: EventLog, turn: int) -> list[Event]:
    return [e for e in log.events if e.turn == turn]


def is_chime(samples: Pcm, name: str) -> bool:
    return bool(np.array_equal(samples, chime(name)))  # type: ignore[arg-type]


# -- turns one after the other ---------------------------------------------------------


def test_an_unused_follow_up_window_leaves_no_trace_in_the_next_turn(room: Make) -> None:
    r = room(["what time is it", "what's the date"])
    r.command()
    r.log.wait(MicrophoneOpened, reason="followup")
    r.source.quiet(7.0)
    r.log.wait(MicrophoneClosed, count=2)
    r.command()
    r.log.wait(TurnEnded, count=2)
    second = r.log.of(WakeDetected)[1].turn
    ended = [e.reason for e in of_turn(r.log, second) if isinstance(e, SpeechEnded)]
    assert ended == ["complete"]
    assert turn_latency(of_turn(r.log, second))["endpoint"] < 5000, "the window was longer"


def test_latency_counts_from_the_command_and_not_from_the_wake_phrase() -> None:
    events = [
        SpeechEnded(turn=1, t=1.0, last_voiced_t=0.5, reason="silence"),
        SpeechEnded(turn=1, t=5.0, last_voiced_t=4.75, reason="complete"),
        Transcript(turn=1, t=5.25, text="louder"),
        SpeakingStarted(turn=1, t=5.5),
    ]
    assert turn_latency(events)["endpoint"] == 250.0
    assert turn_latency(events)["asr"] == 250.0
    assert turn_latency(events)["total"] == 750.0


@pytest.mark.parametrize("moment", ["listening", "pausing", "thinking", "follow-up"])
def test_a_wake_word_at_any_moment_begins_a_new_turn(room: Make, moment: str) -> None:
    gate = threading.Event()
    texts = {
        "listening": ["what is", "what's the date"],
        "pausing": ["set a timer for", "what's the date"],
        "thinking": ["tell me about cats", "what's the date"],
        "follow-up": ["what time is it", "what's the date"],
    }
    r = room(
        texts[moment],
        source=PushSource(paced=True),
        talk=[lambda: "Late." if gate.wait(2 * PATIENCE_S) else ""],
    )
    if moment in ("thinking", "follow-up"):
        r.command()
        kind = IntentMatched if moment == "thinking" else TurnEnded
        r.log.wait(kind)
        r.source.quiet(1.0)
    else:
        r.source.wake()
        r.source.quiet(0.3)
        r.source.say(0.8)
        r.source.quiet(0.3 if moment == "pausing" else 0.0)
        r.log.wait(SpeechStarted)
    r.command()
    r.log.wait(WakeDetected, count=2)
    gate.set()
    r.log.wait(IntentMatched, intent="clock.date")
    r.log.wait(TurnEnded, outcome="answered", turn=r.log.of(WakeDetected)[-1].turn)
    r.source.quiet(7.0)
    r.log.wait(StateChanged, state="idle", count=2)
    assert [e.text for e in r.log.of(Reply)].count("Late.") == 0


def test_an_interrupted_turn_is_told_as_stopped_and_not_as_failed(room: Make) -> None:
    gate = threading.Event()

    class Slow(ScriptedRecognizer):
        def finish(self) -> Hypothesis:
            gate.wait(2 * PATIENCE_S)
            return super().finish()

    slow = Slow(["tell me about cats", "what time is it"])
    r = room([], recognizer=slow, source=PushSource(paced=True))
    r.command()
    r.log.wait(StateChanged, state="thinking")
    r.source.wake()
    r.log.wait(WakeDetected, count=2)
    gate.set()
    assert r.log.wait(TurnEnded).outcome == "stopped"
    assert not r.log.of(Reply)


@pytest.mark.parametrize("text", ["Hey Jarvis, what time is it?", "Hey, Jarvis! What time is it?"])
def test_a_wake_phrase_said_once_more_is_no_part_of_the_command(room: Make, text: str) -> None:
    r = room([text], cfg=NO_FOLLOWUP)
    r.command()
    r.log.wait(TurnEnded, outcome="answered")
    assert r.log.of(SpeechEnded)[0].reason == "complete"
    assert r.log.of(Transcript)[0].text.lower() == "what time is it?"


def test_the_wake_phrase_said_once_more_and_then_nothing(room: Make) -> None:
    r = room(["Hey Jarvis.", "what time is it"], cfg=NO_FOLLOWUP)
    r.source.wake()
    r.source.quiet(0.5)
    r.source.say(0.6)
    r.source.quiet(1.5)
    r.source.say(1.0)
    r.source.quiet(1.5)
    r.log.wait(TurnEnded, outcome="answered")
    assert r.log.of(IntentMatched)[0].intent == "clock.time"


# -- chimes and interruptions ----------------------------------------------------------


class Tape(HoldingSink):
    """Keeps in order what was written and flushed."""

    def __init__(self) -> None:
        super().__init__(instant=False)
        self.tape: list[Pcm | None] = []

    def write(
        self, samples: Pcm, rate: int, on_start: Callable[[float], None] | None = None
    ) -> None:
        self.tape.append(samples)
        super().write(samples, rate, on_start)

    def flush(self) -> None:
        self.tape.append(None)
        super().flush()


@pytest.mark.parametrize("ringing", [False, True])
def test_the_chime_of_a_wake_word_that_interrupts_is_heard(room: Make, ringing: bool) -> None:
    sink = Tape()
    r = room(["tell me about cats", ""], sink=sink, cfg=NO_FOLLOWUP)
    if ringing:
        r.registry.scheduler.add("tea", 0.05)
        r.log.wait(RingStarted)
    else:
        r.command()
    r.log.wait(SpeakingStarted)
    r.source.quiet(0.2)
    r.source.wake()
    r.log.wait(WakeDetected, count=1 if ringing else 2)
    r.log.wait(RingEnded if ringing else TurnEnded)
    chimes = [i for i, x in enumerate(sink.tape) if x is not None and is_chime(x, "wake")]
    assert chimes
    assert not sink.tape[chimes[-1] + 1 :], "flushed or followed by old speech"


def test_a_speaker_that_does_not_finish_is_told_as_an_interruption(room: Make) -> None:
    class Lost(HoldingSink):
        def drain(
            self, timeout: float | None = None, cancel: threading.Event | None = None
        ) -> bool:
            return False

    r = room(["what time is it"], sink=Lost(), cfg=NO_FOLLOWUP)
    r.command()
    assert r.log.wait(SpeakingEnded).interrupted
    assert r.log.wait(TurnEnded).outcome == "answered"
    r.log.wait(StateChanged, state="idle", count=2)


def test_its_name_in_its_own_talk_does_not_wake_it(room: Make) -> None:
    sink = HoldingSink(instant=False)
    r = room(
        ["which butler is the best one"],
        sink=sink,
        talk=["You may call me Jarvis."],
        cfg=NO_FOLLOWUP,
    )
    r.command()
    r.log.wait(SpeakingStarted)
    r.source.quiet(0.2)
    r.source.wake()
    r.source.quiet(0.2)
    sink.finish_playing()
    r.log.wait(TurnEnded, outcome="answered")
    # The detector is a little late: the last word of an answer comes when it is over.
    r.log.wait(StateChanged, state="idle", count=2)
    r.source.wake()
    r.source.quiet(3.0)
    r.source.wake()
    r.log.wait(WakeDetected, count=2)
    r.source.quiet(0.1)
    assert len(r.log.of(WakeDetected)) == 2


def test_a_stop_that_it_says_itself_does_not_stop_it(room: Make) -> None:
    sink = HoldingSink(instant=False)
    talk = ["Just say stop. "]
    r = room(["how do i end this", "Stop.", "be quiet"], sink=sink, talk=talk, cfg=NO_FOLLOWUP)
    r.command()
    r.log.wait(SpeakingStarted)
    r.log.wait(StateChanged, state="speaking")
    for left in (1, 0):
        r.source.quiet(0.3)
        r.source.say(0.5)
        r.source.quiet(1.0)
        # a recogniser that is behind hears the latest word only
        r.wait_for(lambda left=left: len(r.recognizer.texts) <= left)  # type: ignore[misc]
    r.log.wait(SpeakingEnded, interrupted=True)
    assert not r.recognizer.texts, "the first one ended it"


# -- stuck parts -----------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [[], ["Well, cats are fine animals. "]])
def test_a_language_model_that_stalls_can_be_interrupted(room: Make, pieces: list[str]) -> None:
    gate = threading.Event()

    def stall() -> str:
        gate.wait(2 * PATIENCE_S)
        return "At last."

    source = PushSource(paced=True)
    texts = ["tell me about cats", "what time is it"]
    r = room(texts, talk=[*pieces, stall], source=source, cfg=NO_FOLLOWUP)
    r.command()
    r.log.wait(StateChanged, state="speaking")
    r.command()
    r.log.wait(TurnEnded, outcome="stopped")
    r.log.wait(TurnEnded, outcome="answered")
    gate.set()
    r.log.wait(StateChanged, state="idle", count=2)
    assert "At last." not in [e.text for e in r.log.of(Reply)]


def test_a_pause_in_the_text_is_waited_for(room: Make) -> None:
    gate = threading.Event()
    talk = ["Cats sleep a lot. ", lambda: "Most of the day. " if gate.wait(2 * PATIENCE_S) else ""]
    r = room(["tell me about cats"], talk=talk, cfg=NO_FOLLOWUP)
    r.command()
    r.log.wait(Reply)
    gate.set()
    r.log.wait(TurnEnded, outcome="answered")
    assert [e.text for e in r.log.of(Reply)] == ["Cats sleep a lot.", "Most of the day."]


class StuckVoice(BeepVoice):
    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.called = threading.Event()

    def synthesize(self, text: str, *, speed: float = 1.0) -> Iterator[Speech]:
        self.called.set()
        self.gate.wait(2 * PATIENCE_S)
        yield from super().synthesize(text, speed=speed)


def test_a_stuck_voice_stops_the_heartbeat(room: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assistant.pipeline, "STUCK_SECONDS", 0.3)
    voice = StuckVoice()
    r = room(["what time is it"], voice=voice, source=PushSource(paced=True))
    r.command()
    assert voice.called.wait(PATIENCE_S)
    assert r.beats_stop()
    voice.gate.set()
    r.log.wait(TurnEnded)
    before = r.beats
    assert r.wait_for(lambda: r.beats > before)


def test_a_long_answer_and_a_long_ring_are_signs_of_life(
    room: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assistant.pipeline, "STUCK_SECONDS", 2.0)
    r = room([], source=PushSource(paced=True))
    r.registry.scheduler.add("bread", 0.05)
    begun = r.log.wait(RingStarted).t
    r.wait_for(lambda: time.monotonic() - begun > 4.0)
    before = r.beats
    assert r.wait_for(lambda: r.beats > before + 20)
    assert r.pipeline.ringer.ringing


# -- the recogniser --------------------------------------------------------------------


@pytest.mark.parametrize("step", ["start", "feed", "peek", "finish"])
def test_an_error_in_any_step_of_the_recogniser_is_told_once(room: Make, step: str) -> None:
    class Failing(ScriptedRecognizer):
        broken = True

    def fail(*args: object) -> None:
        if recognizer.broken:
            raise AsrError("asr.broken", f"It broke in {step}.")
        getattr(ScriptedRecognizer, step)(recognizer, *args)

    recognizer = Failing(["what time is it", "what time is it"])
    if step in ("start", "feed"):
        recognizer.__dict__[step] = fail
    else:
        recognizer.texts[0] = AsrError("asr.broken", f"It broke in {step}.")
    r = room([], recognizer=recognizer, cfg=NO_FOLLOWUP)
    r.command()
    r.log.wait(TurnEnded, outcome="failed")
    assert [e.message for e in r.log.of(Trouble)] == [f"It broke in {step}."]
    assert r.log.of(Reply)[0].text == "Sorry, something went wrong."
    recognizer.broken = False
    r.command()
    r.log.wait(TurnEnded, outcome="answered")


def test_a_recogniser_that_lags_behind_is_not_fed_with_what_nobody_wants(room: Make) -> None:
    gate = threading.Event()

    class Slow(ScriptedRecognizer):
        starts = feeds = 0

        def start(self, vocabulary: object = ()) -> None:
            self.starts += 1
            super().start()

        def feed(self, samples: Pcm) -> None:
            gate.wait(2 * PATIENCE_S)
            self.feeds += 1
            super().feed(samples)

    slow = Slow(["what time is it"] * 9)
    r = room([], recognizer=slow, source=PushSource(paced=True), cfg=NO_FOLLOWUP)
    for n in range(1, 5):
        r.command()
        r.log.wait(SpeechEnded, count=n)
    gate.set()
    r.log.wait(TurnEnded, outcome="answered")
    # The first and the last; where the sound overtakes the recogniser, one more may have begun.
    assert 2 <= slow.starts <= 3
    assert slow.feeds < 40
    assert [e.outcome for e in r.log.of(TurnEnded)] == ["stopped"] * 3 + ["answered"]


def test_lost_sound_is_told_once_and_not_spoken(room: Make) -> None:
    r = room(["what time is it"], cfg=NO_FOLLOWUP)
    for n in (300, 420, 500):
        r.source.overruns = n
        r.log.wait(Trouble, code="audio.overload")
        r.command()
        r.log.wait(TurnEnded, count=n // 200)
    told = [e for e in r.log.of(Trouble) if e.code == "audio.overload"]
    assert len(told) == 1
    assert "3.0 seconds" in told[0].message


def test_text_that_the_recogniser_doubts_is_not_acted_on(room: Make) -> None:
    cfg = Config.model_validate({"asr": {"min_confidence": 0.95}})
    r = room(["set a timer for nine minutes"], cfg=cfg)
    r.command()
    r.log.wait(TurnEnded, outcome="not_heard")
    assert not r.log.of(ActionDone)
    assert r.log.of(Reply)[0].text == "Sorry, I didn't catch that."


# -- the end of the sound, and sound without end ------------------------------------------


def test_the_end_of_the_file_while_nobody_speaks(room: Make) -> None:
    r = room([])
    r.source.quiet(0.5)
    r.source.end()
    r.log.wait(StateChanged, state="stopped")
    assert not r.log.of(TurnEnded)


@pytest.mark.parametrize("texts", [[], ["Hey Jarvis."]])
def test_the_end_of_the_file_right_after_the_wake_word(room: Make, texts: list[str]) -> None:
    r = room(texts)
    if texts:
        r.source.say(0.6)
    r.source.wake()
    if texts:
        r.source.say(0.4)
    r.source.end()
    r.log.wait(StateChanged, state="stopped")
    assert [e.outcome for e in r.log.of(TurnEnded)] == ["not_heard"]
    opened, closed = r.log.of(MicrophoneOpened), r.log.of(MicrophoneClosed)
    assert len(opened) == len(closed)


@pytest.mark.parametrize("state", ["thinking", "speaking", "ringing"])
def test_the_end_of_the_file_while_it_works(room: Make, state: str) -> None:
    gate = threading.Event()
    source = PushSource(paced=True)
    talk = ["Cats purr. ", lambda: "A lot." if gate.wait(2 * PATIENCE_S) else ""]
    r = room(["tell me about cats"], source=source, talk=talk)
    if state == "ringing":
        r.registry.scheduler.add("rice", 0.05)
    else:
        r.command()
    r.log.wait(StateChanged, state=state)
    source.end()
    gate.set()
    r.log.wait(StateChanged, state="stopped")
    if state == "ringing":
        assert r.registry.scheduler.timers("ringing"), "it rings on after the next start"
    else:
        assert [e.outcome for e in r.log.of(TurnEnded)] == ["answered"]


def test_stop_while_a_file_waits_for_a_slow_answer(room: Make) -> None:
    gate = threading.Event()
    r = room(["tell me about cats"], talk=[lambda: "Late." if gate.wait(2 * PATIENCE_S) else ""])
    r.command()
    r.log.wait(StateChanged, state="speaking")
    r.stop.set()
    r.log.wait(StateChanged, state="stopped")
    gate.set()


def test_noise_after_the_wake_word_does_not_keep_it_listening(room: Make) -> None:
    """Each burst sounds like the tail of the wake word and holds no words."""
    cfg = Config.model_validate({"turn": {"max_speech_ms": 5000, "no_speech_ms": 3000}})
    r = room([""] * 99, cfg=cfg)
    r.source.wake()
    for _ in range(60):
        r.source.say(0.5)
        r.source.quiet(0.2)
    r.source.end()
    r.log.wait(StateChanged, state="stopped")
    assert [e.outcome for e in r.log.of(TurnEnded)] == ["not_heard"]
    assert len(r.log.of(MicrophoneOpened)) <= 2
    assert r.log.of(SpeechEnded)[-1].reason != "end_of_file"


def test_fifteen_seconds_are_the_longest_utterance(room: Make) -> None:
    r = room(["tell me about cats"], cfg=NO_FOLLOWUP)
    r.source.wake()
    r.source.quiet(0.3)
    r.source.say(25.0)
    r.source.quiet(1.0)
    r.log.wait(TurnEnded, outcome="answered")
    assert r.log.of(SpeechEnded)[0].reason == "too_long"
    assert r.recognizer.fed <= 16 * 16_000


# -- rings at a bad moment ---------------------------------------------------------------


def test_a_ring_waits_for_whoever_is_about_to_speak(room: Make) -> None:
    r = room(["what time is it"], source=PushSource(paced=True), cfg=NO_FOLLOWUP)
    r.source.wake()
    r.log.wait(MicrophoneOpened)
    r.registry.scheduler.add("pie", 0.01)
    r.source.quiet(1.0)
    r.source.say(1.0)
    r.source.quiet(2.0)
    ended = r.log.wait(TurnEnded, outcome="answered")
    assert r.log.wait(RingStarted).t > ended.t


def test_a_ring_does_not_wait_for_an_unused_follow_up_window(room: Make) -> None:
    r = room(["what time is it"], source=PushSource(paced=True))
    r.command()
    r.log.wait(TurnEnded)
    r.source.quiet(0.5)
    r.log.wait(MicrophoneOpened, reason="followup")
    r.registry.scheduler.add("pie", 0.01)
    r.log.wait(RingStarted)
    assert r.log.of(MicrophoneClosed)[-1].turn == r.log.of(MicrophoneOpened)[-1].turn


def test_a_ring_waits_for_the_end_of_an_answer(room: Make) -> None:
    sink = HoldingSink(instant=False)
    r = room(["what time is it"], sink=sink, cfg=NO_FOLLOWUP)
    r.command()
    r.log.wait(SpeakingStarted)
    r.registry.scheduler.add("pie", 0.01)
    r.source.quiet(1.0)
    sink.finish_playing()
    ended = r.log.wait(SpeakingEnded)
    assert not ended.interrupted
    assert r.log.wait(RingStarted).t > ended.t


def test_a_timer_is_heard_without_voice_and_with_a_bad_bell(room: Make, tmp_path: Path) -> None:
    cfg = Config.model_validate({"skills": {"timer": {"ring_file": str(tmp_path / "no.wav")}}})
    r = room([], voice=BeepVoice(RuntimeError("no voice")), cfg=cfg)
    r.registry.scheduler.add("pie", 0.05)
    r.log.wait(RingStarted)
    assert r.wait_for(lambda: any(is_chime_part(x, "ring") for x in r.sink.written))
    assert r.pipeline.ringer.ringing


def is_chime_part(samples: Pcm, name: str) -> bool:
    whole = chime(name)  # type: ignore[arg-type]
    return bool(np.array_equal(samples, whole[: len(samples)]))


@pytest.mark.parametrize("way", ["stop", "cancel", "turn it off", "be quiet"])
def test_words_that_end_a_ring(room: Make, way: str) -> None:
    r = room([way], source=PushSource(paced=True))
    r.registry.scheduler.add("", 0.05)
    r.log.wait(StateChanged, state="ringing")
    r.source.quiet(0.3)
    r.source.say(0.6)
    r.source.quiet(1.0)
    assert r.log.wait(RingEnded).reason == "stopped"
    r.log.wait(StateChanged, state="idle", count=2)
    assert not r.registry.scheduler.timers("ringing")


# -- devices and the state file ------------------------------------------------------------


def lose(source: PushSource) -> None:
    assert source.on_trouble is not None
    source.on_trouble("audio.input_lost", "The microphone was lost.", "Plug it in.")


def test_a_lost_microphone_is_told_once_and_a_chime_says_that_it_is_back(room: Make) -> None:
    r = room([], source=PushSource(paced=True))
    r.log.wait(StateChanged, state="idle")
    lose(r.source)
    lose(r.source)
    r.log.wait(SpeakingEnded)
    r.log.wait(StateChanged, state="idle", count=2)
    assert sum("microphone" in e.text for e in r.log.of(Reply)) == 1
    r.source.on_recovered("audio.input_lost", "It is back.")
    r.log.wait(Recovered)
    assert r.wait_for(lambda: any(is_chime(x, "end") for x in r.sink.written))


def test_the_notice_waits_for_the_answer_and_the_microphone_for_the_notice(room: Make) -> None:
    sink = HoldingSink(instant=False)
    r = room(["what time is it"], sink=sink)
    r.command()
    r.log.wait(SpeakingStarted)
    lose(r.source)
    r.source.quiet(1.0)
    sink.finish_playing()
    r.log.wait(SpeakingEnded, count=2)
    first, second = r.log.of(SpeakingEnded)
    assert not first.interrupted
    r.log.wait(StateChanged, state="speaking", count=2)
    opened = [e.t for e in r.log.of(MicrophoneOpened) if first.t < e.t < second.t]
    closed = [e.t for e in r.log.of(MicrophoneClosed) if first.t < e.t < second.t]
    assert len(opened) == len(closed)


def test_the_wake_word_ends_a_notice(room: Make) -> None:
    sink = HoldingSink(instant=False)
    r = room(["what time is it"], sink=sink, cfg=NO_FOLLOWUP)
    r.log.wait(StateChanged, state="idle")
    lose(r.source)
    r.log.wait(SpeakingStarted)
    r.source.on_recovered("audio.input_lost", "It is back.")
    r.command()
    r.log.wait(SpeakingEnded, interrupted=True)
    sink.finish_playing()
    r.log.wait(TurnEnded, outcome="answered")
    assert sum("microphone" in e.text for e in r.log.of(Reply)) <= 1


def test_a_microphone_lost_in_the_middle_of_a_command(room: Make) -> None:
    r = room(["set a timer for five", "what time is it"], source=PushSource(paced=True))
    r.source.wake()
    r.source.quiet(0.3)
    r.source.say(1.0)
    r.log.wait(SpeechStarted)
    lose(r.source)
    assert r.log.wait(TurnEnded).outcome == "failed"
    r.log.wait(StateChanged, state="speaking")
    r.log.wait(StateChanged, state="idle", count=2)
    assert not r.log.of(ActionDone)
    r.source.on_recovered("audio.input_lost", "It is back.")
    r.command()
    r.log.wait(TurnEnded, outcome="answered")


def test_a_timer_rings_without_a_microphone(room: Make) -> None:
    r = room(["what time is it"], source=PushSource(paced=True))
    r.command()
    r.log.wait(TurnEnded)
    lose(r.source)
    r.registry.scheduler.add("pie", 0.05)
    r.log.wait(RingStarted)


def test_nothing_is_said_about_a_lost_speaker(room: Make) -> None:
    r = room([])
    r.log.wait(StateChanged, state="idle")
    assert r.sink.on_trouble is not None
    r.sink.on_trouble("audio.output_lost", "The speaker was lost.", "")
    r.log.wait(Trouble, code="audio.output_lost")
    r.registry.scheduler.add("pie", 0.05)
    r.log.wait(RingStarted)
    assert not any("hear" in e.text for e in r.log.of(Reply))


def test_a_state_file_that_fails_for_a_while_does_not_end_it(
    room: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    r = room(["what time is it"], source=PushSource(paced=True), cfg=NO_FOLLOWUP)
    r.log.wait(StateChanged, state="idle")
    broken = threading.Event()
    broken.set()
    volume = r.manager.volume

    def failing() -> tuple[int, bool]:
        if broken.is_set():
            raise StateError("state.failed", "The disk is full.")
        return volume()

    monkeypatch.setattr(r.manager, "volume", failing)
    r.log.wait(Trouble, code="state.failed")
    broken.clear()
    r.log.wait(Recovered, code="state.failed")
    r.command()
    r.log.wait(TurnEnded, outcome="answered")
    assert len(r.log.of(Trouble)) == 1
