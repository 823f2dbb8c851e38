from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.asr import moonshine_network
from assistant.asr.cleanup import words_of
from assistant.asr.moonshine import Moonshine, believed, pieces
from assistant.asr.moonshine_network import FILES, FIRST_TOKENS, Decoded
from assistant.asr.moonshine_search import Beam
from assistant.asr.moonshine_tokens import read_tokens
from assistant.audio.base import SAMPLE_RATE, Pcm
from assistant.errors import ModelError
from tests.assistant import clips


@pytest.fixture(scope="module")
def moonshine() -> Moonshine:
    recognizer = Moonshine(clips.model("moonshine-tiny-en"))
    recognizer.load()
    return recognizer


def text_of(recognizer: Moonshine, sound: Pcm) -> str:
    recognizer.start()
    recognizer.feed(sound)
    return recognizer.finish().text


def distance(expected: str, heard: str) -> tuple[int, int]:
    """Word errors, and words expected. Contractions and titles as they are written."""
    left, right = _spoken_words(expected), _spoken_words(heard)
    row = list(range(len(right) + 1))
    for i, word in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1], len(left)


def _spoken_words(text: str) -> list[str]:
    titles = {"mister": "mr", "missus": "mrs", "doctor": "dr"}
    return [titles.get(word, word) for word in words_of(text.replace("-", " "))]


def test_text_that_is_unsure_is_searched_for_and_clear_text_is_not(
    moonshine: Moonshine, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = moonshine._network
    assert network is not None
    searched: list[Beam | None] = []
    search = moonshine_network.search

    def noted(*args: Any) -> Beam | None:
        searched.append(search(*args))
        return searched[-1]

    monkeypatch.setattr(moonshine_network, "search", noted)
    clear = clips.spoken("What time is it?")
    assert text_of(moonshine, clear) == "What time is it?"
    assert not searched
    noisy = clips.mixed(clips.bundled("beckett.wav")[: 8 * SAMPLE_RATE], clips.noise(8, 900), 3)
    sound = noisy.astype(np.float32) / 32768
    found = network.transcribe(sound)
    assert len(searched) == 1
    monkeypatch.setattr("assistant.asr.moonshine_network.SURE_ENOUGH", -99.0)
    greedy = network.transcribe(sound)
    assert found.mean_logprob >= greedy.mean_logprob
    assert found.finished
    assert 5 < len(words_of(found.text)) < 40


def test_word_errors_on_read_speech(moonshine: Moonshine) -> None:
    rows = [row for row in clips.rows("librispeech") if row["text"]][::3]
    errors = total = 0
    for row in rows:
        heard = text_of(moonshine, clips.recording("librispeech", row))
        wrong, words = distance(row["text"], heard)
        errors, total = errors + wrong, total + words
    assert total > 150
    assert errors / total <= 0.15, f"word error rate {errors / total:.1%} of {total} words"


def test_commands_of_people_give_text(moonshine: Moonshine) -> None:
    rows = clips.rows("barista-speech")[::8]
    empty = [
        row["file"]
        for row in rows
        if not text_of(moonshine, clips.recording("barista-speech", row))
    ]
    assert len(empty) <= 0.1 * len(rows), empty


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("What time is it?", ["what time is it"]),
        ("Stop.", ["stop"]),
        ("Yes.", ["yes"]),
        ("How many timers are set?", ["how many timers are set"]),
        (
            "Set a timer for ten minutes.",
            ["set a timer for ten minutes", "set a timer for 10 minutes"],
        ),
    ],
)
def test_hears_the_own_voice(moonshine: Moonshine, said: str, words: list[str]) -> None:
    assert " ".join(words_of(text_of(moonshine, clips.spoken(said)))) in words


@pytest.mark.parametrize("kind", ["white", "fan", "hum"])
@pytest.mark.parametrize("seconds", [0.6, 2, 5, 30])
def test_noise_is_no_text(moonshine: Moonshine, kind: str, seconds: float) -> None:
    assert text_of(moonshine, clips.noise(seconds, 600, kind)) == ""


def test_real_noise_hardly_ever_gives_text(moonshine: Moonshine) -> None:
    found, count = [], 0
    for row in clips.rows("noise-rir"):
        if row["kind"] == "rir" or "rir" in row["file"]:
            continue
        sound = clips.recording("noise-rir", row)[: 15 * SAMPLE_RATE]
        for begin in range(0, len(sound) - 3 * SAMPLE_RATE, 3 * SAMPLE_RATE):
            count += 1
            text = text_of(moonshine, sound[begin : begin + 3 * SAMPLE_RATE])
            if text:
                found.append((row["file"], text))
    assert count > 20
    assert len(found) <= 0.15 * count, found


def test_long_sound_is_recognised_whole(moonshine: Moonshine) -> None:
    once = clips.bundled("beckett.wav")
    sound = np.concatenate([once, clips.silence(0.5)] * 4)
    assert len(sound) > 40 * SAMPLE_RATE
    assert words_of(text_of(moonshine, sound)).count("ever") >= 6


def test_pieces_are_cut_in_the_pauses() -> None:
    loud = clips.noise(18, 3000)
    sound = np.concatenate([loud, clips.silence(0.6), loud, clips.silence(0.6), loud])
    parts = pieces(sound)
    assert np.array_equal(np.concatenate(parts), sound)
    assert [round(len(p) / SAMPLE_RATE) for p in parts] == [18, 19, 18]
    for part in parts[:-1]:
        assert not part[-800:].any()


def test_short_sound_is_one_piece() -> None:
    assert len(pieces(clips.noise(24, 100))) == 1
    assert [len(p) for p in pieces(clips.silence(0))] == [0]


def decoded(text: str, *logprobs: float) -> Decoded:
    return Decoded(text, np.array(logprobs), True, float(np.mean(logprobs[:FIRST_TOKENS])))


@pytest.mark.parametrize(
    ("text", "logprobs", "expected"),
    [
        ("Turn it off.", [-0.4, -0.1, -0.1, -0.1], "Turn it off."),
        # The first tokens tell: a loop grows surer of itself with every round.
        ("Go to the shop.", [-2.5, -1.4, -1.2, -1.0, -0.9, -0.8, -0.1, -0.1], ""),
        ("Go home. Go home. Go home.", [-0.5] * 9, ""),
        ("You", [-0.1, -0.1], ""),
        ("Thank you for watching!", [-0.2] * 6, ""),
        ("Thank you.", [-0.1, -0.1, -0.1], "Thank you."),
        ("Thank you.", [-1.5, -0.2, -0.4], ""),
        ("♪ La la la ♪", [-0.2] * 6, ""),
        ("© transcript Emily Beynon", [-0.2] * 9, ""),
        ("?", [-0.1, -0.1], ""),
        ("", [-0.1], ""),
        ("Thank you for the coffee.", [-0.5] * 6, "Thank you for the coffee."),
    ],
)
def test_what_is_believed(text: str, logprobs: list[float], expected: str) -> None:
    assert believed(decoded(text, *logprobs)) == expected


def test_it_keeps_to_one_thread(tmp_path: Path) -> None:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("threads are counted through /proc")
    code = textwrap.dedent(
        """
        import os, sys, time
        from pathlib import Path
        import numpy as np
        import onnxruntime
        before = len(os.listdir("/proc/self/task"))
        from assistant.asr.moonshine import Moonshine
        recognizer = Moonshine(Path(sys.argv[1]), threads=1)
        recognizer.load()
        recognizer.start()
        recognizer.feed((np.random.default_rng(0).standard_normal(32000) * 900).astype(np.int16))
        recognizer.finish()
        print(len(os.listdir("/proc/self/task")) - before)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(clips.model("moonshine-tiny-en"))],
        cwd=clips.ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kept", [0.0, 0.7])
def test_a_damaged_model_is_an_error(tmp_path: Path, name: str, kept: float) -> None:
    source = clips.model("moonshine-tiny-en")
    for file in FILES:
        shutil.copy(source / file, tmp_path / file)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(ModelError) as caught:
        Moonshine(tmp_path).load()
    assert str(tmp_path) in caught.value.message


def test_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.bin"
    path.write_bytes(b"\x05<unk>\x03<s>\x04</s>\x00\x02ab" + bytes([128 + 2, 1]) + b"x" * 130)
    assert read_tokens(path) == [b"<unk>", b"<s>", b"</s>", b"", b"ab", b"x" * 130]
    path.write_bytes(b"\x05<unk>\x03<s>\x04</s>\x09ab")
    with pytest.raises(ModelError, match="truncated"):
        read_tokens(path)
