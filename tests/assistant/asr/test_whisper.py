from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from assistant.asr.cleanup import words_of
from assistant.asr.whisper import FILES, MOST_HOTWORD_TOKENS, Whisper, hotwords
from assistant.errors import ModelError
from tests.assistant import clips


@pytest.fixture(scope="module")
def whisper() -> Whisper:
    pytest.importorskip("faster_whisper")
    recognizer = Whisper(clips.model("whisper-tiny-en"))
    recognizer.load()
    return recognizer


def count(text: str) -> int:
    """One token a word."""
    return len(text.split())


def test_hotwords_are_whole_phrases_in_order() -> None:
    assert hotwords([], count) is None
    assert hotwords(["", "  "], count) is None
    assert hotwords(["iced  mocha", "tea", "iced mocha"], count) == "iced mocha, tea"


def test_hotwords_fit_and_a_short_one_may_follow_a_long_one() -> None:
    long = " ".join(["word"] * 150)
    longer = " ".join(["other"] * 150)
    assert hotwords([long, longer, "tea"], count) == f"{long}, tea"
    many = hotwords([f"phrase {i}" for i in range(500)], count)
    assert many is not None
    phrases = many.split(", ")
    assert len(phrases) == MOST_HOTWORD_TOKENS // 3
    assert phrases[-1] == f"phrase {len(phrases) - 1}"


def test_hotwords_with_new_words_come_before_what_they_cover() -> None:
    said = ["a bit of milk", "a bit of cream", "milk", "cream of milk", "latte"]
    chosen = hotwords(said, count)
    assert chosen == "a bit of milk, a bit of cream, latte, milk, cream of milk"


def test_hears_people(whisper: Whisper) -> None:
    whisper.start()
    whisper.feed(clips.bundled("beckett.wav"))
    heard = whisper.finish()
    assert "fail better" in " ".join(words_of(heard.text))
    assert heard.confidence is not None
    assert heard.confidence > 0.5


def test_a_vocabulary_helps_with_rare_words(whisper: Whisper) -> None:
    sound = clips.spoken("Call Zbigniew Wrobel.")
    texts = []
    for vocabulary in ([], ["Zbigniew Wrobel", "call"]):
        whisper.start(vocabulary)
        whisper.feed(sound)
        texts.append(whisper.finish().text)
    assert "Zbigniew" in texts[1]


def test_a_vocabulary_far_too_long_is_cut(whisper: Whisper) -> None:
    whisper.start([f"entry number {i} of a long list" for i in range(400)])
    whisper.feed(clips.spoken("What time is it?"))
    assert whisper.finish().text


@pytest.mark.parametrize("kind", ["white", "fan", "hum"])
def test_noise_is_no_text(whisper: Whisper, kind: str) -> None:
    whisper.start()
    whisper.feed(clips.noise(3, 600, kind))
    assert whisper.finish().text == ""


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_an_error_and_never_a_download(
    tmp_path: Path, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faster_whisper")
    source = clips.model("whisper-tiny-en")
    for name in FILES:
        if name != missing:
            (tmp_path / name).symlink_to(source / name)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(ModelError, match=missing):
        Whisper(tmp_path).load()


def test_a_truncated_model_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("faster_whisper")
    source = clips.model("whisper-tiny-en")
    for name in FILES:
        shutil.copy(source / name, tmp_path / name)
    whole = (tmp_path / "model.bin").read_bytes()
    (tmp_path / "model.bin").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="cannot be loaded"):
        Whisper(tmp_path).load()
