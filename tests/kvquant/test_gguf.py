"""Model files that are whole are read; all others get a sentence."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from kvquant.errors import ModelFileError
from kvquant.gguf import ModelFile
from tests.kvquant.tiny_model import F32, gguf_bytes, text, tiny_metadata, tiny_tensors, typed

FLOATS = np.arange(6, dtype="<f4")
ONE_TENSOR = {"t": ((2, 3), F32, FLOATS.tobytes())}


def opened(tmp_path: Path, raw: bytes) -> ModelFile:
    path = tmp_path / "model.gguf"
    path.write_bytes(raw)
    return ModelFile.open(path)


def refused(tmp_path: Path, raw: bytes) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        opened(tmp_path, raw)
    return caught.value


def header(tensors: int = 0, keys: int = 0, *, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


def tensor_entry(
    name: bytes = b"t", dims: tuple[int, ...] = (3, 2), kind: int = F32, offset: int = 0
) -> bytes:
    packed = struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
    return text(name) + packed + struct.pack("<IQ", kind, offset)


def with_tensors(*entries: bytes, data: int = 64) -> bytes:
    head = header(len(entries)) + b"".join(entries)
    return head + bytes(-len(head) % 32) + bytes(data)


def test_metadata_of_every_type(tmp_path: Path) -> None:
    values = {"a": 3, "b": -4, "c": 0.5, "d": True, "e": "grün", "f": [1, -2], "g": ["x", ""]}
    read = opened(tmp_path, gguf_bytes(values, {})).metadata
    assert read.pop("f").tolist() == values.pop("f")
    assert read == values
    assert type(read["d"]) is bool


def test_tensors_keep_shape_and_values(tmp_path: Path) -> None:
    file = opened(tmp_path, gguf_bytes({"general.alignment": 64}, ONE_TENSOR, alignment=64))
    assert np.array_equal(file.read("t"), FLOATS.reshape(2, 3))
    assert file.tensors["t"].offset % 64 == 0


def test_version_2_is_read(tmp_path: Path) -> None:
    raw = gguf_bytes({"k": 1}, ONE_TENSOR).replace(struct.pack("<I", 3), struct.pack("<I", 2), 1)
    assert opened(tmp_path, raw).metadata == {"k": 1}


@pytest.mark.parametrize(
    ("raw", "code", "word"),
    [
        (b"", "foreign", "not a GGUF"),
        (b"GG", "foreign", "not a GGUF"),
        (b"RIFF" + bytes(60), "foreign", "not a GGUF"),
        (b"GGUF", "truncated", "version"),
        (header(version=1), "version", "version 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "endian", "big-endian"),
        (header(2**40), "truncated", "tensors"),
        (header(0, 2**63), "truncated", "metadata keys"),
        (header(0, 1) + text("") + typed(1) + bytes(40), "metadata", "empty or twice"),
        (header(0, 2) + 2 * (text("k") + typed(1)) + bytes(40), "metadata", "empty or twice"),
        (header(0, 1) + struct.pack("<Q", 2**62) + bytes(40), "metadata", "bytes"),
        (header(0, 1) + text(b"\xff\xfe") + typed(1) + bytes(40), "metadata", "UTF-8"),
        (header(0, 1) + text("k") + struct.pack("<I", 99) + bytes(40), "metadata", "type 99"),
        (header(0, 1) + text("k") + struct.pack("<IB", 7, 2) + bytes(40), "metadata", "truth"),
        (header(0, 1) + text("k") + struct.pack("<IIQ", 9, 4, 2**60) + bytes(9), "truncated", "k"),
        (header(0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 2**60) + bytes(9), "truncated", "k"),
        (header(0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 1) + bytes(40), "metadata", "array"),
        (gguf_bytes({"general.alignment": 0}, {}), "alignment", "alignment 0"),
        (gguf_bytes({"general.alignment": 48}, {}), "alignment", "alignment 48"),
        (gguf_bytes({"general.alignment": "x"}, {}), "alignment", "'x'"),
        (with_tensors(tensor_entry(dims=())), "shape", "0 dimensions"),
        (with_tensors(tensor_entry(dims=(1, 1, 1, 1, 1))), "shape", "5 dimensions"),
        (with_tensors(tensor_entry(dims=(0, 2))), "shape", "shape"),
        (with_tensors(tensor_entry(dims=(3, 0))), "shape", "shape"),
        (with_tensors(tensor_entry(dims=(2**32, 2**32))), "shape", "shape"),
        (with_tensors(tensor_entry(dims=(2**63, 2))), "shape", "shape"),
        (with_tensors(tensor_entry(dims=(2**31,))), "truncated", "not all there"),
        (with_tensors(tensor_entry(dims=(2**42 + 1,))), "truncated", "not all there"),
        (with_tensors(tensor_entry(dims=(33,), kind=8)), "shape", "multiple of 32"),
        (with_tensors(tensor_entry(kind=7)), "type", "type 7"),
        (with_tensors(tensor_entry(kind=2**31)), "type", "type"),
        (with_tensors(tensor_entry(offset=4)), "alignment", "unaligned"),
        (with_tensors(tensor_entry(offset=2**60)), "truncated", "not all there"),
        (with_tensors(tensor_entry(name=b"")), "tensors", "empty or twice"),
        (with_tensors(tensor_entry(), tensor_entry(offset=32)), "tensors", "empty or twice"),
        (with_tensors(tensor_entry(), tensor_entry(b"u")), "overlap", "inside another"),
    ],
)
def test_damage_is_named(tmp_path: Path, raw: bytes, code: str, word: str) -> None:
    error = refused(tmp_path, raw)
    assert error.code == f"model.{code}"
    assert word in error.message
    assert error.exit_code == 3


def test_no_such_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="There is no model file"):
        ModelFile.open(tmp_path / "nothing.gguf")
    with pytest.raises(ModelFileError, match="cannot be read"):
        ModelFile.open(tmp_path)


def test_cut_anywhere(tmp_path: Path) -> None:
    raw = gguf_bytes(tiny_metadata(), tiny_tensors())
    path = tmp_path / "whole.gguf"
    path.write_bytes(raw)
    tensors = ModelFile.open(path).tensors.values()
    rng = random.Random(4)
    cuts = {t.offset for t in tensors} | {rng.randrange(len(raw)) for _ in range(100)}
    # Behind the last tensor lies at most padding.
    end = max(t.offset + t.nbytes for t in tensors)
    for cut in cuts:
        if cut < end:
            refused(tmp_path, raw[:cut])


def test_shrinking_after_it_was_opened(tmp_path: Path) -> None:
    file = opened(tmp_path, gguf_bytes({}, ONE_TENSOR))
    with file.path.open("r+b") as f:
        f.truncate(file.tensors["t"].offset + 8)
    with pytest.raises(ModelFileError, match="shorter"):
        file.read("t")


def test_random_damage_to_the_header_never_escapes(tmp_path: Path) -> None:
    """Either the file still reads, or there is a ModelFileError: no other exception."""
    raw = gguf_bytes(tiny_metadata(), tiny_tensors())
    head = len(raw) - sum(-(-len(t[2]) // 32) * 32 for t in tiny_tensors().values())
    rng = random.Random(7)
    outcomes = set()
    for _ in range(400):
        damaged = bytearray(raw)
        for _ in range(rng.choice([1, 1, 2, 8])):
            at = rng.randrange(head)
            damaged[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        try:
            opened(tmp_path, bytes(damaged))
            outcomes.add("read")
        except ModelFileError as e:
            outcomes.add(e.code)
    assert len(outcomes) > 4, outcomes
