"""The course of a turn, with devices and models that do what the test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes import BeepVoice, EventLog, HoldingSink, PushSource

from assistant.config import Config
from assistant.errors import AsrError, DeviceError, LlmError, TtsError
from assistant.events import (
    ActionDone,
    IntentMatched,
    MicrophoneClosed,
    MicrophoneOpened,
    Reply,
    RingEnded,
    RingStarted,
    SpeakingEnded,
    SpeakingStarted,
    SpeechEnded,
    StateChanged,
    Transcript,
    Trouble,
    TurnEnded,
    WakeDetected,
)
from assistant.state import State
from assistant.tts.base import Speech
from tests.assistant.room import Room
from tests.patience import PATIENCE_S


def kinds(log: EventLog) -> list[str]:
    return [e.kind for e in log.events if not isinstance(e, StateChanged)]


def test_what_was_heard_too_unsurely_is_not_done(room: Callable[..., Room]) -> None:
    """The scripted recogniser is sure of everything to 0.9."""
    cfg = Config.model_validate({"asr": {"min_confidence": 0.95}, "turn": {"followup_ms": 0}})
    r = room(["Set a timer for ten minutes."], cfg=cfg)
    r.command()
    r.log.wait(TurnEnded, outcome="not_heard")
    assert r.voice.said == ["Sorry, I didn't catch that."]
    assert r.log.of(ActionDone) == []


def test_one_turn_from_wake_word_to_idle(room: Callable[..., Room]) -> None:
    cfg = Config.model_validate({"turn": {"followup_ms": 0}})
    r = room(["What time is it?"], cfg=cfg)
    r.command()
    r.log.wait(TurnEnded, outcome="answered")
    r.log.wait(StateChanged, count=2, state="idle")
    order = [
        "WakeDetected",
        "MicrophoneOpened",
        "SpeechStarted",
        "PartialTranscript",
        "SpeechEnded",
        "MicrophoneClosed",
        "Transcript",
        "IntentMatched",
        "ActionDone",
        "Reply",
        "SpeakingStarted",
        "SpeakingEnded",
        "TurnEnded",
    ]
    assert kinds(r.log) == order
    states = [e.state for e in r.log.of(StateChanged)]
    assert states == ["idle", "listening", "thinking", "speaking", "idle"]
    times = [e.t for e in r.log.events if not isinstance(e, SpeakingStarted)]
    assert times == sorted(times)
    assert "It's" in r.log.of(Reply)[0].text
    assert r.voice.said


class PacedVoice(BeepVoice):
    """Notes how fast it was to speak."""

    def __init__(self) -> None:
        super().__init__()
        self.speeds: list[float] = []

    def synthesize(self, text: str, *, speed: float = 1.0) -> Iterator[Speech]:
        self.speeds.append(speed)
        return super().synthesize(text, speed=speed)


def test_the_voice_speaks_as_slowly_as_it_was_asked_to(room: Callable[..., Room]) -> None:
    cfg = Config.model_validate({"turn": {"followup_ms": 0}, "tts": {"speed": 1.2}})
    voice = PacedVoice()
    r = room(["Speak slower, please."], cfg=cfg, voice=voice)
    r.command()
    r.log.wait(TurnEnded, outcome="answered")
    assert voice.speeds
    assert all(0.5 < speed < 1.2 for speed in voice.speeds)


def test_a_complete_command_ends_the_turn_early(room: Callable[..., Room]) -> None:
    r = room(["Set a timer for five minutes"])
    r.command()
    r.log.wait(TurnEnded)
    assert r.log.of(SpeechEnded)[0].reason == "complete"
    assert r.registry.scheduler.timers()[0].seconds == 300


def test_hesitation_after_for_is_waited_for(room: Callable[..., Room]) -> None:
    def words(seconds: float) -> str:
        return "Set a timer for" if seconds < 2 else "Set a timer for twelve minutes"

    r = room([words])
    r.source.wake()
    r.source.quiet(0.3)
    r.source.say(1.0)
    r.source.quiet(1.0)
    r.source.say(0.8)
    r.source.quiet(2.0)
    r.log.wait(TurnEnded)
    assert len(r.log.of(Transcript)) == 1
    assert r.log.of(IntentMatched)[0].slots == {"duration": 720}


def test_the_wake_phrase_alone_is_no_command(room: Callable[..., Room]) -> None:
    r = room(["Hey Jarvis.", "What time is it"])
    r.source.quiet(0.5)
    r.source.say(0.6)
    r.source.wake()
    r.source.say(0.4)  # the tail of the wake word
    r.source.quiet(1.0)
    r.source.say(1.0)
    r.source.quiet(1.5)
    r.source.end()
    r.log.wait(TurnEnded, outcome="answered")
    assert r.log.of(IntentMatched)[0].intent == "clock.time"
    assert len(r.log.of(WakeDetected)) == 1


def test_command_without_a_pause_after_the_wake_word(room: Callable[..., Room]) -> None:
    r = room(["Hey Jarvis, what time is it?"])
    r.source.quiet(0.5)
    r.source.say(0.6)
    r.source.wake()
    r.source.say(1.2)
    r.source.quiet(2.0)
    r.source.end()
    r.log.wait(TurnEnded, outcome="answered")
    assert r.log.of(Transcript)[0].text == "what time is it?"


@pytest.mark.parametrize("text", ["", "?", "...", "the", "um"])
def test_nonsense_gets_a_short_apology_and_no_action(room: Callable[..., Room], text: str) -> None:
    r = room([text])
    r.command()
    r.log.wait(TurnEnded, outcome="not_heard")
    assert [e.text for e in r.log.of(Reply)] == ["Sorry, I didn't catch that."]
    assert not r.log.of(ActionDone)


def test_nobody_speaks_after_the_wake_word(room: Callable[..., Room]) -> None:
    r = room([])
    r.source.wake()
    r.source.quiet(3.0)
    r.log.wait(MicrophoneOpened)
    assert r.pipeline.state == "listening"
    r.source.quiet(3.0)
    r.log.wait(TurnEnded, outcome="not_heard")
    assert not r.log.of(Reply)
    r.log.wait(StateChanged, count=2, state="idle")


def test_follow_up_needs_no_wake_word_and_ends_quietly(room: Callable[..., Room]) -> None:
    r = room(["What time is it", "what's the date"])
    r.command()
    r.log.wait(MicrophoneOpened, reason="followup")
    r.command(wake=False)
    r.log.wait(TurnEnded, count=2)
    assert [e.intent for e in r.log.of(IntentMatched)] == ["clock.time", "clock.date"]
    r.source.quiet(7.0)
    r.log.wait(MicrophoneClosed, count=3)
    r.log.wait(StateChanged, state="idle", count=4)
    assert len(r.log.of(WakeDetected)) == 1
    assert len(r.log.of(TurnEnded)) == 2


def test_noise_in_the_follow_up_window_gets_no_answer(room: Callable[..., Room]) -> None:
    r = room(["What time is it", ""])
    r.command()
    r.log.wait(MicrophoneOpened, reason="followup")
    r.command(wake=False)
    r.log.wait(TurnEnded, outcome="not_heard")
    assert len(r.log.of(Reply)) == 1


def test_wake_word_in_the_follow_up_window_starts_anew(room: Callable[..., Room]) -> None:
    r = room(["What time is it", "what's the date"])
    r.command()
    r.log.wait(MicrophoneOpened, reason="followup")
    r.command()
    r.log.wait(TurnEnded, count=2)
    r.source.quiet(7.0)
    r.log.wait(StateChanged, state="idle", count=4)
    assert len(r.log.of(WakeDetected)) == 2


def test_a_question_is_answered_without_the_wake_word(room: Callable[..., Room]) -> None:
    cfg = Config.model_validate({"turn": {"followup_ms": 0}})
    r = room(["Set a timer", "seven minutes"], cfg=cfg)
    r.command()
    r.log.wait(MicrophoneOpened, reason="question")
    r.command(wake=False)
    r.log.wait(TurnEnded, count=2)
    assert r.registry.scheduler.timers()[0].seconds == 420


def test_the_microphone_opens_only_when_the_last_sample_was_played(
    room: Callable[..., Room],
) -> None:
    sink = HoldingSink(instant=False)
    r = room(["What time is it"], sink=sink)
    r.command()
    r.log.wait(SpeakingStarted)
    r.source.quiet(1.0)
    r.log.wait(StateChanged, state="speaking")
    assert not r.log.of(SpeakingEnded)
    assert len(r.log.of(MicrophoneOpened)) == 1
    sink.finish_playing()
    ended = r.log.wait(SpeakingEnded)
    r.log.wait(TurnEnded)
    r.source.quiet(1.0)
    opened = r.log.wait(MicrophoneOpened, reason="followup")
    assert opened.t > ended.t


def test_wake_word_interrupts_and_nothing_old_is_said_later(room: Callable[..., Room]) -> None:
    sink = HoldingSink(instant=False)
    talk: list[str | Exception] = ["One sentence here. ", "Two sentences here. ", "Three here."]
    r = room(["tell me a story", "what time is it"], sink=sink, talk=talk)
    r.command()
    r.log.wait(StateChanged, state="speaking")
    r.log.wait(SpeakingStarted)
    flushes = sink.flushes
    r.command()
    r.log.wait(SpeakingEnded, interrupted=True)
    assert sink.flushes > flushes
    r.log.wait(TurnEnded, turn=1, outcome="stopped")
    r.log.wait(Reply, turn=2)
    sink.finish_playing()
    r.log.wait(TurnEnded, turn=2)
    assert "It's" in r.log.of(Reply)[-1].text
    answers = [e.turn for e in r.log.of(Reply)]
    assert answers == sorted(answers)


def test_no_barge_in_when_switched_off(room: Callable[..., Room]) -> None:
    sink = HoldingSink(instant=False)
    cfg = Config.model_validate({"turn": {"barge_in": False}})
    r = room(["what time is it"], sink=sink, cfg=cfg)
    r.command()
    r.log.wait(StateChanged, state="speaking")
    r.source.wake()
    r.source.quiet(0.5)
    sink.finish_playing()
    r.log.wait(TurnEnded, outcome="answered")
    assert len(r.log.of(WakeDetected)) == 1


def test_its_own_name_in_the_answer_does_not_wake_it(room: Callable[..., Room]) -> None:
    sink = HoldingSink(instant=False)
    cfg = Config.model_validate(
        {"understand": {"commands": {"My name is Jarvis.": ["what is your name"]}}}
    )
    r = room(["what is your name"], sink=sink, cfg=cfg)
    r.command()
    r.log.wait(StateChanged, state="speaking")
    r.source.wake()
    r.source.quiet(0.5)
    sink.finish_playing()
    r.log.wait(TurnEnded, outcome="answered")
    assert len(r.log.of(WakeDetected)) == 1


def test_bare_stop_ends_the_speech(room: Callable[..., Room]) -> None:
    sink = HoldingSink(instant=False)
    r = room(["what time is it", "Stop."], sink=sink)
    r.command()
    r.log.wait(StateChanged, state="speaking")
    r.log.wait(SpeakingStarted)
    r.source.quiet(0.5)
    r.source.say(0.5)
    r.source.quiet(1.0)
    r.log.wait(SpeakingEnded, interrupted=True)
    r.log.wait(TurnEnded, outcome="stopped")
    r.log.wait(StateChanged, count=2, state="idle")


@pytest.mark.parametrize(("text", "seconds"), [("lovely weather", 0.5), ("stop", 3.0)])
def test_other_speech_does_not_end_it(room: Callable[..., Room], text: str, seconds: float) -> None:
    sink = HoldingSink(instant=False)
    r = room(["what time is it", text], sink=sink)
    r.command()
    r.log.wait(StateChanged, state="speaking")
    r.source.quiet(0.5)
    r.source.say(seconds)
    r.source.quiet(1.0)
    # what is long is no bare "stop" and is not written down
    assert r.wait_for(lambda: r.recognizer.texts == ([] if seconds < 1 else [text]))
    r.hear_all()
    sink.finish_playing()
    assert not r.log.wait(SpeakingEnded).interrupted
    assert r.log.wait(TurnEnded).outcome == "answered"


def test_talk_goes_to_the_language_model(room: Callable[..., Room]) -> None:
    r = room(["What do happy cats do?"])
    r.command()
    r.log.wait(TurnEnded, outcome="answered")
    assert r.talker.asked == ["What do happy cats do?"]
    assert [e.text for e in r.log.of(Reply)] == ["Cats purr.", "They like it."]
    assert r.log.of(IntentMatched)[0].source == "dialogue"


def test_a_silent_language_model_is_apologised_for(room: Callable[..., Room]) -> None:
    r = room(["Why do cats purr?"], talk=[LlmError("llm.timeout", "No answer in time.")])
    r.command()
    r.log.wait(TurnEnded)
    assert r.log.of(Trouble)[0].code == "llm.timeout"
    assert "Sorry" in r.log.of(Reply)[0].text


def test_a_failing_recogniser_ends_in_an_apology(room: Callable[..., Room]) -> None:
    r = room([AsrError("asr.failed", "It failed."), "what time is it"])
    r.command()
    r.log.wait(TurnEnded, outcome="failed")
    assert r.log.of(Reply)[0].text == "Sorry, something went wrong."
    r.command()
    r.log.wait(TurnEnded, outcome="answered")


def test_a_failing_voice_leaves_a_sound_and_a_notice(room: Callable[..., Room]) -> None:
    r = room(["what time is it"], voice=BeepVoice(TtsError("tts.failed", "No voice.")))
    r.command()
    r.log.wait(TurnEnded)
    assert r.log.of(Trouble)[0].code == "tts.failed"
    assert r.pipeline.state in ("idle", "listening")


def test_a_timer_rings_until_stop(room: Callable[..., Room]) -> None:
    r = room(["stop"])
    r.registry.scheduler.add("eggs", 0.05)
    r.log.wait(RingStarted)
    assert "eggs" in r.log.wait(Reply).text
    r.source.quiet(0.3)
    r.source.say(0.4)
    r.source.quiet(1.0)
    assert r.log.wait(RingEnded).reason == "stopped"
    assert not r.registry.scheduler.timers("ringing")
    r.log.wait(StateChanged, count=2, state="idle")


@pytest.mark.parametrize("said", ["snooze", "five more minutes"])
def test_a_ring_is_snoozed_without_the_wake_word(room: Callable[..., Room], said: str) -> None:
    r = room([said])
    r.registry.scheduler.add("7 AM", 0.05, kind="alarm")
    r.log.wait(RingStarted)
    r.source.quiet(0.3)
    r.source.say(0.4)
    r.source.quiet(1.0)
    assert r.log.wait(RingEnded).reason == "stopped"
    # it may have been said before the bell could say what it rings for
    assert r.wait_for(lambda: any(e.text.startswith("Snoozed for") for e in r.log.of(Reply)))
    (snoozed,) = r.registry.scheduler.timers()
    assert snoozed.kind == "alarm"


def test_a_ring_that_the_wake_word_silenced_can_be_snoozed(room: Callable[..., Room]) -> None:
    r = room(["snooze for ten minutes"])
    r.registry.scheduler.add("7 AM", 0.05, kind="alarm")
    r.log.wait(RingStarted)
    r.command()
    r.log.wait(TurnEnded)
    assert r.log.of(Reply)[-1].text == "Snoozed for 10 minutes."
    assert [t.name for t in r.registry.scheduler.timers()] == ["7 AM"]


def test_a_reminder_is_told_twice_and_is_over(room: Callable[..., Room]) -> None:
    r = room([])
    r.registry.scheduler.add("water the plants", 0.05, kind="reminder")
    r.log.wait(RingStarted, name="Reminder: water the plants.")
    assert r.log.wait(RingEnded).reason == "stopped"
    told = [reply.text for reply in r.log.of(Reply)]
    assert told == ["Reminder: water the plants."] * 2
    scheduler = r.registry.scheduler
    assert scheduler.timers("ringing") == scheduler.timers("missed") == []


def test_a_ring_is_stopped_by_another_process(room: Callable[..., Room], tmp_path: Path) -> None:
    r = room([])
    r.registry.scheduler.add("", 0.05)
    r.log.wait(RingStarted)
    other = State(tmp_path / "state.db")
    from assistant.skills.timer.scheduler import Scheduler

    Scheduler(other).stop_ringing()
    other.close()
    assert r.log.wait(RingEnded).reason == "stopped"


def test_wake_word_ends_the_ring_and_listens(room: Callable[..., Room]) -> None:
    r = room(["what time is it"])
    r.registry.scheduler.add("", 0.05)
    r.log.wait(RingStarted)
    r.command()
    r.log.wait(RingEnded, reason="stopped")
    r.log.wait(TurnEnded, outcome="answered")
    assert not r.registry.scheduler.timers("ringing")


def test_a_ring_that_nobody_hears_is_told_later(room: Callable[..., Room]) -> None:
    cfg = Config.model_validate({"skills": {"timer": {"ring_max_s": 1}}})
    r = room(["what time is it"], cfg=cfg)
    r.registry.scheduler.add("soup", 0.05)
    assert r.log.wait(RingEnded).reason == "missed"
    r.command()
    r.log.wait(TurnEnded)
    assert "It's" in r.log.of(Reply)[-2].text
    assert "soup" in r.log.of(Reply)[-1].text


def test_neither_microphone_nor_speaker(room: Callable[..., Room]) -> None:
    r = room([], source=PushSource(broken=True), sink=HoldingSink(broken=True))
    r._thread.join(PATIENCE_S)
    assert isinstance(r.error, DeviceError)


def test_no_wake_word_mode_hears_everything(room: Callable[..., Room]) -> None:
    r = room(["what time is it", "what's the date"], wake=False)
    r.command(wake=False)
    r.command(wake=False)
    r.source.end()
    r.log.wait(TurnEnded, count=2)
    assert not r.log.of(WakeDetected)


def test_the_end_of_the_file_ends_the_utterance(room: Callable[..., Room]) -> None:
    r = room(["what time is it"])
    r.source.wake()
    r.source.quiet(0.3)
    r.source.say(1.0)
    r.source.end()
    r.log.wait(TurnEnded, outcome="answered")
    assert r.log.of(SpeechEnded)[0].reason == "end_of_file"


def test_it_shows_that_it_is_alive_while_it_works(room: Callable[..., Room]) -> None:
    r = room(["what time is it"])
    r.command()
    r.log.wait(TurnEnded)
    assert r.beats > 10


def test_nothing_reaches_the_recogniser_before_the_wake_word(room: Callable[..., Room]) -> None:
    r = room([])
    r.source.say(3.0)
    r.source.quiet(1.0)
    r.source.wake()
    r.log.wait(MicrophoneOpened)
    assert r.recognizer.fed == 0
