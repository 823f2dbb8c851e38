"""Controller and token feature files: what was written is read; what is wrong is refused."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvquant import bundle
from kvquant.errors import ControllerFileError

ROOT = Path(__file__).resolve().parents[2]
HEADER = {"model": {"fingerprint": 77, "n_layer": 2}, "note": "für Tests"}


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "w1": rng.integers(-128, 128, (7, 3), np.int8),
        "scale": rng.normal(size=7).astype(np.float32),
        "rarity": rng.normal(size=(11,)).astype(np.float16),
        "ids": np.arange(5, dtype=np.int32),
        "bytes": np.arange(3, dtype=np.uint8),
    }


@pytest.fixture(scope="module")
def good() -> bytes:
    return bundle.pack(bundle.CONTROLLER, HEADER, arrays())


def sealed(data: bytes) -> bytes:
    """The same with a right checksum."""
    return data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little")


def rebuilt(good: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same file with another header and a right checksum."""
    length = struct.unpack_from("<I", good, 8)[0]
    header = json.loads(good[12 : 12 + length])
    change(header)
    payload = good[-(-(12 + length) // 64) * 64 :]
    text = json.dumps(header).encode()
    head = good[:8] + struct.pack("<I", len(text)) + text
    return sealed(head + bytes(-len(head) % 64) + payload)


def refused(data: bytes, code: str, **kw: Any) -> str:
    with pytest.raises(ControllerFileError) as caught:
        bundle.parse(data, bundle.CONTROLLER, "ctrl.bin", **kw)
    assert caught.value.code == f"controller.{code}"
    assert caught.value.message.startswith("ctrl.bin ")
    assert caught.value.message.endswith(".")
    return caught.value.message


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ctrl.bin"
    bundle.write(path, bundle.CONTROLLER, HEADER, arrays())
    found = bundle.read(path, bundle.CONTROLLER, 77)
    assert found.header == HEADER
    assert found.fingerprint == 77
    assert found.arrays.keys() == arrays().keys()
    for name, values in arrays().items():
        again = found.arrays[name].numpy()
        assert again.dtype == values.dtype
        assert np.array_equal(again, values)
        assert found.arrays[name].data.readonly
    assert [p.name for p in tmp_path.iterdir()] == ["ctrl.bin"]


def test_arrays_lie_at_multiples_of_64(good: bytes) -> None:
    found = bundle.parse(good, bundle.CONTROLLER, "f")
    for name, values in arrays().items():
        assert good.index(bytes(found.arrays[name].data)) % 64 == 0 or values.nbytes < 8


def test_reading_needs_no_numpy(tmp_path: Path) -> None:
    bundle.write(tmp_path / "c", bundle.CONTROLLER, HEADER, arrays())
    code = (
        "import sys; from pathlib import Path; from kvquant import bundle\n"
        f"b = bundle.read(Path({str(tmp_path / 'c')!r}), bundle.CONTROLLER)\n"
        "assert b.arrays['w1'].data[0] is not None and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("cut", [0, 3, 4, 11, 12, 15, 40, 100, 255, -64, -5, -4, -1])
def test_truncated(good: bytes, cut: int) -> None:
    with pytest.raises(ControllerFileError):
        bundle.parse(good[:cut], bundle.CONTROLLER, "ctrl.bin")


@given(st.data())
def test_every_flipped_bit_is_seen(good: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, 8 * len(good) - 1))
    bad = bytearray(good)
    bad[at // 8] ^= 1 << at % 8
    with pytest.raises(ControllerFileError):
        bundle.parse(bytes(bad), bundle.CONTROLLER, "ctrl.bin")


@given(st.binary(max_size=300))
def test_any_bytes_give_an_error(tail: bytes) -> None:
    for kind in (b"", bundle.CONTROLLER, bundle.CONTROLLER + struct.pack("<I", 1)):
        with pytest.raises(ControllerFileError):
            bundle.parse(kind + tail, bundle.CONTROLLER, "ctrl.bin")


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["model", "fingerprint", "arrays", "w1", "dtype", "shape", "offset"]),
        inner, max_size=4),
    max_leaves=12,
))  # fmt: skip
def test_any_header_is_read_or_refused(header: Any) -> None:
    text = json.dumps(header).encode()
    head = bundle.CONTROLLER + struct.pack("<II", 1, len(text)) + text
    data = sealed(head + bytes(-len(head) % 64) + bytes(260))
    try:
        found = bundle.parse(data, bundle.CONTROLLER, "ctrl.bin")
    except ControllerFileError:
        return
    assert found.fingerprint == header["model"]["fingerprint"]


def test_foreign(good: bytes) -> None:
    refused(b"GGUF" + good[4:], "foreign")
    other = bundle.pack(bundle.FEATURES, HEADER, arrays())
    assert "token feature" in refused(other, "foreign")
    refused(sealed(good[:4] + struct.pack("<I", 2) + good[8:]), "version")
    assert "another model" in refused(good, "model", fingerprint=78)
    assert "truncated" in refused(good[:4], "truncated")


@pytest.mark.parametrize(("length", "code"), [(2**32 - 1, "header"), (2**20 - 1, "truncated")])
def test_header_longer_than_the_file(good: bytes, length: int, code: str) -> None:
    refused(sealed(good[:8] + struct.pack("<I", length) + good[12:]), code)


@pytest.mark.parametrize("text", [
    b"", b"[]", b"{", b"\xff{}", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 200_000,
    b'{"model": {"fingerprint": 1}}',
    b'{"model": {"fingerprint": true}, "arrays": {}}',
    b'{"model": {"fingerprint": 4294967296}, "arrays": {}}',
    b'{"model": 3, "arrays": {}}',
    b'{"model": {"fingerprint": 1}, "arrays": []}',
])  # fmt: skip
def test_headers_that_say_nothing(text: bytes) -> None:
    head = bundle.CONTROLLER + struct.pack("<II", 1, len(text)) + text
    refused(sealed(head + bytes(-len(head) % 64) + bytes(4)), "header")


@pytest.mark.parametrize(("field", "value", "code"), [
    ("dtype", "f64", "arrays"), ("dtype", None, "arrays"), ("dtype", [], "arrays"),
    ("shape", [0, 3], "arrays"), ("shape", [-7, 3], "arrays"), ("shape", [], "arrays"),
    ("shape", [1] * 5, "arrays"), ("shape", "73", "arrays"), ("shape", [True], "arrays"),
    ("shape", [1.5], "arrays"), ("shape", [2**31, 2**33], "truncated"),
    ("shape", [10**400], "truncated"), ("shape", [7, 300], "truncated"),
    ("offset", -64, "arrays"), ("offset", 32, "arrays"), ("offset", None, "arrays"),
    ("offset", 2**70, "truncated"), ("offset", 64, "overlap"), ("more", 1, "arrays"),
])  # fmt: skip
def test_wrong_entries(good: bytes, field: str, value: Any, code: str) -> None:
    bad = rebuilt(good, lambda header: header["arrays"]["w1"].update({field: value}))
    assert "'w1'" in refused(bad, code) or code == "overlap"


def test_too_many_arrays(good: bytes) -> None:
    entry = {"dtype": "u8", "shape": [1], "offset": 0}
    many = {str(i): entry for i in range(300)}
    refused(rebuilt(good, lambda header: header.update(arrays=many)), "arrays")


def test_files_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "long").write_bytes(bytes(101))
    monkeypatch.setattr(bundle, "MAX_BYTES", 100)
    for path, code in (
        (tmp_path / "none", "absent"),
        (tmp_path, "unreadable"),
        (Path("/dev/zero"), "unreadable"),
        (tmp_path / "long", "size"),
    ):
        with pytest.raises(ControllerFileError) as caught:
            bundle.read(path, bundle.CONTROLLER)
        assert caught.value.code == f"controller.{code}"
    with pytest.raises(ControllerFileError, match=r"^\. is no file"):
        bundle.read(Path(), bundle.CONTROLLER)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        bundle.write(tmp_path / "folder", bundle.CONTROLLER, HEADER, arrays())
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_what_would_be_refused_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "c"
    with pytest.raises(ValueError, match="fingerprint"):
        bundle.write(path, bundle.CONTROLLER, {}, arrays())
    with pytest.raises(ValueError, match="format"):
        bundle.write(path, bundle.CONTROLLER, HEADER, {"a": np.zeros(3)})
    with pytest.raises(ValueError, match="order"):
        bundle.write(path, bundle.CONTROLLER, HEADER, {"a": np.zeros((3, 2), np.float32).T})
    with pytest.raises(ValueError, match="shape"):
        bundle.write(path, bundle.CONTROLLER, HEADER, {"a": np.zeros(0, np.float32)})
    assert not path.exists()


def test_fingerprint_is_that_of_float_bytes() -> None:
    norm = np.linspace(0.5, 1.5, 576, dtype=np.float32)
    assert bundle.fingerprint_of(norm.tobytes()) == zlib.crc32(norm.astype("<f4").tobytes())
    assert bundle.fingerprint_of(memoryview(norm).cast("B")) == bundle.fingerprint_of(norm.data)
