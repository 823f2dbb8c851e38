"""Quantized tensors: how far they are off, what they take, and what they do with odd numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kvquant import adaptive_quantize, dequantize, quantize
from kvquant.errors import SettingError
from kvquant.quantizer import MixedTensor, QuantizedTensor
from kvquant.vector_format import WIDTHS

RELATIVE_ERROR = {2: 0.116, 3: 0.0345, 4: 0.0093, 8: 3.3e-5, 16: 5e-8}
"""Of Gaussian numbers in groups of 64: mean squared error over mean square."""

NUMBERS = arrays(
    np.float32,
    array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
)


def one(x: Any, bits: int, group: int = 64) -> QuantizedTensor:
    found = quantize(x, bits, group)
    assert isinstance(found, QuantizedTensor)
    return found


def packed_bytes(shape: tuple[int, ...], bits: int, group: int = 64) -> int:
    """What a tensor of this shape must take: codes, one scale byte a group, two at 8 bits."""
    n = shape[-1] if shape else 1
    groups = -(-n // group)
    beside = {8: 2 * groups, 16: 0}.get(bits, groups)
    return int(np.prod(shape[:-1])) * (-(-n * bits // 8) + beside)


def gaussian(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1.7, shape).astype(np.float32)


@pytest.mark.parametrize("bits", WIDTHS)
def test_error_of_gaussian_numbers(bits: int) -> None:
    x = gaussian(300, 5, 64)
    error = np.square(dequantize(quantize(x, bits)) - x).mean() / np.square(x).mean()
    assert error < RELATIVE_ERROR[bits]


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("scale", [1e-24, 1e-6, 1.0, 900.0])
def test_size_of_the_numbers_does_not_matter(bits: int, scale: float) -> None:
    x = gaussian(40, 64) * np.float32(scale)
    if bits == 16 and scale < 1e-5:
        # Halves know nothing this small.
        assert np.abs(dequantize(quantize(x, bits)) - x).max() <= 2.0**-25
        return
    error = np.square((dequantize(quantize(x, bits)) - x) / scale).mean()
    assert error / np.square(x / scale).mean() < 1.1 * RELATIVE_ERROR[bits]


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_no_inner_number_is_off_by_more_than_a_scale(bits: int) -> None:
    from kvquant.vector_format import scale_of

    x = gaussian(200, 64)
    q = one(x, bits)
    s = scale_of(q.scales, q.exponent)
    inside = np.abs(x) <= s * (2**bits - 1)
    assert inside.mean() > 0.85
    assert (np.abs(dequantize(q) - x) <= s * 1.0001)[inside].all()


def test_eight_bits_are_off_by_half_a_step_at_most() -> None:
    x = gaussian(200, 64) + 3
    span = np.maximum(x.max(1), 0) - np.minimum(x.min(1), 0)
    # A scale byte may be a sixteenth larger than what is needed.
    step = span * (17 / 16) / 255
    assert (np.abs(dequantize(quantize(x, 8)) - x).max(1) <= 0.501 * step).all()


def test_halves_are_halves() -> None:
    x = gaussian(9, 33)
    assert np.array_equal(dequantize(quantize(x, 16)), x.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("shape", [(), (0,), (0, 7), (7, 0), (1,), (63,), (65,), (2, 3, 129)])
@pytest.mark.parametrize("group", [1, 5, 64, 4096])
def test_any_shape(bits: int, shape: tuple[int, ...], group: int) -> None:
    x = gaussian(*shape)
    q = one(x, bits, group)
    y = dequantize(q)
    assert y.shape == shape
    assert y.dtype == np.float32
    assert q.nbytes == q.codes.nbytes + q.scales.nbytes + q.zeros.nbytes
    assert q.nbytes == packed_bytes(shape, bits, group)
    assert np.isfinite(y).all()


def test_bytes_of_a_group() -> None:
    bits = {2: 2.125, 3: 3.125, 4: 4.125, 8: 8.25, 16: 16.0}
    for width, expected in bits.items():
        assert one(gaussian(10, 128), width).bits_per_number == expected
    assert one(np.zeros((0, 4)), 4).bits_per_number == 0


@given(NUMBERS, st.sampled_from(WIDTHS), st.integers(1, 70))
def test_any_numbers(x: np.ndarray, bits: int, group: int) -> None:
    y = dequantize(quantize(x, bits, group))
    assert y.shape == x.shape
    assert np.isfinite(y).all()
    assert np.abs(y).max(initial=0) <= 1.5 * 65504


@pytest.mark.parametrize("bits", WIDTHS)
def test_what_is_no_number(bits: int) -> None:
    x = gaussian(6, 64)
    bad = x.copy()
    bad[0, 0], bad[1, 1], bad[2, 2] = np.nan, np.inf, -np.inf
    clean = x.copy()
    clean[0, 0], clean[1, 1], clean[2, 2] = 0, 65504, -65504
    assert np.array_equal(dequantize(quantize(bad, bits)), dequantize(quantize(clean, bits)))
    far = np.array([1e300, -1e300])
    assert np.array_equal(dequantize(quantize(far, 16)), [65504, -65504])


@pytest.mark.parametrize("bits", WIDTHS)
def test_zeros_and_denormals(bits: int) -> None:
    assert np.abs(dequantize(quantize(np.zeros((3, 70)), bits))).max() < 1e-30
    tiny = np.full((2, 64), 1e-42, np.float32)
    assert np.abs(dequantize(quantize(tiny, bits)) - tiny).max() < 1e-30
    x = gaussian(2, 64)
    x[1] = 0
    # Beside a vector of ordinary numbers a vector of zeros gets the smallest scale there is.
    assert np.abs(dequantize(quantize(x, bits))[1]).max() < 1e-4


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("value", [-7.0, 0.001, 65504.0])
def test_constant_vectors_keep_their_sign_and_size(bits: int, value: float) -> None:
    y = dequantize(quantize(np.full((4, 64), value), bits))
    assert (np.abs(y / value - 1) < {2: 0.35, 3: 0.2, 4: 0.1, 8: 0.04, 16: 0.001}[bits]).all()


@pytest.mark.parametrize("bits", [0, 1, 5, 6, 7, 9, 32, -4, 4.0, "4", None, True])
def test_unknown_widths(bits: Any) -> None:
    with pytest.raises(SettingError, match="width"):
        quantize(np.zeros(4), bits)


@pytest.mark.parametrize("group", [0, -1, 65_537, 64.0, None, True])
def test_unknown_groups(group: Any) -> None:
    with pytest.raises(SettingError, match="group"):
        quantize(np.zeros(4), 4, group)


@pytest.mark.parametrize("x", ["text", [1j], [None], np.array(["a"])])
def test_only_real_numbers(x: Any) -> None:
    with pytest.raises(SettingError, match="real"):
        quantize(x, 4)


@pytest.mark.parametrize("x", [[[1, 2], [3, 4]], True, np.float64(2.5), np.arange(6)])
def test_other_kinds_of_numbers(x: Any) -> None:
    assert np.allclose(dequantize(quantize(x, 16)), np.asarray(x, np.float32))


def test_the_same_codes_in_one_piece_and_row_by_row() -> None:
    x = gaussian(20, 64)
    x /= np.abs(x).max(1, keepdims=True)
    for bits in (2, 3, 4, 8):
        whole = one(x, bits)
        for i, row in enumerate(x):
            single = one(row, bits)
            if single.exponent == whole.exponent:
                assert np.array_equal(single.codes[0], whole.codes[i])
                assert np.array_equal(single.scales[0], whole.scales[i])


def test_a_width_for_each_token() -> None:
    x = gaussian(3, 17, 64)
    widths = np.random.default_rng(2).choice(WIDTHS, (3, 17))
    q = adaptive_quantize(x, widths)
    assert isinstance(q, MixedTensor)
    y = dequantize(q)
    for bits in WIDTHS:
        chosen = widths == bits
        assert np.array_equal(y[chosen], dequantize(quantize(x[chosen], bits)))
    codes = sum(packed_bytes((int((widths == b).sum()), 64), b) for b in WIDTHS)
    assert q.nbytes == codes + 3 * 17
    assert q.bits_per_number == 8 * q.nbytes / x.size


def test_one_width_for_all_tokens() -> None:
    x = gaussian(4, 64)
    assert np.array_equal(dequantize(adaptive_quantize(x, 3)), dequantize(quantize(x, 3)))
    assert np.array_equal(
        dequantize(adaptive_quantize(x, np.full(4, 3))), dequantize(quantize(x, 3))
    )
    empty = adaptive_quantize(np.zeros((0, 8)), np.zeros(0, int))
    assert dequantize(empty).shape == (0, 8)


@pytest.mark.parametrize("widths", [np.array([4, 5, 4]), np.array([4, 4]), np.array([4.0, 2, 2])])
def test_widths_that_do_not_fit(widths: np.ndarray) -> None:
    with pytest.raises(SettingError, match=r"width|Widths"):
        adaptive_quantize(np.zeros((3, 8)), widths)
    with pytest.raises(SettingError):
        adaptive_quantize(3.0, np.array([4]))
