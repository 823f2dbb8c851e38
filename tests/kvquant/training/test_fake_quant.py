"""Quantization in torch gives the numbers of the cache's own format."""

from __future__ import annotations

import numpy as np
import pytest

from kvquant import transforms, vector_format

torch = pytest.importorskip("torch")

from kvquant.training.fake_quant import fake_quant, hadamard  # noqa: E402


@pytest.mark.parametrize("bits", vector_format.WIDTHS)
def test_vectors_come_back_as_from_the_cache(bits: int) -> None:
    rng = np.random.default_rng(bits)
    x = (rng.normal(size=(400, 64)) * rng.uniform(0.01, 30, (400, 1))).astype(np.float32)
    want = vector_format.decode(vector_format.encode(x, bits, -11), -11)
    got = fake_quant(torch.from_numpy(x), bits, torch.tensor(-11.0)).numpy()
    # Scales whose errors tie within rounding may differ.
    same = np.isclose(want, got, rtol=1e-5, atol=1e-6).all(1)
    assert same.mean() > 0.98
    errors = [np.square(x - y).sum() for y in (want, got)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-3)


@pytest.mark.parametrize("dim", [32, 64, 96])
def test_the_rotation_is_the_caches(dim: int) -> None:
    x = np.random.default_rng(dim).normal(size=(7, dim)).astype(np.float32)
    got = hadamard(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(got, transforms.hadamard(x), atol=1e-5)
