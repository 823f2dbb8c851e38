"""One file or several: every tensor once, from where the index says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant.checkpoint import INDEX, SINGLE, read_checkpoint
from kvquant.errors import ModelFileError
from tests.kvquant.hf_model import f32, safetensors_bytes

A, B, C = (f32(np.full(4, n)) for n in range(3))


def two_files(folder: Path, weight_map: Any = None) -> Path:
    (folder / "one.safetensors").write_bytes(safetensors_bytes({"a": A, "b": B}))
    (folder / "two.safetensors").write_bytes(safetensors_bytes({"c": C}))
    if weight_map is None:
        weight_map = {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


def test_several_files(tmp_path: Path) -> None:
    tensors = read_checkpoint(two_files(tmp_path))
    assert {name: float(t.read()[0]) for name, t in tensors.items()} == {"a": 0, "b": 1, "c": 2}


def test_a_single_file_comes_first(tmp_path: Path) -> None:
    two_files(tmp_path)
    (tmp_path / SINGLE).write_bytes(safetensors_bytes({"x": A}))
    assert list(read_checkpoint(tmp_path)) == ["x"]


@pytest.mark.parametrize(
    ("weight_map", "words"),
    [
        ([], "no weight_map"),
        ({}, "no weight_map"),
        ({"a": "../one.safetensors"}, "not a file beside it"),
        ({"a": "/one.safetensors"}, "not a file beside it"),
        ({"a": "x\\one.safetensors"}, "not a file beside it"),
        ({"a": "one\0.safetensors"}, "not a file beside it"),
        ({"a": ".."}, "not a file beside it"),
        ({"a": ""}, "not a file beside it"),
        ({"a": 3}, "not a file beside it"),
        ({f"t{i}": f"{i}.safetensors" for i in range(1001)}, "1001 files"),
        ({"a": "three.safetensors"}, "no three.safetensors"),
        ({"a": "one.safetensors"}, "'b' in one.safetensors, where it is"),
        ({"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"}, "'b'"),
        (
            {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors",
             "d": "two.safetensors"},
            "'d' in two.safetensors, where it is not",
        ),
    ],
)  # fmt: skip
def test_index_and_files_that_do_not_agree(tmp_path: Path, weight_map: Any, words: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        read_checkpoint(two_files(tmp_path, weight_map))
    assert words in caught.value.message


def test_a_tensor_in_two_files(tmp_path: Path) -> None:
    two_files(tmp_path)
    (tmp_path / "two.safetensors").write_bytes(safetensors_bytes({"c": C, "a": A}))
    with pytest.raises(ModelFileError, match="'a' in two"):
        read_checkpoint(tmp_path)


def test_no_weights(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="There is neither"):
        read_checkpoint(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(ModelFileError, match="only pytorch_model"):
        read_checkpoint(tmp_path)
