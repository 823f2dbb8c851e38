"""Benchmarks of a report as processes: done, skipped, missing, failed, stopped."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant import config
from assistant.bench.report import runner
from assistant.bench.report.parts import PARTS, Part, Setup, SkippedError
from assistant.bench.report.runner import Outcome
from assistant.errors import ModelError

SETUP = Setup(config.load(None))


def part(code: str) -> Part:
    return Part("name", "Title", "About.", lambda setup: [sys.executable, "-c", code])


def outcome(code: str) -> Outcome:
    return runner.run_one(part(code), SETUP, threading.Event())


def test_the_last_line_is_the_row() -> None:
    found = outcome("print('words'); print('{\"n\": 3}')")
    assert (found.status, found.row) == (runner.DONE, {"n": 3})


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("print('no figures')", runner.FAILED, "it printed no figures"),
        ("", runner.FAILED, "it printed no figures"),
        ("raise SystemExit(4)", runner.FAILED, "it ended with exit code 4"),
        ("import os; os.kill(os.getpid(), 9)", runner.FAILED, "it ended with exit code -9"),
        (
            "import sys; print('log', 'assistant: No model.', '  Fetch it.', sep='\\n', "
            "file=sys.stderr); sys.exit(3)",
            runner.MISSING,
            "No model. Fetch it.",
        ),
        ("raise ValueError('odd')", runner.FAILED, "ValueError: odd"),
    ],
)
def test_what_else_may_come_of_it(code: str, status: str, reason: str) -> None:
    found = outcome(code)
    assert (found.status, found.reason, found.row) == (status, reason, None)


def test_what_does_not_apply_starts_nothing() -> None:
    def raising(error: Exception) -> Callable[[Setup], list[str]]:
        def command(setup: Setup) -> list[str]:
            raise error

        return command

    for error, status in (
        (SkippedError("no data"), runner.SKIPPED),
        (ModelError("x", "No model."), runner.MISSING),
    ):
        found = runner.run_one(Part("n", "T", "A.", raising(error)), SETUP, threading.Event())
        assert (found.status, found.reason) == (status, str(error))


def test_stopping_ends_the_process_and_leaves_out_the_rest(tmp_path: Path) -> None:
    mark, stop = tmp_path / "started", threading.Event()
    hanging = f"import pathlib, time; pathlib.Path({str(mark)!r}).touch(); time.sleep(600)"
    found: list[Outcome] = []

    def end_it() -> None:
        while not mark.exists():
            stop.wait(0.02)
        stop.set()

    thread = threading.Thread(target=end_it)
    thread.start()
    runner.run_all(
        [part("print('{}')"), part(hanging), part("print('{}')")],
        SETUP,
        stop=stop,
        begin=lambda number, which: None,
        done=lambda which, outcome: found.append(outcome),
    )
    thread.join()
    assert [o.status for o in found] == [runner.DONE, runner.STOPPED, runner.STOPPED]


def test_each_part_says_what_it_lacks(tmp_path: Path) -> None:
    names = [p.name for p in PARTS]
    assert len(set(names)) == len(names)
    needless = {"latency", "engine", "facts"}
    for data in (None, tmp_path):
        setup = Setup(SETUP.cfg, data=data, quick=True)
        for p in PARTS:
            if p.name not in needless:
                with pytest.raises(SkippedError):
                    p.command(setup)


def test_settings_and_limits_are_handed_on(tmp_path: Path) -> None:
    (tmp_path / "librispeech").mkdir()
    wer = next(p for p in PARTS if p.name == "wer")
    setup = Setup(SETUP.cfg, data=tmp_path, settings=("--set", "asr.bias=off"))
    assert wer.command(setup)[-2:] == ["--set", "asr.bias=off"]
    assert "--limit" not in wer.command(setup)
    quick = wer.command(Setup(SETUP.cfg, data=tmp_path, quick=True))
    assert quick[quick.index("--limit") + 1] == "6"
    limited = wer.command(Setup(SETUP.cfg, data=tmp_path, quick=True, limit=2))
    assert limited[limited.index("--limit") + 1] == "2"
