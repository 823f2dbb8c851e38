"""The choice of a token, against probabilities worked out by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kvquant.config import Sampling
from kvquant.errors import BackendError, SettingError
from kvquant.sampler import Sampler

LOGITS = np.log(np.array([0.5, 0.25, 0.15, 0.06, 0.04], np.float32))


def shares(n: int = 4000, **settings: float) -> dict[int, float]:
    sampler = Sampler(Sampling(**{"temperature": 1.0, "seed": 5, **settings}))  # type: ignore[arg-type]
    counts = Counter(sampler.pick(LOGITS) for _ in range(n))
    return {token: count / n for token, count in sorted(counts.items())}


def close(found: dict[int, float], expected: list[float]) -> bool:
    wanted = dict(enumerate(expected))
    return found.keys() == wanted.keys() and all(abs(found[i] - wanted[i]) < 0.03 for i in wanted)


def test_greedy_takes_the_first_of_equals() -> None:
    assert Sampler(Sampling()).pick(np.array([1, 3, 3, 2], np.float32)) == 1
    assert Sampler(Sampling(temperature=1e-30)).pick(LOGITS) == 0


def test_plain_temperature() -> None:
    assert close(shares(), [0.5, 0.25, 0.15, 0.06, 0.04])
    flat = np.array([0.5, 0.25, 0.15, 0.06, 0.04]) ** 0.5
    assert close(shares(temperature=2.0), list(flat / flat.sum()))


def test_top_k() -> None:
    assert close(shares(top_k=2), [2 / 3, 1 / 3])
    assert shares(50, top_k=1) == {0: 1.0}
    assert close(shares(top_k=99), [0.5, 0.25, 0.15, 0.06, 0.04])


def test_top_p_keeps_as_many_as_reach_the_sum() -> None:
    assert close(shares(top_p=0.74), [2 / 3, 1 / 3])
    assert close(shares(top_p=0.76), [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9])
    assert shares(50, top_p=1e-6) == {0: 1.0}


def test_min_p() -> None:
    assert close(shares(min_p=0.29), [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9])
    assert shares(50, min_p=1.0) == {0: 1.0}


def test_near_zero_and_huge_temperatures() -> None:
    assert shares(50, temperature=2e-4) == {0: 1.0}
    assert close(shares(temperature=1e30), [0.2] * 5)


def test_same_seed_same_choices() -> None:
    def run(seed: int | None) -> list[int]:
        sampler = Sampler(Sampling(temperature=1.5, seed=seed))
        return [sampler.pick(LOGITS) for _ in range(60)]

    assert run(3) == run(3)
    assert run(3) != run(4)
    assert run(None) != run(None)


def test_samplers_do_not_disturb_each_other() -> None:
    alone = Sampler(Sampling(temperature=1.0, seed=9))
    expected = [alone.pick(LOGITS) for _ in range(20)]
    one, other = (Sampler(Sampling(temperature=1.0, seed=9)) for _ in range(2))
    mixed = [(one.pick(LOGITS), other.pick(LOGITS)) for _ in range(20)]
    assert [a for a, _ in mixed] == [b for _, b in mixed] == expected


def test_repetition_penalty_works_for_both_signs_and_within_its_window() -> None:
    logits = np.array([2.0, 1.5, -1.0, -1.5], np.float32)
    sampler = Sampler(Sampling(repetition_penalty=2.0, repetition_window=2))
    assert sampler.pick(logits, [0]) == 1
    assert sampler.pick(logits, [0, 3, 3]) == 0
    negative = Sampler(Sampling(repetition_penalty=2.0))
    assert negative.pick(np.array([-1.0, -1.5], np.float32), [0]) == 1
    off = Sampler(Sampling(repetition_penalty=2.0, repetition_window=0))
    assert off.pick(logits, [0]) == 0
    assert logits.tolist() == [2.0, 1.5, -1.0, -1.5]


def test_mask() -> None:
    allowed = np.array([False, False, True, True, False])
    assert Sampler(Sampling(), allowed).pick(LOGITS) == 2
    drawn = Sampler(Sampling(temperature=5.0, seed=1), allowed)
    assert {drawn.pick(LOGITS) for _ in range(60)} == {2, 3}
    with pytest.raises(SettingError, match="no token"):
        Sampler(Sampling(), np.zeros(5, bool))
    with pytest.raises(SettingError, match="4 tokens"):
        Sampler(Sampling(), np.ones(4, bool)).pick(LOGITS)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers(temperature: float) -> None:
    sampler = Sampler(Sampling(temperature=temperature, seed=1))
    for bad in ([np.nan, 1, 2], [1, 2, np.nan], [-np.inf] * 3, [np.inf, 1, 2]):
        with pytest.raises(BackendError, match="no usable numbers"):
            sampler.pick(np.array(bad, np.float32))
    assert sampler.pick(np.array([-np.inf, -1e30, -np.inf], np.float32)) == 1
