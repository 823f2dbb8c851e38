"""The commands as a user types them, with real models."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.assistant import clips
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
RECORD_KEYS = {
    "file",
    "wake",
    "transcript",
    "intent",
    "intent_score",
    "slots",
    "reply",
    "action",
    "audio_out",
    "ms",
}


def assistant(
    *args: str, stdin: str = "", env: dict[str, str] | None = None, timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assistant", *args],
        cwd=ROOT,
        input=stdin,
        # sound of answers that nobody named a folder for stays in the test's own
        env={**os.environ, "TMPDIR": str(Path(os.environ["XDG_STATE_HOME"]).parent), **(env or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert "Traceback" not in done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def wav(path: Path, samples: np.ndarray, rate: int = 16_000, width: int = 2) -> Path:
    """samples: float in ±1, shape (n,) or (n, channels)."""
    table = samples if samples.ndim == 2 else samples[:, None]
    with wave.open(str(path), "wb") as file:
        file.setnchannels(table.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        if width == 1:
            data = (table * 127 + 128).astype(np.uint8).tobytes()
        elif width == 2:
            data = (table * 32767).astype("<i2").tobytes()
        else:
            data = (table * 8388607).astype("<i4").reshape(-1, 1).view(np.uint8)
            data = data.reshape(-1, 4)[:, :3].tobytes()
        file.writeframes(data)
    return path


@pytest.fixture(scope="session")
def question(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """ "Hey Jarvis. Set a timer for twelve minutes." in float, 16 kHz."""
    parts = [
        clips.silence(0.5),
        clips.spoken("Hey Jarvis."),
        clips.silence(0.3),
        clips.spoken("Set a timer for twelve minutes."),
        clips.silence(0.5),
    ]
    return clips.join(parts, floor_rms=8).astype(np.float32) / 32768


def test_demo_answers_its_own_questions(tmp_path: Path) -> None:
    for name in ("smollm2-135m-instruct", "moonshine-tiny-en", "en_US-joe-medium"):
        clips.model(name)
    done = assistant("demo", "--json", "--out", str(tmp_path), "--set", "dialogue.timeout_s=600")
    records = lines(done)
    assert done.returncode == 0, done.stderr
    assert len(records) == 3
    for record in records:
        assert record.keys() >= RECORD_KEYS
        assert record["wake"] == "hey_jarvis"
        assert record["reply"]
        assert record["ms"]["total"] > 0
        with wave.open(record["audio_out"]) as file:
            assert file.getnframes() > file.getframerate() / 2
    assert [r["source"] for r in records] == ["grammar", "grammar", "dialogue"]


def test_ask_sets_a_named_timer() -> None:
    done = assistant("ask", "start a timer for two and a half hours named bread", "--json")
    (answer,) = lines(done)
    assert done.returncode == 0
    assert answer.keys() >= {
        "text", "intent", "intent_score", "source", "slots", "reply", "action", "ms"
    }  # fmt: skip
    assert answer["intent"] == "timer.set"
    assert answer["slots"] == {"duration": 9000, "name": "bread"}
    assert answer["action"]["seconds"] == 9000
    assert "2 hours 30 minutes" in answer["reply"]


def test_ask_keeps_the_conversation_from_line_to_line() -> None:
    done = assistant("ask", "--json", stdin="set a timer\n\nsix minutes\nhow much time is left\n")
    asked, given, left = lines(done)
    assert asked["reply"].endswith("?")
    assert given["action"]["seconds"] == 360
    assert left["intent"] == "timer.left"


def test_timers_outlive_the_process() -> None:
    assistant("ask", "set a ten minute tea timer")
    (answer,) = lines(assistant("ask", "what timers are set", "--json"))
    assert "tea" in answer["reply"]


def test_without_a_place_to_keep_things_it_answers_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("no folder")
    nowhere = ("--set", f"service.state_dir={tmp_path / 'taken'}")
    known = assistant("ask", *nowhere, "what is nineteen plus four")
    assert (known.returncode, known.stdout) == (0, "19 plus 4 is 23.\n")
    assert len(known.stderr.splitlines()) == 1, known.stderr
    assert "Nothing can be kept" in known.stderr
    lost = assistant("ask", *nowhere, "set a timer for nineteen minutes")
    assert lost.returncode == 4
    assert "not saved" in lost.stdout
    assert "Timer set" not in lost.stdout
    assert assistant("say", *nowhere, "hello", "--print").returncode == 0


@pytest.mark.parametrize("text", ["Größe ☕ 二 😀", "stell einen Wecker für früh", "\x00\x07"])
def test_any_characters_under_a_plain_locale(text: str) -> None:
    env = {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "", "PYTHONUTF8": "0"}
    done = assistant("ask", "--json", "--set", "llm.enabled=false", stdin=text + "\n", env=env)
    assert done.returncode == 0, done.stderr
    assert all(answer["reply"] for answer in lines(done))


def test_say_prints_the_spoken_form_without_a_voice() -> None:
    done = assistant("say", "--print", "--json", "It costs $5 at 7:30 pm.", "--set", "tts.voice=no")
    (said,) = lines(done)
    assert said.keys() >= {"text", "spoken", "chunks"}
    assert said["spoken"] == "It costs five dollars at seven thirty p.m."


def test_say_writes_a_wav(tmp_path: Path) -> None:
    clips.model("en_US-joe-medium")
    target = tmp_path / "said.wav"
    done = assistant("say", "Good morning.", "--out", str(target))
    assert done.returncode == 0, done.stderr
    with wave.open(str(target)) as file:
        assert 0.4 < file.getnframes() / file.getframerate() < 3


@pytest.mark.parametrize(
    ("rate", "channels", "width"),
    [(16_000, 1, 1), (16_000, 1, 2), (48_000, 2, 2), (44_100, 2, 3), (22_050, 1, 3), (8_000, 1, 2)],
)
def test_hear_takes_any_wav(
    tmp_path: Path, question: np.ndarray, rate: int, channels: int, width: int
) -> None:
    import soxr

    clips.model("moonshine-tiny-en")
    sound = np.clip(soxr.resample(question, 16_000, rate), -1, 1)
    table = np.repeat(sound[:, None], channels, axis=1)
    path = wav(tmp_path / "q.wav", table, rate, width)
    done = assistant("hear", str(path), "--json", "--no-wake", "--set", "llm.enabled=false")
    records = lines(done)
    assert done.returncode == 0, done.stderr
    assert any(r["slots"].get("duration") == 720 for r in records), records


def test_hear_finds_the_speech_in_one_of_six_channels(tmp_path: Path, question: np.ndarray) -> None:
    clips.model("moonshine-tiny-en")
    table = np.random.default_rng(0).normal(0, 0.0005, (len(question), 6)).astype(np.float32)
    table[:, 3] += question
    path = wav(tmp_path / "array.wav", table)
    quiet = ("--json", "--set", "llm.enabled=false")
    for how in ((), ("--channel", "4"), ("--set", "audio.input.channel=4")):
        records = lines(assistant("hear", str(path), *quiet, *how))
        assert [r["slots"] for r in records] == [{"duration": 720}], how


def bad_wavs(folder: Path) -> dict[str, Path]:
    """Files that are no usable recording, by what is wrong with them."""
    text = folder / "text.wav"
    text.write_text("This is not sound.\n" * 20, encoding="utf-8")
    empty = folder / "empty.wav"
    empty.write_bytes(b"")
    nothing = wav(folder / "nothing.wav", np.zeros(0, np.float32))
    zeros = wav(folder / "zeros.wav", np.zeros(32_000, np.float32))
    header = folder / "header.wav"
    header.write_bytes(zeros.read_bytes()[:20])
    return {
        "a text file": text,
        "no byte": empty,
        "no sample": nothing,
        "only zeros": zeros,
        "half a header": header,
        "a folder": folder,
        "not there": folder / "absent.wav",
    }


@pytest.mark.parametrize(
    "what",
    ["a text file", "no byte", "no sample", "only zeros", "half a header", "a folder", "not there"],
)
def test_bad_recordings_get_one_sentence(tmp_path: Path, what: str) -> None:
    path = bad_wavs(tmp_path)[what]
    done = assistant("hear", str(path), "--json", "--set", "llm.enabled=false")
    assert done.returncode in (2, 3), done
    assert done.stdout == ""
    assert path.name in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("ask", "hi", "--set", "llm.modle=x"), 2, "Did you mean llm.model?"),
        (("ask", "hi", "--set", "tts.speed=fast"), 2, "tts.speed"),
        (("ask", "hi", "--config", "absent.yaml"), 2, "absent.yaml"),
        (("ask", "tell me about cats", "--set", "llm.model=nothing"), 3, "nothing"),
        (("say", "hi", "--set", "tts.voice=nobody", "--out", "x.wav"), 3, "nobody"),
        (("frobnicate",), 2, "invalid choice"),
        (("models", "fetch", "no-such-model"), 3, "no-such-model"),
        (("models", "list", "no-such-model"), 3, "no-such-model"),
    ],
)
def test_mistakes_get_a_sentence_and_an_exit_code(
    args: tuple[str, ...], code: int, words: str
) -> None:
    done = assistant(*args)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_without_language_model_commands_are_answered() -> None:
    absent = ("--set", "llm.model=/nowhere/talk.gguf")
    done = assistant("ask", "--json", "volume 30 percent", *absent)
    assert (done.returncode, done.stderr) == (0, "")
    assert lines(done)[0]["action"] is not None
    done = assistant("ask", "--json", *absent, stdin="do owls hoot\nvolume 40 percent\n")
    talk, volume = lines(done)
    assert "language model is missing" in talk["reply"]
    assert volume["action"] is not None
    assert done.returncode == 3
    assert "/nowhere/talk.gguf" in done.stderr


def test_a_truncated_model_is_named(tmp_path: Path) -> None:
    whole = clips.model("smollm2-135m-instruct")
    files = list(whole.glob("*.gguf")) if whole.is_dir() else [whole]
    cut = tmp_path / "cut.gguf"
    with files[0].open("rb") as file:
        cut.write_bytes(file.read(1_000_000))
    done = assistant("ask", "tell me about cats", "--set", f"llm.model={cut}")
    assert done.returncode == 3, done.stderr
    assert "cut.gguf" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_config_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    text = "wake:\n  words: [hey_jarvis]\n  chimes: true\ntts:\n  speed: 9\n"
    path.write_text(text, encoding="utf-8")
    done = assistant("ask", "hi", "--config", str(path))
    assert done.returncode == 2
    assert f"{path}:3" in done.stderr
    assert f"{path}:5" in done.stderr
    assert path.read_text(encoding="utf-8") == text


def test_run_without_a_sound_device(tmp_path: Path) -> None:
    clips.model("moonshine-tiny-en")
    config = tmp_path / "none.yaml"
    config.write_text(
        "llm:\n  enabled: false\naudio:\n  input:\n    device: no such microphone\n"
        "  output:\n    device: no such speaker\n",
        encoding="utf-8",
    )
    done = assistant("run", "--config", str(config))
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


QUIET = ("--set", "llm.enabled=false")


def spawn(*args: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "assistant", *args],
        cwd=ROOT,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ask_that_waits_for_a_line_ends_at_a_signal(number: signal.Signals) -> None:
    asking = spawn("ask", *QUIET, stdin=subprocess.PIPE)
    assert asking.stdin is not None
    assert asking.stdout is not None
    asking.stdin.write("volume 20 percent\n")
    asking.stdin.flush()
    assert "20" in asking.stdout.readline()
    asking.send_signal(number)
    assert asking.wait(PATIENCE_S) == 130
    _, complaint = asking.communicate()
    assert complaint in ("", "assistant: interrupted\n")


@pytest.mark.parametrize("end", ["pipe", "full"])
def test_output_that_nobody_takes(tmp_path: Path, end: str) -> None:
    """Records come from a subscriber of the events; the pipe closes before the first."""
    sound = wav(tmp_path / "a.wav", clips.spoken("What time is it?") / 32768)
    words = ["hear", str(sound), "--json", "--no-wake", *QUIET]
    if end == "pipe":
        reading, out = os.pipe()
        os.close(reading)
    else:
        out = os.open("/dev/full", os.O_WRONLY)
    done = subprocess.run(
        [sys.executable, "-m", "assistant", *words],
        cwd=ROOT,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(out)
    if end == "pipe":
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 4
        assert done.stderr == "assistant: No space left on device.\n"


def test_answer_that_cannot_be_written(tmp_path: Path) -> None:
    """A file of the answer's name that is a folder stands in for a full disk."""
    sound = wav(tmp_path / "a.wav", clips.spoken("What time is it?") / 32768)
    (tmp_path / "out" / "a-answer-1.wav").mkdir(parents=True)
    done = assistant(
        "hear", str(sound), "--no-wake", "--json", "--out", str(tmp_path / "out"), *QUIET
    )
    (record,) = lines(done)
    assert record["intent"] == "clock.time"
    assert record["audio_out"] is None
    assert done.returncode == 2
    assert "a-answer-1.wav" in done.stderr


def test_no_answer_leaves_no_folder(tmp_path: Path) -> None:
    done = assistant("hear", str(tmp_path / "none.wav"), *QUIET, env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_closed_streams() -> None:
    command = f'"{sys.executable}" -m assistant ask {" ".join(QUIET)}'
    for closed in ("<&-", "'volume 30 percent' >&-"):
        done = subprocess.run(
            ["sh", "-c", f"{command} {closed}"], cwd=ROOT, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
