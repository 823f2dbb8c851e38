"""The transforms of keys, values and queries."""

from __future__ import annotations

import numpy as np
import pytest

from kvquant.transforms import back, forth, hadamard, rotate, to_halves


def gaussian(*shape: int) -> np.ndarray:
    return np.random.default_rng(8).normal(size=shape).astype(np.float32)


def sylvester(n: int) -> np.ndarray:
    return np.array([[(-1) ** (i & j).bit_count() for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("dim", [1, 2, 16, 64, 128])
def test_it_is_the_matrix_of_sylvester(dim: int) -> None:
    x = gaussian(3, dim)
    assert np.allclose(hadamard(x), x @ sylvester(dim).T / dim**0.5, atol=1e-5)


@pytest.mark.parametrize(("dim", "block"), [(96, 32), (80, 16), (7, 1), (192, 64)])
def test_other_sizes_go_in_blocks(dim: int, block: int) -> None:
    x = gaussian(2, 3, dim)
    blocks = x.reshape(2, 3, dim // block, block)
    assert np.allclose(hadamard(x), hadamard(blocks).reshape(x.shape), atol=1e-6)


@pytest.mark.parametrize("dim", [32, 64, 96])
def test_it_is_its_own_inverse_and_keeps_products(dim: int) -> None:
    x, y = gaussian(5, dim), gaussian(6, dim)[1:]
    assert np.allclose(hadamard(hadamard(x)), x, atol=1e-5)
    assert np.allclose(hadamard(x) @ hadamard(y).T, x @ y.T, atol=1e-4)


def test_there_and_back() -> None:
    x, mean = gaussian(4, 3, 64), gaussian(3, 64)
    assert np.allclose(back(forth(x, mean), mean), x, atol=1e-5)
    assert np.allclose(forth(np.broadcast_to(mean, x.shape), mean), 0, atol=1e-6)


def test_an_outlier_is_spread() -> None:
    x = np.zeros((1, 64), np.float32)
    x[0, 9] = 8
    assert np.allclose(np.abs(hadamard(x)), 1)


def test_order_of_channels() -> None:
    assert to_halves(np.arange(8, dtype=np.float32)).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_turning_neighbours_is_turning_halves() -> None:
    x, angle = gaussian(5, 8), gaussian(5, 4)
    cos, sin = np.cos(angle), np.sin(angle)
    turned = np.empty_like(x)
    turned[:, 0::2] = x[:, 0::2] * cos - x[:, 1::2] * sin
    turned[:, 1::2] = x[:, 0::2] * sin + x[:, 1::2] * cos
    assert np.allclose(rotate(to_halves(x), cos, sin), to_halves(turned), atol=1e-6)
    assert np.allclose(rotate(rotate(x, cos, sin), cos, -sin), x, atol=1e-6)
