"""Labelled sentences in the forms that public sets have."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from assistant.errors import InputFileError
from assistant.intent.data_sets import read
from assistant.intent.heads.example import Example, Mark


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    return path


def test_intents_alone(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {"split": "val", "text": "hi", "intent": "greet", "domain": "x"},
        {"text": "bye", "intent": "leave"},
    )
    assert read(path) == [Example("hi", "greet", (), "val"), Example("bye", "leave")]


def test_slots_with_and_without_their_place(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {
            "text": "a b a",
            "intent": "x",
            "slots": [
                {"slot": "two", "value": "a", "start": 4},
                {"slot": "one", "value": "B", "start": -1},
                {"slot": "gone", "value": "z"},
            ],
        },
        {"text": "in Rome", "intent": "x", "slots": {"city": "Rome"}},
    )
    first, second = read(path)
    assert first.marks == (Mark(2, 3, "one"), Mark(4, 5, "two"))
    assert second.marks == (Mark(3, 7, "city"),)


def test_marks_within_an_annotation(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {
            "text": "at five wake me at five am",
            "intent": "x",
            "annotation": "at five wake [who : me] at [time :  five  am ]",
        },
        {"text": "no marks", "intent": "x", "annotation": "no marks"},
    )
    first, second = read(path)
    assert [(m.slot, first.text[m.start : m.end]) for m in first.marks] == [
        ("who", "me"),
        ("time", "five am"),
    ]
    assert first.marks[1].start == 19
    assert second.marks == ()


def test_folders_and_packed_files(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", {"text": "b", "intent": "x"})
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as out:
        out.write('{"text": "a", "intent": "x"}\n')
    (tmp_path / "notes.txt").write_text("no data", encoding="utf-8")
    assert [e.text for e in read(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"text": 1, "intent": "x"}', '{"text": "x"}', '{"text": "x", "intent": ""}'],
)
def test_a_wrong_row_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "intent": "x"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputFileError, match=r"Line 2 of .*a\.jsonl"):
        read(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="no labelled sentences"):
        read(tmp_path)
    with pytest.raises(InputFileError, match="cannot be read"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "bad.jsonl.gz").write_bytes(b"not packed")
    with pytest.raises(InputFileError, match="cannot be read"):
        read(tmp_path / "bad.jsonl.gz")
    (tmp_path / "cut.jsonl").write_bytes(b'{"text": "\xff"}')
    with pytest.raises(InputFileError, match="cannot be read"):
        read(tmp_path / "cut.jsonl")
