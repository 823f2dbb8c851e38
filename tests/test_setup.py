"""What `make` says on a machine that lacks something, to a user who may not install it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PORTAUDIO = "libportaudio.so.2 (libc6) => /lib/libportaudio.so.2"


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def system(tmp_path: Path):
    """Runs `make system` as a user without rights; returns exit code and output."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    script(tmp_path / "id", "echo 1000")

    def run(*, python: Path | str = sys.executable, cxx: str = "true", libraries: str = PORTAUDIO):
        script(tmp_path / "ldconfig", f"echo '{libraries}'")
        env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CXX": cxx}
        done = subprocess.run(
            ["make", "-s", "system", f"PYTHON={python}"],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.strip()

    return run


def python_without(folder: Path, word: str) -> Path:
    real = sys.executable
    text = f'case "$*" in *{word}*) exit 1;; esac\nexec "{real}" "$@"'
    return script(folder / "python", text)


def test_nothing_is_said_when_all_is_there(system) -> None:
    assert system() == (0, "")


def test_portaudio_is_needed_for_devices_only(system) -> None:
    code, said = system(libraries="libc.so.6")
    assert code == 0
    assert said.endswith("sudo apt install libportaudio2")


@pytest.mark.parametrize(
    ("word", "package"), [("ensurepip", "python3-venv"), ("Python.h", "python3-dev")]
)
def test_parts_of_python_that_debian_leaves_out(
    system, tmp_path: Path, word: str, package: str
) -> None:
    code, said = system(python=python_without(tmp_path, word))
    assert code != 0
    assert said.endswith(f"sudo apt install {package}")


def test_everything_that_is_missing_is_named_at_once(system) -> None:
    code, said = system(cxx="no-such-compiler", libraries="")
    assert code != 0
    assert said.endswith("sudo apt install g++ libportaudio2")


def test_python_that_is_absent_or_old(system, tmp_path: Path) -> None:
    for python in ("no-such-python", python_without(tmp_path, "version_info")):
        code, said = system(python=python)
        assert code != 0
        assert said.startswith("Python 3.11 or newer is needed")
