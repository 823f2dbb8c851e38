"""Trains a linear layer to tell labels apart: softmax regression by Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BATCH = 128
PASSES = 20
_LEAST_STEPS = 600
"""Few examples are seen more often."""
RATE = 2e-3
_WARM = 0.1
DECAY = 0.01
DROPPED = 0.3
"""Part of the inputs that a step does not see, so that no single one decides."""
SMOOTHING = 0.1
"""Part of the probability that goes to all labels, so that none becomes too sure."""


class Adam:
    """Adam with decay of the weights; ``value`` changes in place."""

    def __init__(self, value: Floats, decay: float = 0.0) -> None:
        self.value = value
        self._decay = decay
        self._first = np.zeros_like(value)
        self._second = np.zeros_like(value)
        self._steps = 0

    def step(self, gradient: Floats, rate: float) -> None:
        self._steps += 1
        self._first += 0.1 * (gradient - self._first)
        self._second += 0.01 * (gradient * gradient - self._second)
        first = self._first / (1 - 0.9**self._steps)
        second = self._second / (1 - 0.99**self._steps)
        self.value -= rate * (first / (np.sqrt(second) + 1e-8) + self._decay * self.value)


def rate_at(done: float, highest: float) -> float:
    """The step size when the part ``done`` (0 … 1) of the training is over: up, then down."""
    if done < _WARM:
        return highest * done / _WARM
    return float(highest * 0.5 * (1 + np.cos(np.pi * (done - _WARM) / (1 - _WARM))))


def fit(
    rows: NDArray[np.floating], labels: NDArray[np.int64], n_labels: int, seed: int
) -> tuple[Floats, Floats]:
    """Weights (width, n_labels) and bias (n_labels,) for scaled rows (n, width)."""
    rng = np.random.default_rng(seed)
    n, width = rows.shape
    weights = Adam(np.zeros((width, n_labels), np.float32), DECAY)
    bias = Adam(np.zeros(n_labels, np.float32))
    batches = -(-n // BATCH)
    passes = max(PASSES, -(-_LEAST_STEPS // batches))
    for i in range(passes):
        order = rng.permutation(n)
        for j in range(batches):
            chosen = order[j * BATCH : (j + 1) * BATCH]
            x = rows[chosen].astype(np.float32)
            x *= (rng.random(x.shape, np.float32) >= DROPPED) / np.float32(1 - DROPPED)
            logits = x @ weights.value + bias.value
            wrong = np.exp(logits - logits.max(axis=1, keepdims=True))
            wrong /= wrong.sum(axis=1, keepdims=True)
            wrong -= SMOOTHING / n_labels
            wrong[np.arange(len(chosen)), labels[chosen]] -= 1 - SMOOTHING
            wrong /= len(chosen)
            rate = rate_at((i * batches + j + 1) / (passes * batches), RATE)
            weights.step(x.T @ wrong, rate)
            bias.step(wrong.sum(axis=0), rate)
    return weights.value, bias.value
