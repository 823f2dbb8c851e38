"""The expert that remembers what it learnt from."""

from __future__ import annotations

import numpy as np
import pytest

from assistant.intent.heads.kernel import Kernel


def rings(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two kinds that no straight line tells apart: near the middle, and around it."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    places = rng.normal(size=(n, 8))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    return (places * np.where(labels, 6.0, 0.5)[:, None]).astype(np.float32), labels


def test_it_bends_around_what_it_knows() -> None:
    kernel = Kernel.fit(*rings(300, 0), 3)
    rows, labels = rings(100, 1)
    found = kernel.margins(rows)
    assert (found[:, :2].argmax(axis=1) == labels).mean() > 0.95
    assert found[:, 2] == pytest.approx(-1)
    assert kernel.margins(rows[0]) == pytest.approx(found[0], abs=1e-4)


def test_far_from_everything_it_says_no_to_all() -> None:
    kernel = Kernel.fit(*rings(300, 0), 2)
    far = np.full(8, 100.0, np.float32)
    assert kernel.margins(far) == pytest.approx([-1, -1], abs=1e-3)


def test_it_comes_back_from_its_arrays() -> None:
    kernel = Kernel.fit(*rings(60, 0), 2)
    again = Kernel.of_arrays(kernel.arrays(), 8, 2)
    assert again is not None
    row = rings(1, 3)[0]
    assert again.margins(row).tolist() == kernel.margins(row).tolist()
    with pytest.raises(ValueError, match="kernel_weights has the shape"):
        Kernel.of_arrays(kernel.arrays(), 8, 5)
    assert Kernel.of_arrays({}, 8, 2) is None
