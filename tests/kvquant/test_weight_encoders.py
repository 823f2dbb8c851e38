"""Round trips within the stated errors, and the same bytes as ggml's reference."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kvquant.weight_encoders import ENCODERS, LARGEST
from kvquant.weight_formats import FORMATS

BY_NAME = {format_.name: format_ for format_ in FORMATS.values()}
BLOCK_FORMATS = ["Q8_0", "Q4_0", "Q4_1"]


def blocks() -> NDArray[np.float32]:
    """(n, 32): normal weights of many sizes, and the corners."""
    rng = np.random.default_rng(7)
    x = rng.normal(0, 1, (2048, 32)) * 10.0 ** rng.uniform(-4, 3, (2048, 1))
    x[0] = 0
    x[1] = 1
    x[2] = -3
    x[3] = np.where(np.arange(32) % 2, 0.5, -0.5)
    x[4] = np.arange(32) - 16
    x[5] = 127 * np.linspace(-1, 1, 32)
    x[6] = np.round(x[6] * 4) / 4
    x[7, 1:] = 0
    x[8] = 5 + x[8] / 1e6
    return x.astype(np.float32)


def back(name: str, raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    return BY_NAME[name].dequantize(raw)


def allowed(name: str, x: NDArray[np.float32]) -> NDArray[np.float64]:
    """(n, 1) largest error that the module states for a block."""
    x = x.astype(np.float64)
    largest = np.abs(x).max(1, keepdims=True)
    spread = x.max(1, keepdims=True) - x.min(1, keepdims=True)
    error = {"Q8_0": largest / 127 / 2, "Q4_0": largest / 8, "Q4_1": spread / 15 / 2}[name]
    stored = {"Q8_0": largest, "Q4_0": largest, "Q4_1": largest + spread}[name] * 2.0**-11
    # Halves below 6e-5 have a fixed step of 6e-8, which up to 127 codes multiply.
    return error + stored + 127 * 2.0**-25


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_round_trip_within_the_stated_error(name: str) -> None:
    x = blocks()
    raw = ENCODERS[name](x)
    assert raw.shape == (len(x), BY_NAME[name].nbytes)
    assert raw.dtype == np.uint8
    error = np.abs(back(name, raw) - x.astype(np.float64))
    assert (error <= allowed(name, x)).all()
    assert not back(name, raw)[0].any()


@pytest.mark.parametrize(
    ("name", "ratio"), [("Q8_0", 0.008), ("Q4_0", 0.09), ("Q4_1", 0.085), ("F16", 3e-4)]
)
def test_error_of_normal_weights(name: str, ratio: float) -> None:
    """Root of the mean square error against that of the weights."""
    x = np.random.default_rng(1).normal(0, 0.05, (4096, 32)).astype(np.float32)
    shaped = x.reshape(-1, BY_NAME[name].block)
    error = back(name, ENCODERS[name](shaped)) - shaped
    assert 0 < np.sqrt((error**2).mean()) / 0.05 < ratio


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_what_was_quantized_stays(name: str) -> None:
    once = back(name, ENCODERS[name](blocks()[:8]))
    assert np.allclose(back(name, ENCODERS[name](once)), once, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_vanishing_weights_become_zero(name: str) -> None:
    x = np.full((1, 32), -1e-44, np.float32)
    x[0, 0] = 1e-44
    assert np.abs(back(name, ENCODERS[name](x))).max() <= 1e-7


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_the_largest_weights_stay_finite(name: str) -> None:
    x = np.full((1, 32), LARGEST[name], np.float32)
    x[0, ::2] *= -1
    assert np.isfinite(back(name, ENCODERS[name](x))).all()


def test_plain_formats() -> None:
    x = np.array([[1.0], [-2.5], [0.0], [1.00390625], [1.01171875], [65504.0]], np.float32)
    assert np.array_equal(back("F32", ENCODERS["F32"](x)), x)
    assert np.array_equal(back("F16", ENCODERS["F16"](x)), x)
    # Halfway between two neighbours: to the even one.
    assert back("BF16", ENCODERS["BF16"](x))[:, 0].tolist() == [1, -2.5, 0, 1, 1.015625, 65536]


@pytest.mark.parametrize("name", [*BLOCK_FORMATS, "BF16", "F16"])
def test_the_bytes_of_the_reference(name: str) -> None:
    gguf = pytest.importorskip("gguf", reason="compares with the extra train")
    x = blocks()
    theirs = gguf.quants.quantize(x, gguf.GGMLQuantizationType[name])
    ours = ENCODERS[name](x.reshape(-1, BY_NAME[name].block))
    assert ours.tobytes() == theirs.tobytes()
