"""Chains of tags: what may follow what, the best one, and the gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.intent.heads import crf

TAGS = crf.tags_of(["city", "day"])


def test_an_inside_follows_only_its_own_slot() -> None:
    assert TAGS == ["O", "B-city", "I-city", "B-day", "I-day"]
    may = crf.allowed(len(TAGS))
    follows = {tag: {TAGS[i] for i in np.flatnonzero(may[:-1, j])} for j, tag in enumerate(TAGS)}
    assert follows["I-city"] == {"B-city", "I-city"}
    assert follows["I-day"] == {"B-day", "I-day"}
    assert follows["O"] == follows["B-day"] == set(TAGS)
    assert may[-1].tolist() == [True, True, False, True, False]


def test_the_best_chain_keeps_to_that_even_against_the_words() -> None:
    rng = np.random.default_rng(1)
    may = crf.allowed(len(TAGS))
    for words in (1, 2, 4):
        for _ in range(20):
            emissions = rng.normal(size=(words, len(TAGS))).astype(np.float32) * 5
            emissions[:, 2] += 10  # every word would like to be the inside of a city
            own = rng.normal(size=may.shape)
            transitions = np.where(may, own, crf.NEVER).astype(np.float32)
            chain = crf.best_chain(emissions, transitions)
            assert chain == max(
                itertools.product(range(len(TAGS)), repeat=words),
                key=lambda c: _value(list(c), emissions, transitions),
            ) or _value(chain, emissions, transitions) == pytest.approx(
                max(
                    _value(list(c), emissions, transitions)
                    for c in itertools.product(range(len(TAGS)), repeat=words)
                )
            )
            assert all(may[a, b] for a, b in zip([-1, *chain], chain, strict=False))
    assert crf.best_chain(np.zeros((0, 5), np.float32), np.zeros((6, 5), np.float32)) == []


def test_the_gradient_is_that_of_the_likelihood() -> None:
    rng = np.random.default_rng(2)
    n_tags, lengths = 3, np.array([4, 1, 3])
    emissions = rng.normal(size=(3, 4, n_tags)).astype(np.float32)
    transitions = rng.normal(size=(n_tags + 1, n_tags)).astype(np.float32)
    truth = rng.integers(0, n_tags, (3, 4))

    def loss(e: NDArray[np.float32], t: NDArray[np.float32]) -> float:
        total = 0.0
        for text, length in enumerate(lengths):
            values = [
                _value(list(c), e[text], t) for c in itertools.product(range(n_tags), repeat=length)
            ]
            total += float(np.log(np.exp(values).sum()))
            total -= _value(truth[text, :length].tolist(), e[text], t)
        return total

    by_emission, by_transition = crf.gradient(emissions, transitions, truth, lengths)
    step = 1e-2
    for array, found in ((emissions, by_emission), (transitions, by_transition)):
        for at in np.ndindex(array.shape):
            kept = array[at]
            array[at] = kept + step
            up = loss(emissions, transitions)
            array[at] = kept - step
            down = loss(emissions, transitions)
            array[at] = kept
            assert found[at] == pytest.approx((up - down) / (2 * step), abs=2e-3)


def _value(
    chain: list[int], emissions: NDArray[np.float32], transitions: NDArray[np.float32]
) -> float:
    steps = zip([-1, *chain], chain, strict=False)
    return float(
        sum(emissions[i, tag] for i, tag in enumerate(chain)) + sum(transitions[s] for s in steps)
    )
