"""The log of use: whole lines, a size, and a disk that may be full."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from assistant.dialogue.use_log import CODE, Entry, UseLog, read
from assistant.errors import InputFileError
from assistant.events import Event, Recovered, Trouble

TEA = Entry("2026-03-10T14:00:00+00:00", "Tee ☕ timer", "timer.set", {"duration": 240}, 1.0)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    log = UseLog(tmp_path / "new" / "use.jsonl", lambda event: None)
    log.add(TEA)
    log.add(TEA)
    assert read(log.path) == [TEA, TEA]
    assert log.path.stat().st_mode & 0o077 == 0, "nobody else may read it"


def test_it_does_not_grow_for_ever(tmp_path: Path) -> None:
    log = UseLog(tmp_path / "use.jsonl", lambda event: None, max_bytes=1000)
    for _ in range(50):
        log.add(TEA)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["use.jsonl", "use.jsonl.1"]
    assert all(0 < file.stat().st_size <= 1000 for file in files)
    assert read(files[0]), "only whole lines"
    assert read(files[1])


def test_a_full_disk_is_a_trouble_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    log = UseLog(tmp_path / "use.jsonl", events.append)
    log.add(TEA)
    whole = os.write

    def half(file: int, data: bytes) -> int:
        return whole(file, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    log.add(TEA, turn=7)
    log.add(TEA)
    monkeypatch.undo()
    (trouble,) = events
    assert isinstance(trouble, Trouble)
    assert (trouble.code, trouble.turn) == (CODE, 7)
    assert "full" in trouble.message
    log.add(TEA)
    assert isinstance(events[-1], Recovered)
    assert read(log.path) == [TEA, TEA], "no half line is left"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    events: list[Event] = []
    (tmp_path / "file").write_text("")
    UseLog(tmp_path / "file" / "use.jsonl", events.append).add(TEA)
    assert [event.code for event in events if isinstance(event, Trouble)] == [CODE]


def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "use.jsonl"
    with pytest.raises(InputFileError, match="cannot be read"):
        read(path)
    path.write_text('{"time": "t", "text": "x", "intent": "y"}\n\n[1]\n')
    with pytest.raises(InputFileError, match="Line 3"):
        read(path)
    path.write_text('{"time": "t"}\n')
    with pytest.raises(InputFileError, match="Line 1"):
        read(path)


def test_marks_and_line_ends_of_other_systems(tmp_path: Path) -> None:
    log = UseLog(tmp_path / "use.jsonl", lambda event: None)
    odd = replace(TEA, text="one\u2028two\x85three")
    log.add(odd)
    log.path.write_bytes(b"\xef\xbb\xbf" + log.path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert read(log.path) == [odd]


@pytest.mark.parametrize(
    "part", [{"text": 5}, {"time": 5}, {"slots": [1]}, {"reply": None}, {"score": "high"}]
)
def test_values_of_another_kind_are_no_entry(tmp_path: Path, part: dict[str, object]) -> None:
    path = tmp_path / "use.jsonl"
    path.write_text(json.dumps({**asdict(TEA), **part}) + "\n", encoding="utf-8")
    with pytest.raises(InputFileError, match="Line 1"):
        read(path)


def test_what_never_ends_is_no_file() -> None:
    with pytest.raises(InputFileError, match="it is no file"):
        read(Path("/dev/zero"))


def test_a_pipe_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    events: list[Event] = []
    UseLog(tmp_path / "pipe", events.append).add(TEA)
    (trouble,) = events
    assert isinstance(trouble, Trouble)
    assert trouble.code == CODE
