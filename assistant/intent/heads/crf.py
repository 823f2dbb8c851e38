"""Chains of tags: which ones may follow which, the likeliest chain, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

OUTSIDE = "O"
NEVER = np.float32(-1e4)


def tags_of(slots: Sequence[str]) -> list[str]:
    """All tags: outside, then for each slot its beginning and its inside."""
    return [OUTSIDE, *(f"{part}-{slot}" for slot in slots for part in "BI")]


def allowed(n_tags: int) -> NDArray[np.bool_]:
    """(n_tags + 1, n_tags): what may follow what; the last row is the start of a text.

    A slot's inside comes only after its own beginning or inside.
    """
    may = np.ones((n_tags + 1, n_tags), np.bool_)
    inside = np.arange(2, n_tags, 2)
    may[:, inside] = False
    may[inside - 1, inside] = True
    may[inside, inside] = True
    return may


def best_chain(emissions: Floats, transitions: Floats) -> list[int]:
    """The likeliest tags of the words (Viterbi).

    emissions: (words, tags); transitions: (tags + 1, tags), the last row for the first word.
    """
    if len(emissions) == 0:
        return []
    best = emissions[0] + transitions[-1]
    back = []
    for emission in emissions[1:]:
        ways = best[:, None] + transitions[:-1]
        back.append(ways.argmax(axis=0))
        best = ways.max(axis=0) + emission
    chain = [int(best.argmax())]
    for way in reversed(back):
        chain.append(int(way[chain[-1]]))
    return chain[::-1]


def gradient(
    emissions: Floats, transitions: Floats, truth: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """What makes the true chains of a batch less likely: probabilities minus truth.

    emissions: (texts, words, tags), truth: (texts, words); only the first ``lengths`` words count.

    Returns the gradients for emissions and transitions, summed over the texts.
    """
    n, words, tags = emissions.shape
    forward = np.empty((words, n, tags), np.float32)
    forward[0] = emissions[:, 0] + transitions[-1]
    weights = np.exp(transitions[:-1])
    for t in range(1, words):
        top = forward[t - 1].max(axis=1, keepdims=True)
        inner = np.exp(forward[t - 1] - top) @ weights
        forward[t] = np.log(np.maximum(inner, 1e-30)) + top + emissions[:, t]
    rows = np.arange(n)
    last = forward[lengths - 1, rows]
    total = last.max(axis=1) + np.log(np.exp(last - last.max(axis=1, keepdims=True)).sum(axis=1))
    backward = np.zeros((n, tags), np.float32)
    d_emissions = np.zeros_like(emissions)
    d_transitions = np.zeros_like(transitions)
    for t in range(words - 1, -1, -1):
        live = t < lengths
        d_emissions[:, t] = (
            np.exp(np.minimum(forward[t] + backward - total[:, None], 0.0)) * live[:, None]
        )
        if t == 0:
            break
        after = emissions[:, t] + backward
        top = after.max(axis=1, keepdims=True)
        spread = np.exp(after - top)
        left = forward[t - 1] + (top - total[:, None])
        pair = np.exp(np.minimum(left, 60.0)) * live[:, None]
        d_transitions[:-1] += (pair.T @ spread) * weights
        inner = spread @ weights.T
        before = np.log(np.maximum(inner, 1e-30)) + top
        # A text that ends here starts its way back from nothing.
        backward = np.where(live[:, None], before, 0.0).astype(np.float32)
    d_transitions[-1] += d_emissions[:, 0].sum(axis=0)
    for t in range(words):
        there = np.flatnonzero(t < lengths)
        d_emissions[there, t, truth[there, t]] -= 1
        if t:
            np.subtract.at(d_transitions, (truth[there, t - 1], truth[there, t]), 1)
    np.subtract.at(d_transitions, (np.full(n, tags), truth[:, 0]), 1)
    return d_emissions, d_transitions
