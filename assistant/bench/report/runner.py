"""Runs the benchmarks of a report one after the other, each as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.bench.report.parts import ROOT, Part, Setup, SkippedError
from assistant.errors import AssistantError, MissingError

DONE, SKIPPED, MISSING, FAILED, STOPPED, WAITING = (
    "done", "skipped", "missing", "failed", "stopped", "waiting",
)  # fmt: skip

_POLL_S = 0.1
_GRACE_S = 10.0
"""How long a benchmark may take to end in order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a benchmark.

    status: done, skipped (does not apply), missing (a model, a package), failed, stopped (by the
    user), waiting (its turn has not come). reason: of all but done. row: what it printed.
    """

    status: str
    reason: str = ""
    row: Any = None
    seconds: float = 0.0
    command: tuple[str, ...] = ()


def run_all(
    parts: Sequence[Part],
    setup: Setup,
    *,
    stop: threading.Event,
    begin: Callable[[int, Part], None],
    done: Callable[[Part, Outcome], None],
) -> None:
    """Every part in order until ``stop`` is set; what has not run then is stopped too.

    begin: told the number, from 1, and the part; done: what came of it.
    """
    for number, part in enumerate(parts, start=1):
        if stop.is_set():
            done(part, Outcome(STOPPED, "the report was stopped before"))
            continue
        begin(number, part)
        done(part, run_one(part, setup, stop))


def run_one(part: Part, setup: Setup, stop: threading.Event) -> Outcome:
    """Raises nothing but what the system raises without processes."""
    try:
        command = part.command(setup)
    except SkippedError as skipped:
        return Outcome(SKIPPED, str(skipped))
    except MissingError as error:
        return Outcome(MISSING, str(error))
    except AssistantError as error:
        return Outcome(FAILED, str(error))
    started = time.monotonic()
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        code = _code(command, out, err, stop)
        seconds = time.monotonic() - started
        texts = [_text(file) for file in (out, err)]
    if code is None:
        return Outcome(STOPPED, "the report was stopped", seconds=seconds)
    shown = tuple(command)
    if code != 0:
        reason = _reason(texts[1]) or f"it ended with exit code {code}"
        status = MISSING if code == MissingError.exit_code else FAILED
        return Outcome(status, reason, seconds=seconds, command=shown)
    try:
        row = json.loads(texts[0].strip().splitlines()[-1])
    except (ValueError, IndexError):
        return Outcome(FAILED, "it printed no figures", seconds=seconds, command=shown)
    return Outcome(DONE, row=row, seconds=seconds, command=shown)


def _code(command: Sequence[str], out: Any, err: Any, stop: threading.Event) -> int | None:
    """The exit code; None when it was stopped."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            while process.poll() is None:
                if stop.wait(_POLL_S):
                    return None
            return process.returncode if not stop.is_set() else None
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode(errors="replace"))


def _reason(err: str) -> str:
    """What a command told last: its sentence and its hint, else its last line."""
    lines = [line for line in err.splitlines() if line.strip()]
    starts = [i for i, line in enumerate(lines) if line.startswith("assistant: ")]
    if starts:
        return " ".join(x.strip() for x in lines[starts[-1] :]).removeprefix("assistant: ")
    return lines[-1].strip() if lines else ""
