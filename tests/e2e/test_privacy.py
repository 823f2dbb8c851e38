"""What was said stays out of logs, state and temporary files unless that is switched on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assistant import models

ROOT = Path(__file__).resolve().parents[2]
CANARY = "marmalade"


@pytest.fixture(scope="module")
def question(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spoken sentence with the canary in it, made by the assistant's own voice."""
    present = {m["name"] for m in models.list_models() if m["present"]}
    wanted = {"en_US-joe-medium", "moonshine-tiny-en", "silero-vad"}
    if not wanted <= present:
        pytest.skip(f"models are not fetched: {', '.join(sorted(wanted - present))}")
    file = tmp_path_factory.mktemp("speech") / "question.wav"
    text = f"Is there any {CANARY} left in the kitchen?"
    subprocess.run(
        [sys.executable, "-m", "assistant", "say", text, "--out", str(file)], cwd=ROOT, check=True
    )
    return file


def files_with(word: str, folder: Path) -> list[str]:
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and word.encode() in path.read_bytes().lower():
            found.append(path.name)
    return found


@pytest.mark.parametrize("log_speech", [False, True])
def test_canary_is_heard_and_then_nowhere(question: Path, tmp_path: Path, log_speech: bool) -> None:
    temporary, state = tmp_path / "tmp", tmp_path / "state"
    temporary.mkdir()
    settings = (
        "wake.backend=none",
        "audio.output.backend=null",
        "llm.enabled=false",
        "tts.backend=none",
        "service.log_level=debug",
        f"privacy.log_speech={log_speech}",
    )
    words = [word for text in settings for word in ("--set", text)]
    env = dict(os.environ, TMPDIR=str(temporary), STATE_DIRECTORY=str(state), ASSISTANT_CONFIG="")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "assistant", "run", "--audio", str(question), "--json", *words],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        heard = ""
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                event = json.loads(line)
                if event["event"] == "Transcript":
                    heard = event["text"]
                if event["event"] == "TurnEnded":
                    break
        # As a power cut would end it: nothing is tidied up.
        process.kill()
        process.wait()
    assert CANARY in heard.lower()
    assert files_with(CANARY, tmp_path) == (["log"] if log_speech else [])


def test_libraries_leave_nothing_in_the_home_folder(question: Path, tmp_path: Path) -> None:
    """onnxruntime, left to itself, makes a device number there and sends reports with it."""
    home = tmp_path / "home"
    home.mkdir()
    env = {name: text for name, text in os.environ.items() if not name.startswith("XDG_")}
    env.pop("ORT_DISABLE_TELEMETRY", None)  # set here already, since this imports the assistant
    env |= {
        "HOME": str(home),
        "STATE_DIRECTORY": str(tmp_path / "state"),
        "ASSISTANT_MODELS": str(models.models_dir()),
    }
    command = [sys.executable, "-m", "assistant", "hear", "--no-wake", "--json", str(question)]
    done = subprocess.run(
        [*command, "--set", "llm.enabled=false"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert CANARY in json.loads(done.stdout)["transcript"].lower()
    assert [path for path in home.rglob("*") if path.is_file()] == []
