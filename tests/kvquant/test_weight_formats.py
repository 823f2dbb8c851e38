"""Every format against a slow reading of its layout, and against the gguf package."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kvquant.weight_formats import FORMATS

BY_NAME = {f.name: f for f in FORMATS.values()}
NUMBERS = {f.name: number for number, f in FORMATS.items()}


def random_blocks(name: str, n: int = 40, seed: int = 1) -> np.ndarray:
    """Random bytes, with the halves that scale a block made finite."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 256, (n, BY_NAME[name].nbytes), dtype=np.uint8)
    at = {"Q4_0": [0], "Q4_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q6_K": [208], "F16": [0]}
    for start in at.get(name, []):
        halves = rng.normal(0, 1, (n, 1)).astype("<f2")
        raw[:, start : start + 2] = halves.view(np.uint8)
    if name in ("F32", "BF16"):
        raw[:, -1] = 0x3F
    return raw


def half(raw: np.ndarray, at: int) -> np.float32:
    return np.float32(raw[at : at + 2].view("<f2")[0])


def slow_q4_0(b: np.ndarray) -> list[np.float32]:
    codes = [b[2 + i % 16] >> (4 * (i // 16)) & 15 for i in range(32)]
    return [half(b, 0) * np.float32(int(c) - 8) for c in codes]


def slow_q4_1(b: np.ndarray) -> list[np.float32]:
    codes = [b[4 + i % 16] >> (4 * (i // 16)) & 15 for i in range(32)]
    return [half(b, 0) * np.float32(c) + half(b, 2) for c in codes]


def slow_q8_0(b: np.ndarray) -> list[np.float32]:
    return [half(b, 0) * np.float32(b[2 + i].view(np.int8)) for i in range(32)]


def slow_q4_k(b: np.ndarray) -> list[np.float32]:
    out = []
    s = [int(x) for x in b[4:16]]
    for i in range(256):
        j = i // 32
        if j < 4:
            scale, low = s[j] & 63, s[j + 4] & 63
        else:
            scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4
            low = s[j + 4] >> 4 | (s[j] >> 6) << 4
        code = int(b[16 + 32 * (i // 64) + i % 32]) >> (4 * (j % 2)) & 15
        out.append(half(b, 0) * np.float32(scale) * np.float32(code) - half(b, 2) * np.float32(low))
    return out


def slow_q6_k(b: np.ndarray) -> list[np.float32]:
    out = []
    for i in range(256):
        h, k, j = i // 128, i % 128 // 32, i % 32
        low = int(b[64 * h + 32 * (k % 2) + j]) >> (4 * (k // 2)) & 15
        high = int(b[128 + 32 * h + j]) >> (2 * k) & 3
        scale = np.float32(b[192 + i // 16].view(np.int8))
        out.append(half(b, 208) * scale * np.float32((low | high << 4) - 32))
    return out


@pytest.mark.parametrize(
    ("name", "slow"),
    [
        ("Q4_0", slow_q4_0),
        ("Q4_1", slow_q4_1),
        ("Q8_0", slow_q8_0),
        ("Q4_K", slow_q4_k),
        ("Q6_K", slow_q6_k),
    ],
)
def test_against_the_layout(name: str, slow: Callable[[np.ndarray], list[np.float32]]) -> None:
    raw = random_blocks(name)
    expected = np.array([slow(block) for block in raw], np.float32)
    assert np.allclose(BY_NAME[name].dequantize(raw), expected, rtol=1e-6, atol=1e-6)


def test_halves_and_brain_floats() -> None:
    halves = np.array([1.5, -0.0, 65504, 6e-8], "<f2")
    assert BY_NAME["F16"].dequantize(halves.view(np.uint8).reshape(-1, 2)).ravel().tolist() == (
        halves.astype(np.float32).tolist()
    )
    brain = np.array([0x3FC0, 0xC000], "<u2")
    assert BY_NAME["BF16"].dequantize(brain.view(np.uint8).reshape(-1, 2)).ravel().tolist() == [
        1.5,
        -2.0,
    ]


@pytest.mark.parametrize("name", [n for n in BY_NAME if n not in ("F32", "F16")])
def test_against_the_gguf_package(name: str) -> None:
    gguf = pytest.importorskip("gguf", reason="compares with the package of the extra train")
    raw = random_blocks(name, seed=2)
    theirs = gguf.dequantize(raw.reshape(1, -1), gguf.GGMLQuantizationType(NUMBERS[name]))
    ours = BY_NAME[name].dequantize(raw)
    assert np.array_equal(ours.ravel(), theirs.ravel())
