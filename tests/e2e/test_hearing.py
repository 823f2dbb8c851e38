"""Whole turns on real sound: our own voice, human speech, noise, echo."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fakes import EventLog

from assistant.assembly import Assembly
from assistant.audio.base import FRAME_SAMPLES, SAMPLE_RATE, AudioSource, Frame, Pcm
from assistant.audio.wav_sink import write_wav
from assistant.audio.wavfile import WavSource
from assistant.bench.word_errors import word_errors, words
from assistant.config import Config
from assistant.events import (
    Event,
    Reply,
    RingEnded,
    RingStarted,
    SpeakingEnded,
    SpeechEnded,
    TurnEnded,
    WakeDetected,
)
from assistant.hear import hear
from assistant.report import Record
from tests.assistant import clips
from tests.assistant.audio.fakes_audio import loopback
from tests.patience import PATIENCE_S, until

LATEST_MS = 5000
"""The end of a sentence is known by then, the time of a busy machine included."""


class QuietRoom(AudioSource):
    """A microphone in real time, in a room in which the test says something when it wants."""

    def __init__(self) -> None:
        self.paced = True
        self.latest = 0.0
        """Seconds by which the reader was behind at most."""
        self._said: deque[Pcm] = deque()
        self._noise = clips.noise(60, 10)
        self._index = 0

    def start(self) -> None:
        self._began = time.monotonic()

    def stop(self) -> None:
        pass

    def say(self, sound: Pcm) -> None:
        n = len(sound) // FRAME_SAMPLES
        self._said.extend(np.split(sound[: n * FRAME_SAMPLES], n))

    def read(self, timeout: float = 0.5) -> Frame | None:
        t = self._began + (self._index + 1) * FRAME_SAMPLES / SAMPLE_RATE
        late = time.monotonic() - t
        if late < 0:
            time.sleep(-late)
        self.latest = max(self.latest, late)
        position = self._index * FRAME_SAMPLES
        self._index += 1
        begin = position % len(self._noise)
        samples = self._noise[begin : begin + FRAME_SAMPLES]
        if self._said:
            samples = samples + self._said.popleft()
        return Frame(samples, position, t)


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assembly]:
    for name in ("moonshine-tiny-en", "en_US-joe-medium", "wake-hey_jarvis", "silero-vad"):
        clips.model(name)
    state = tmp_path_factory.mktemp("state")
    cfg = Config.model_validate({"llm": {"enabled": False}, "service": {"state_dir": str(state)}})
    made = Assembly(cfg)
    made.load()
    yield made
    made.close()


def run(
    assembly: Assembly, tmp_path: Path, sound: Pcm, *, wake: bool = True, realtime: bool = False
) -> list[Record]:
    assembly.registry.scheduler.remove(assembly.registry.scheduler.timers())
    path = tmp_path / "sound.wav"
    write_wav(path, sound, SAMPLE_RATE)
    records: list[Record] = []
    hear(
        assembly,
        [path],
        use_wake=wake,
        realtime=realtime,
        channel=0,
        audio_dir=None,
        done=records.append,
        stop=threading.Event(),
    )
    return records


def said(*parts: Pcm) -> Pcm:
    return clips.join([clips.silence(0.6), *parts, clips.silence(0.3)], floor_rms=10)


@pytest.mark.parametrize("gap_ms", [0, 100, 300, 900])
def test_command_at_any_distance_after_the_wake_word(
    assembly: Assembly, tmp_path: Path, gap_ms: int
) -> None:
    sound = said(
        clips.spoken("Hey Jarvis."),
        clips.silence(gap_ms / 1000),
        clips.spoken("Set a timer for fifteen minutes."),
    )
    (record,) = run(assembly, tmp_path, sound)
    assert record["wake"] == "hey_jarvis"
    assert record["slots"] == {"duration": 900}, record
    assert record["ms"]["endpoint"] < LATEST_MS


@pytest.mark.parametrize("gap", [0.4, 3.0])
def test_the_wake_word_said_twice_begins_one_turn(
    assembly: Assembly, tmp_path: Path, gap: float
) -> None:
    sound = said(
        clips.spoken("Hey Jarvis."),
        clips.silence(gap),
        clips.spoken("Hey Jarvis."),
        clips.silence(0.3),
        clips.spoken("What day is it today?"),
    )
    (record,) = run(assembly, tmp_path, sound)
    assert record["intent"] == "clock.weekday", record
    assert record["ms"]["endpoint"] < LATEST_MS


@pytest.mark.parametrize("pause", [0.3, 0.8, 1.2])
def test_hesitation_in_the_middle_of_a_command(
    assembly: Assembly, tmp_path: Path, pause: float
) -> None:
    sound = said(
        clips.spoken("Hey Jarvis."),
        clips.silence(0.4),
        trimmed(clips.spoken("Set a timer for")),
        clips.silence(pause),
        clips.spoken("fifteen minutes."),
    )
    (record,) = run(assembly, tmp_path, sound)
    assert record["slots"] == {"duration": 900}, record


def trimmed(sound: Pcm) -> Pcm:
    """Without the silence that the voice leaves at both ends."""
    loud = np.flatnonzero(np.abs(sound) > 300)
    return sound[loud[0] : loud[-1]]


DURATIONS = [
    ("half an hour", 1800),
    ("one and a half hours", 5400),
    ("ninety seconds", 90),
    ("a quarter of an hour", 900),
    ("two hours and five minutes", 7500),
    ("forty five minutes", 2700),
]


def test_a_spoken_duration_is_executed_as_said_or_not_at_all(
    assembly: Assembly, tmp_path: Path
) -> None:
    right = 0
    for text, seconds in DURATIONS:
        sound = said(clips.spoken(f"Set a timer for {text}."))
        for record in run(assembly, tmp_path, sound, wake=False):
            if record["action"]:
                assert record["action"]["seconds"] == seconds, record
                right += 1
    assert right >= len(DURATIONS) - 1


@pytest.mark.parametrize("kind", ["white", "fan", "hum"])
def test_noise_after_the_wake_word_is_no_command(
    assembly: Assembly, tmp_path: Path, kind: str
) -> None:
    sound = said(clips.spoken("Hey Jarvis."), clips.noise(30, 250, kind))
    records = run(assembly, tmp_path, sound)
    assert len(records) == 1
    assert records[0]["action"] is None
    assert records[0]["outcome"] == "not_heard"


def test_noise_behind_a_command_does_not_keep_it_listening(
    assembly: Assembly, tmp_path: Path
) -> None:
    command = clips.join(
        [clips.spoken("Hey Jarvis."), clips.silence(0.3), clips.spoken("What time is it?")]
    )
    sound = clips.join([clips.silence(0.5), command, clips.silence(8.0)])
    noisy = clips.mixed(sound, clips.noise(2, 1000, "fan"), snr_db=10)
    (record,) = run(assembly, tmp_path, noisy)
    assert record["intent"] == "clock.time"
    assert record["ms"]["endpoint"] < LATEST_MS


def test_human_recordings_are_written_down(assembly: Assembly, tmp_path: Path) -> None:
    text = (
        "it was the best of times it was the worst of times it was the age of wisdom "
        "it was the age of foolishness it was the epoch of belief it was the epoch of incredulity"
    )
    sound = clips.bundled("two_cities.wav")[: 16 * SAMPLE_RATE]
    records = run(assembly, tmp_path, sound, wake=False)
    heard = words(" ".join(r["transcript"] for r in records))
    n = len(words(text))
    assert word_errors(words(text), heard[:n]) / n <= 0.2, heard


def test_word_error_rate_on_read_speech(assembly: Assembly, tmp_path: Path) -> None:
    # all of them are measured by the bench command
    rows = [r for r in clips.rows("librispeech") if r["text"]][::4]
    wrong = total = 0
    for row in rows:
        sound = clips.recording("librispeech", row)
        records = run(assembly, tmp_path, sound, wake=False)
        reference = words(row["text"])
        wrong += word_errors(reference, words(" ".join(r["transcript"] for r in records)))
        total += len(reference)
    assert wrong / total <= 0.15, f"{wrong} of {total}"


def test_human_orders_give_text(assembly: Assembly, tmp_path: Path) -> None:
    rows = clips.rows("barista-speech")[::24]
    some = 0
    for row in rows:
        records = run(assembly, tmp_path, clips.recording("barista-speech", row), wake=False)
        some += bool(words(" ".join(r["transcript"] for r in records)))
    assert some >= 0.9 * len(rows)


def test_speech_without_the_wake_word_is_not_listened_to(
    assembly: Assembly, tmp_path: Path
) -> None:
    assert run(assembly, tmp_path, clips.bundled("beckett.wav")) == []


def test_its_own_echo_neither_wakes_nor_interrupts_it(assembly: Assembly, tmp_path: Path) -> None:
    """Six decibels down, the own voice is in the microphone all the time it speaks."""
    path = tmp_path / "echo.wav"
    question = said(
        clips.spoken("Hey Jarvis."), clips.silence(0.4), clips.spoken("What can you do?")
    )
    write_wav(path, np.concatenate([question, clips.noise(14, 10)]), SAMPLE_RATE)
    source, sink = loopback(WavSource(path, realtime=True, tail_s=0.5), -6.0)
    events: list[Event] = []
    unsubscribe = assembly.bus.subscribe(events.append)
    try:
        assembly.pipeline(source, sink).run(threading.Event())
    finally:
        unsubscribe()
    assert len([e for e in events if isinstance(e, WakeDetected)]) == 1
    assert [e.interrupted for e in events if isinstance(e, SpeakingEnded)] == [False]
    assert len([e for e in events if isinstance(e, Reply)]) >= 1
    answered = [e for e in events if isinstance(e, TurnEnded) and e.outcome == "answered"]
    assert len(answered) == 1
    assert len([e for e in events if isinstance(e, SpeechEnded) and e.reason != "no_speech"]) == 1


@pytest.mark.parametrize(("word", "after"), [("Stop.", 2.0), ("Stop.", 3.0), ("Hey Jarvis.", 0.8)])
def test_a_ring_is_ended_over_its_own_sound(
    assembly: Assembly, tmp_path: Path, word: str, after: float
) -> None:
    """Said while the bell and the announcement are in the microphone, six decibels down."""
    scheduler = assembly.registry.scheduler
    assert scheduler is not None
    scheduler.remove([*scheduler.timers(), *scheduler.timers("ringing")])
    quiet = QuietRoom()
    source, sink = loopback(quiet, -6.0)
    log, stop = EventLog(), threading.Event()
    unsubscribe = assembly.bus.subscribe(log)
    running = threading.Thread(target=lambda: assembly.pipeline(source, sink).run(stop))
    running.start()
    try:
        scheduler.add("pasta", 0.1)
        log.wait(RingStarted)
        for _ in range(5):
            quiet.say(np.concatenate([clips.silence(after), clips.spoken(word)]))
            if comes(lambda: bool(log.of(RingEnded)), seconds=after + 15):
                break
            # once is enough, unless the machine could not keep time
            assert quiet.latest > 0.2
        assert log.wait(RingEnded).reason == "stopped"
        until(lambda: not scheduler.timers("ringing"))
    finally:
        stop.set()
        running.join(PATIENCE_S)
        unsubscribe()


def comes(true: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()
