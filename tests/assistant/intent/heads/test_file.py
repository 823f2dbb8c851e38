"""The file of a head: whole or refused."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from assistant.errors import ModelError
from assistant.intent.heads import file
from assistant.intent.train import main

ARRAYS = {
    "weights": np.arange(-6, 6, dtype=np.int8).reshape(3, 4),
    "scales": np.array([0.5, 2.0], np.float32),
    "letters": np.frombuffer(b"hello", np.uint8),
    "none": np.zeros((0, 4), np.float32),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "some.head"
    assert file.write(path, {"name": "zoë"}, ARRAYS) == path.stat().st_size
    return path


def test_what_was_written_is_read(path: Path) -> None:
    header, arrays = file.read(path)
    assert header == {"name": "zoë"}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
    assert [p.name for p in path.parent.iterdir()] == ["some.head"]


def test_any_changed_byte_and_any_cut_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :])
        with pytest.raises(ModelError):
            file.read(path)
    for length in range(0, len(whole), 5):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError):
            file.read(path)


def test_other_files_are_refused_with_a_sentence(tmp_path: Path) -> None:
    other = tmp_path / "other.head"
    other.write_text("intents: {}\n" * 20, encoding="utf-8")
    with pytest.raises(ModelError, match=r"other.head is not a head of this program\."):
        file.read(other)
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        file.read(tmp_path / "none.head")
    with pytest.raises(ModelError, match="cannot be read"):
        file.read(tmp_path)
    with pytest.raises(ModelError, match="is no file"):
        file.read(Path("/dev/zero"))
    with pytest.raises(ModelError, match="cannot be written"):
        file.write(tmp_path / "no" / "folder.head", {}, ARRAYS)


def test_types_that_the_format_has_not_are_a_mistake_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="float64"):
        file.write(tmp_path / "x.head", {}, {"x": np.zeros(2)})


def test_only_files_are_written_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ModelError, match="it is no file"):
            file.write(place, {}, ARRAYS)
    assert (tmp_path / "pipe").is_fifo()


def test_a_place_that_cannot_be_is_told_before_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("no rows", encoding="utf-8")
    for out in (tmp_path / "none" / "x.head", tmp_path):
        assert main(["--set", "plain", "--data", str(data), "--out", str(out)]) == 3
        assert "The head cannot be written" in capsys.readouterr().err
