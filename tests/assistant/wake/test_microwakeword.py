from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant import wake
from assistant.audio.base import Pcm
from assistant.config import WakeConfig
from assistant.errors import ModelError
from assistant.wake.base import WakeDetector
from assistant.wake.microwakeword import MicroWakeWord
from tests.assistant import clips

WORDS = ("hey_jarvis", "okay_nabu", "alexa", "hey_mycroft")
PHRASES = {
    "hey_jarvis": "Hey Jarvis!",
    "okay_nabu": "Okay Nabu!",
    "alexa": "Alexa!",
    "hey_mycroft": "Hey Mycroft!",
}


@pytest.fixture(scope="module")
def loaded() -> Iterator[MicroWakeWord]:
    detector = MicroWakeWord({word: clips.model(f"wake-{word}") for word in WORDS})
    detector.load()
    yield detector
    detector.close()


@pytest.fixture
def detector(loaded: MicroWakeWord) -> MicroWakeWord:
    loaded.reset()
    return loaded


def heard(detector: WakeDetector, *parts: Pcm) -> list[str]:
    """Words that woke, over a second of faint noise before and after."""
    sound = clips.join([clips.silence(1), *parts, clips.silence(1)], floor_rms=4)
    found = [detector.process(frame) for frame in clips.frames(sound)]
    return [w.word for w in found if w is not None]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("speed", [0.9, 1.1])
def test_hears_each_phrase_once(detector: MicroWakeWord, word: str, speed: float) -> None:
    assert heard(detector, clips.spoken(PHRASES[word], speed)) == [word]


def test_hears_people(detector: MicroWakeWord) -> None:
    wanted = {word.replace("_", " "): word for word in WORDS}
    said = [row for row in clips.rows("wake-words") if row["phrase"] in wanted][::3]
    missed = []
    for row in said:
        detector.reset()
        words = heard(detector, clips.recording("wake-words", row))
        if words != [wanted[row["phrase"]]]:
            missed.append((row["file"], words))
    assert len(missed) <= 0.05 * len(said), missed


def test_near_words_of_people_do_not_wake_the_default(detector: MicroWakeWord) -> None:
    other = [row for row in clips.rows("wake-words") if row["phrase"] != "hey jarvis"][::8]
    woke = []
    for row in other:
        detector.reset()
        if "hey_jarvis" in heard(detector, clips.recording("wake-words", row)):
            woke.append(row["file"])
    assert len(woke) <= 1, woke


@pytest.mark.parametrize("name", ["two_cities.wav", "beckett.wav"])
def test_speech_without_the_word_does_not_wake(detector: MicroWakeWord, name: str) -> None:
    assert heard(detector, clips.bundled(name)) == []


@pytest.mark.parametrize("kind", ["white", "fan", "hum"])
@pytest.mark.parametrize("rms", [30, 3000])
def test_noise_does_not_wake(detector: MicroWakeWord, kind: str, rms: float) -> None:
    assert heard(detector, clips.noise(10, rms, kind)) == []


def test_one_utterance_wakes_once_and_two_wake_twice(detector: MicroWakeWord) -> None:
    phrase = clips.spoken("Hey Jarvis!")
    gap = clips.silence(3 - len(phrase) / clips.SAMPLE_RATE)
    assert heard(detector, phrase, gap, phrase) == ["hey_jarvis", "hey_jarvis"]


def test_twenty_minutes_of_silence_do_not_make_it_deaf(loaded: MicroWakeWord) -> None:
    path = clips.model("wake-hey_jarvis")
    detector = MicroWakeWord({"hey_jarvis": path})
    detector.load()
    second = clips.silence(1)
    before = os.times()
    for _ in range(20 * 60):
        assert detector.process(second) is None
    after = os.times()
    assert heard(detector, clips.spoken("Hey Jarvis!")) == ["hey_jarvis"]
    used = after.user + after.system - before.user - before.system
    assert used < 0.05 * 20 * 60, f"idle listening used {used:.1f} s of CPU for 20 minutes"
    detector.close()


def test_threshold_of_the_config_counts() -> None:
    strict = MicroWakeWord({"alexa": clips.model("wake-alexa")}, {"alexa": 1.0})
    strict.load()
    assert heard(strict, clips.spoken("Alexa!")) == []
    strict.close()


def test_create_takes_the_words_of_the_config() -> None:
    clips.model("wake-alexa")
    made = wake.create(WakeConfig(words=("Alexa", "hey_jarvis")))
    assert made is not None
    made.load()
    assert heard(made, clips.spoken("Alexa!")) == ["alexa"]


@pytest.mark.parametrize("suffix", [".json", ".tflite"])
def test_own_model_by_path(tmp_path: Path, suffix: str) -> None:
    source = clips.model("wake-alexa")
    settings = json.loads(source.read_text(encoding="utf-8"))
    settings["model"] = "computer.tflite"
    (tmp_path / "computer.json").write_text(json.dumps(settings), encoding="utf-8")
    shutil.copy(source.with_suffix(".tflite"), tmp_path / "computer.tflite")
    made = wake.create(WakeConfig(words=(str(tmp_path / f"computer{suffix}"),)))
    assert made is not None
    made.load()
    assert heard(made, clips.spoken("Alexa!")) == ["computer"]


@pytest.mark.parametrize("kept", [0, 100, 4000, 40_000])
def test_a_truncated_model_is_an_error_and_no_crash(tmp_path: Path, kept: int) -> None:
    source = clips.model("wake-hey_jarvis")
    shutil.copy(source, tmp_path / "hey_jarvis.json")
    whole = source.with_suffix(".tflite").read_bytes()
    (tmp_path / "hey_jarvis.tflite").write_bytes(whole[:kept])
    with pytest.raises(ModelError, match="truncated"):
        MicroWakeWord({"hey_jarvis": tmp_path / "hey_jarvis.json"}).load()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"model": "x.tflite", "micro": {}}', "\x00"])
def test_a_wrong_description_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"x\.json"):
        MicroWakeWord({"x": tmp_path / "x.json"}).load()


def test_missing_weights(tmp_path: Path) -> None:
    shutil.copy(clips.model("wake-alexa"), tmp_path / "alexa.json")
    with pytest.raises(ModelError, match="does not exist"):
        MicroWakeWord({"alexa": tmp_path / "alexa.json"}).load()


def test_use_before_load_says_so() -> None:
    with pytest.raises(ModelError, match="not loaded"):
        MicroWakeWord({}).process(clips.silence(0.01))
