"""Files that are whole are read; all others get a sentence."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant.errors import ModelFileError
from kvquant.safetensors import MAX_HEADER, as_float32, read_table
from tests.kvquant.hf_model import HfModel, f32, safetensors_bytes, with_header

NUMBERS = np.arange(6, dtype="<f4").reshape(2, 3)


def entry(dtype: Any = "F32", shape: Any = (2, 3), offsets: Any = (0, 24)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def refused(tmp_path: Path, raw: bytes) -> ModelFileError:
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw)
    with pytest.raises(ModelFileError) as caught:
        read_table(path)
    assert path.name in caught.value.message
    assert "\n" not in str(caught.value)
    return caught.value


def test_shapes_and_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    half = NUMBERS.astype("<f2")
    brain = (NUMBERS.view("<u4") >> 16).astype("<u2")
    path.write_bytes(safetensors_bytes({
        "a": f32(NUMBERS),
        "b": ("F16", [3, 2], half.tobytes()),
        "c": ("BF16", [6], brain.tobytes()),
        "none": ("I64", [0, 4], b""),
        "one": ("F32", [], NUMBERS[0, 1:2].tobytes()),
    }, format="pt"))  # fmt: skip
    table = read_table(path)
    assert list(table) == ["a", "b", "c", "none", "one"]
    assert np.array_equal(table["a"].read(), NUMBERS)
    assert np.array_equal(as_float32(table["b"].read()), NUMBERS.reshape(3, 2))
    assert np.array_equal(as_float32(table["c"].read()), NUMBERS.ravel())
    assert table["one"].read() == 1.0
    assert (table["none"].shape, table["none"].nbytes) == ((0, 4), 0)


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b"", "truncated", "header's length"),
        (b"\x02\0\0\0\0\0\0", "truncated", "header's length"),
        (struct.pack("<Q", 2), "truncated", "inside its header"),
        (struct.pack("<Q", MAX_HEADER + 1) + b"{}", "foreign", str(MAX_HEADER + 1)),
        (struct.pack("<Q", 2**64 - 1) + b"{}", "foreign", "longer"),
        (b"GGUF\x03\0\0\0" + bytes(64), "foreign", "no safetensors"),
        (with_header(b"[]"), "foreign", "no safetensors"),
        (with_header(b""), "foreign", "no safetensors"),
        (with_header(b"{"), "json", "no JSON"),
        (with_header(b'{"a": \xff}'), "json", "no JSON"),
        (with_header(b'{"a": NaN}'), "json", "no JSON"),
        (with_header(b'{"\\ud800": 1}'), "json", "no JSON"),
        (with_header(b'{"a":' * 100_000), "json", "nested"),
        (with_header(b'{"a": 1' + b"0" * 5000 + b"}"), "json", "no JSON"),
        (with_header(b'{"t": {}, "t": {}}'), "json", "'t' twice"),
        (with_header({"t": 3}), "header", "'t'"),
        (with_header({"t": {"dtype": "F32", "shape": [1]}}), "header", "data_offsets"),
        (with_header({"t": entry() | {"more": 1}}, bytes(24)), "header", "'t'"),
        (with_header({"t": entry("Q4")}, bytes(24)), "dtype", "'Q4'"),
        (with_header({"t": entry(["F32"])}, bytes(24)), "dtype", "dtype"),
        (with_header({"t": entry(shape=[2, -3])}, bytes(24)), "shape", "[2, -3]"),
        (with_header({"t": entry(shape=[2.0, 3])}, bytes(24)), "shape", "[2.0, 3]"),
        (with_header({"t": entry(shape=[True, 6])}, bytes(24)), "shape", "[True, 6]"),
        (with_header({"t": entry(shape=6)}, bytes(24)), "shape", "6"),
        (with_header({"t": entry(shape=[1] * 7 + [2, 3])}, bytes(24)), "shape", "'t'"),
        (with_header({"t": entry(shape=[2**62, 8])}, bytes(24)), "offsets", "does not need"),
        (with_header({"t": entry(shape=[2, 2])}, bytes(24)), "offsets", "24 bytes"),
        (with_header({"t": entry(offsets=[24, 0])}, bytes(24)), "offsets", "[24, 0]"),
        (with_header({"t": entry(offsets=[0, 24, 48])}, bytes(24)), "offsets", "data_offsets"),
        (with_header({"t": entry(offsets=[-24, 0])}, bytes(24)), "offsets", "[-24, 0]"),
        (with_header({"t": entry()}, bytes(23)), "truncated", "'t' is not all there"),
        (with_header({"t": entry()}, bytes(25)), "trailing", "1 bytes after"),
        (with_header({"t": entry(offsets=[2**62, 2**62 + 24])}, bytes(24)), "overlap", "gap"),
        (with_header({"t": entry(offsets=[8, 32])}, bytes(32)), "overlap", "gap before"),
        (with_header({"t": entry(), "u": entry()}, bytes(24)), "overlap", "inside another"),
        (with_header({"t": entry(), "u": entry(offsets=[20, 44])}, bytes(44)), "overlap", "'u'"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, raw: bytes, code: str, words: str) -> None:
    error = refused(tmp_path, raw)
    assert error.code == f"model.{code}"
    assert words in error.message


def test_cut_anywhere(tmp_path: Path) -> None:
    raw = safetensors_bytes(HfModel().tensors)
    start = 8 + int.from_bytes(raw[:8], "little")
    ends = [start + e["data_offsets"][1] for e in json.loads(raw[8:start]).values()]
    cuts = {*range(24), *range(24, start, 61), start, *(e + s for e in ends for s in (-1, 0, 1))}
    for cut in sorted(cut for cut in cuts if cut < len(raw)):
        refused(tmp_path, raw[:cut])


def test_damaged_headers_never_give_more_than_an_error(tmp_path: Path) -> None:
    raw = bytearray(safetensors_bytes({"a": f32(NUMBERS), "b": f32(NUMBERS)}))
    start = 8 + int.from_bytes(raw[:8], "little")
    rng = random.Random(5)
    path = tmp_path / "model.safetensors"
    survived = 0
    for _ in range(400):
        bad = raw.copy()
        for _ in range(rng.randint(1, 3)):
            bad[rng.randrange(start)] = rng.choice(b'0123456789[]{},:"-.eF \x00\xff')
        path.write_bytes(bad)
        try:
            table = read_table(path)
        except ModelFileError:
            continue
        survived += 1
        assert all(t.offset + t.nbytes <= len(raw) for t in table.values())
    assert survived < 200


def test_a_file_that_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors_bytes({"t": f32(NUMBERS)}))
    tensor = read_table(path)["t"]
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ModelFileError, match="shorter"):
        tensor.read()
    path.unlink()
    with pytest.raises(ModelFileError, match="There is no model"):
        tensor.read()
