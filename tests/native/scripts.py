"""Runs the scripts beside this file with the virtual environment's cmake in reach."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
TIMEOUT_S = 5400
_MISSING_TOOLS = 3


def run(script: str, build: str, settings: dict[str, str], tmp_path: Path) -> str:
    """What tests/native/``script`` prints; builds in build/``build``, which is kept.

    Skips where the script says that a tool is missing, fails with its last lines otherwise.
    """
    log = tmp_path / "log"
    command = ["sh", str(ROOT / "tests" / "native" / script), str(ROOT / "build" / build)]
    with log.open("w") as out:
        # A file and not a pipe: what a script leaves running cannot hold the test up.
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **settings, "PATH": PATH},
            timeout=TIMEOUT_S,
            check=False,
        )
    text = log.read_text(errors="replace")
    last = "\n".join(text.splitlines()[-40:])
    if done.returncode == _MISSING_TOOLS:
        pytest.skip(last)
    assert done.returncode == 0, f"{script} ended with {done.returncode}:\n{last}"
    return text
