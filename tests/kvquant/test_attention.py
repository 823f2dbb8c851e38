"""Attention in parts against one softmax over everything."""

from __future__ import annotations

import numpy as np
import pytest

from kvquant.attention import OnlineSoftmax, Part, attend, scores_of, turned_keys
from kvquant.transforms import forth, rotate

DIM = 32


def gaussian(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def at_once(q: np.ndarray, parts: list[Part]) -> np.ndarray:
    """In double precision; zeros for a query that sees nothing."""
    scores = np.concatenate([scores_of(q, p) for p in parts], 1).astype(np.float64)
    values = np.concatenate([p.values for p in parts])
    top = scores.max(1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    return weights @ values / np.maximum(weights.sum(1, keepdims=True), 1e-300)


def parts_of(sizes: list[int], n: int, seed: int, masked: bool = True) -> list[Part]:
    rng = np.random.default_rng(seed)
    return [
        Part(
            gaussian(m, DIM, seed=seed + i),
            gaussian(m, DIM, seed=seed - i - 1 + 99),
            rng.random((n, m)) < 0.5 if masked else None,
        )
        for i, m in enumerate(sizes)
    ]


@pytest.mark.parametrize("sizes", [[5], [1, 1, 1], [16, 0, 33, 7], [200, 1]])
@pytest.mark.parametrize("masked", [False, True])
def test_parts_give_what_one_softmax_gives(sizes: list[int], masked: bool) -> None:
    q = gaussian(6, DIM, seed=3)
    parts = parts_of(sizes, 6, 11, masked)
    out, weights = attend(q, parts)
    assert np.allclose(out, at_once(q, parts), atol=1e-5)
    total = np.concatenate(weights, 1).sum(1)
    some = np.concatenate([np.isfinite(scores_of(q, p)) for p in parts], 1).any(1)
    assert np.allclose(total, some, atol=1e-5)
    assert np.allclose(np.concatenate(weights, 1) @ np.concatenate([p.values for p in parts]),
                       out, atol=1e-5)  # fmt: skip


def test_a_query_that_sees_nothing_gets_zeros() -> None:
    q = gaussian(3, DIM)
    unseen = np.array([[True, True], [False, False], [False, True]])
    for first in (np.zeros((3, 4), bool), np.ones((3, 4), bool) & [[1], [0], [1]]):
        parts = [
            Part(gaussian(4, DIM), gaussian(4, DIM), first.astype(bool)),
            Part(gaussian(2, DIM), gaussian(2, DIM), unseen),
        ]
        out, weights = attend(q, parts)
        assert (out[1] == 0).all()
        assert all((w[1] == 0).all() for w in weights)
        assert np.isfinite(out).all()
        assert np.allclose(out, at_once(q, parts), atol=1e-5)


def test_nothing_at_all() -> None:
    out, weights = attend(gaussian(2, DIM), [])
    assert (out == 0).all()
    assert weights == []
    out, _ = attend(gaussian(2, DIM), [Part(gaussian(0, DIM), gaussian(0, DIM))])
    assert (out == 0).all()


def test_queries_with_disjoint_views() -> None:
    q = gaussian(4, DIM)
    visible = np.repeat(np.eye(4, dtype=bool), 5, axis=1)
    part = Part(gaussian(20, DIM), gaussian(20, DIM, seed=5), visible)
    out, _ = attend(q, [part])
    for i in range(4):
        alone = Part(part.keys[5 * i : 5 * i + 5], part.values[5 * i : 5 * i + 5])
        assert np.allclose(out[i], attend(q[i : i + 1], [alone])[0], atol=1e-6)


@pytest.mark.parametrize("low", [-1e5, -1e30, -3e38])
@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_very_low_scores_are_not_masked_ones(low: float, order: list[int]) -> None:
    values = np.eye(4, dtype=np.float32)
    scores = [np.array([[low, low]], np.float32), np.full((1, 2), -np.inf, np.float32)]
    softmax = OnlineSoftmax(1, 4)
    for i in order:
        softmax.add(scores[i], values[2 * i : 2 * i + 2])
    assert softmax.output().tolist() == [[0.5, 0.5, 0, 0]]
    softmax.add(np.array([[0.0]], np.float32), np.ones((1, 4), np.float32))
    assert softmax.output().tolist() == [[1, 1, 1, 1]]
    assert softmax.weights(scores[0]).tolist() == [[0, 0]]


def test_keys_of_before_rope_are_turned_when_read() -> None:
    keys, mean, angle = gaussian(7, DIM), gaussian(DIM, seed=4), gaussian(7, DIM // 2, seed=6)
    cos, sin = np.cos(angle), np.sin(angle)
    found = turned_keys(forth(keys, mean), mean, cos, sin)
    assert np.allclose(found, rotate(keys, cos, sin), atol=1e-5)
