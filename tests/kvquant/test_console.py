"""Commands in odd surroundings: closed streams, full disks, other encodings, readers that leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from kvquant import console
from kvquant.errors import SettingError


def smolllm(
    model: Path, *options: str, stdin: bytes = b"", stdout: int | IO[bytes] = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    """A process of its own, whose locale knows nothing but ASCII."""
    command = [sys.executable, "-m", "kvquant.cli", "--model", str(model), "--max_seq_len", "64"]
    environ = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"}
    return subprocess.run(
        [*command, "--threads", "1", *options], input=stdin, stdout=stdout, env=environ,
        stderr=subprocess.PIPE, timeout=600, check=False,
    )  # fmt: skip


def test_a_prompt_beyond_ascii_may_come_through_a_pipe(tiny_path: Path) -> None:
    done = smolllm(tiny_path, "--json", "--n", "3", stdin="gr\u00fc\u00df dich \U0001f600".encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["prompt_tokens"] > 3


def test_bytes_that_are_no_text_are_replaced(tiny_path: Path) -> None:
    done = smolllm(tiny_path, "--json", "--n", "3", stdin=b"the \xff\xfe the")
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_input_is_an_empty_prompt(tiny_path: Path) -> None:
    command = f"exec {sys.executable} -m kvquant.cli --max_seq_len 64 --model '{tiny_path}' <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=600, check=False)
    assert done.returncode == 2
    assert done.stderr == b"smolllm: The prompt is empty. Give at least one token.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("form", [["--json"], []])
def test_full_disk(tiny_path: Path, form: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = smolllm(tiny_path, "--prompt", "hello", "--n", "3", *form, stdout=full)
    assert done.returncode == 4
    assert done.stderr == b"smolllm: No space left on device.\n"


def test_reader_that_leaves(tiny_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = smolllm(tiny_path, "--prompt", "hello", "--json", stdout=pipe)
    assert (done.returncode, done.stderr) == (0, b"")


def failing(error: BaseException) -> int:
    raise error


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (SettingError("some.code", "It cannot be.", "Do that."), 2, "x: It cannot be. Do that.\n"),
        (PermissionError(13, "Permission denied", "f.png"), 4, "x: f.png: Permission denied.\n"),
        (KeyboardInterrupt(), 130, "\n"),
    ],
)  # fmt: skip
def test_one_line_for_each_error(
    error: BaseException, code: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert console.guarded("x", lambda: failing(error)) == code
    assert capsys.readouterr().err == shown
