"""Features of tokens: formulas against a plain loop, and what odd inputs give."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kvquant.errors import ControllerFileError
from kvquant.features import (
    N_FEATURES,
    Leaving,
    Received,
    TokenFeatures,
    attention_variance,
    entropy,
    features_of,
    rarity,
)
from tests.kvquant.tiny_controller import write_features


def test_rarity() -> None:
    found = rarity(np.array([0, 1, 99]), 1000, 300)
    assert np.allclose(found, [-math.log(n / 1301) for n in (1, 2, 100)])
    assert (np.diff(found) < 0).all()


def test_entropy() -> None:
    logits = np.array([[0, 0, 0, 0], [900, -900, -900, -900], [1, 2, 3, 4]], np.float32)
    p = np.exp([1, 2, 3, 4]) / np.exp([1, 2, 3, 4]).sum()
    assert np.allclose(entropy(logits), [math.log(4), 0, -(p * np.log(p)).sum()], atol=1e-6)
    forbidden = np.array([[0, 0, -np.inf]], np.float32)
    assert np.allclose(entropy(forbidden), math.log(2))
    assert np.allclose(entropy(logits + 5000), entropy(logits), atol=1e-3)


@pytest.mark.parametrize("normalised", [True, False])
def test_attention_variance(normalised: bool) -> None:
    scores = np.random.default_rng(2).normal(0, 2, (3, 4, 9)).astype(np.float32)
    scores[:, np.arange(9) > np.arange(5, 9)[:, None]] = -np.inf
    found = attention_variance(scores, normalised=normalised)
    for i in range(4):
        per_head = []
        for head in range(3):
            x = scores[head, i, : 6 + i].astype(float)
            if normalised:
                x = (x - x.mean()) / math.sqrt(x.var() + 1e-6)
            p = np.exp(x) / np.exp(x).sum()
            per_head.append(p.var())
        assert found[i] == pytest.approx(np.mean(per_head), rel=1e-4)


def test_normalised_variance_does_not_know_the_size_of_scores() -> None:
    scores = np.random.default_rng(3).normal(0, 1, (2, 5, 30)).astype(np.float32)
    small, large = attention_variance(scores), attention_variance(30 * scores + 100)
    assert np.allclose(small, large, rtol=1e-3)
    raw = attention_variance(30 * scores, normalised=False)
    assert (raw > 5 * attention_variance(scores, normalised=False)).all()


def test_variance_of_odd_scores() -> None:
    nothing = np.full((2, 1, 5), -np.inf, np.float32)
    assert attention_variance(nothing) == 0
    one = nothing.copy()
    one[..., 2] = 4
    assert attention_variance(one) == 0
    assert attention_variance(np.full((2, 1, 5), 1e30, np.float32)) == pytest.approx(0, abs=1e-9)


def test_received_against_a_loop() -> None:
    rng = np.random.default_rng(4)
    weights = rng.random((2, 6, 9)).astype(np.float32)
    queries, keys, window = np.arange(10, 16), np.arange(4, 13), 5
    got = Received.of(weights, queries[:, None] - keys, window)
    for head in range(2):
        for t, key in enumerate(keys):
            near = [(i, q - key) for i, q in enumerate(queries) if 1 <= q - key <= window]
            counted = [weights[head, i, t] for i, _ in near]
            late = [weights[head, i, t] for i, d in near if d > window / 2]
            assert got.mass[head, t] == pytest.approx(sum(counted), abs=1e-6)
            assert got.late[head, t] == pytest.approx(sum(late), abs=1e-6)
            assert got.peak[head, t] == pytest.approx(max(counted, default=0), abs=1e-6)


def test_received_in_two_goes_is_received_at_once() -> None:
    weights = np.random.default_rng(5).random((3, 8, 4)).astype(np.float32)
    distances = np.arange(8)[:, None] - np.arange(4) + 1
    whole = Received.of(weights, distances, 6)
    two = Received.of(weights[:, :3], distances[:3], 6).joined(
        Received.of(weights[:, 3:], distances[3:], 6)
    )
    for name in ("mass", "late", "peak"):
        assert np.allclose(getattr(two, name), getattr(whole, name))


def leaving(n: int = 3, n_layer: int = 2, n_head: int = 2, **more: np.ndarray) -> Leaving:
    rng = np.random.default_rng(6)
    shape = (n_layer, n_head, n)
    parts = [rng.random(shape).astype(np.float32) for _ in range(5)]
    return Leaving(
        np.arange(7, 7 + n), np.arange(n), Received(*parts[:3]), parts[3], parts[4], **more
    )


def test_features_of_a_token() -> None:
    tokens = leaving()
    known = TokenFeatures(*(np.arange(4, dtype=np.float32) + 10 * i for i in range(3)))
    static = np.random.default_rng(7).normal(size=(2, 2, 2)).astype(np.float32)
    f = features_of(tokens, known, static, window=32, group=3)
    assert f.shape == (3, 2, 2, N_FEATURES)
    log = lambda x: math.log2(x + 2.0**-20)  # noqa: E731
    for t in range(3):
        masses = [[log(tokens.received.mass[i, h, t] / 96) for h in range(2)] for i in range(2)]
        for i in range(2):
            for h in range(2):
                wanted = [
                    masses[i][h],
                    log(tokens.received.late[i, h, t] / 48),
                    log(tokens.received.peak[i, h, t] / 3),
                    log(tokens.key_norm[i, h, t]),
                    log(tokens.value_norm[i, h, t]),
                    np.mean(masses[i]),
                    np.mean(masses),
                    t,
                    10 + t,
                    20 + t,
                    math.log2(8 + t),
                    *static[i, h],
                ]
                assert np.allclose(f[t, i, h], wanted, atol=1e-4)


def test_measured_entropies_come_first() -> None:
    known = TokenFeatures.none(5)
    measured = np.array([1.5, np.nan, 2.5], np.float32)
    static = np.zeros((2, 2, 2), np.float32)
    f = features_of(leaving(entropy=measured), known, static, 32, 3)
    assert f[:, 0, 0, 8].tolist() == [1.5, 0, 2.5]


def test_tokens_that_got_nothing_have_finite_features() -> None:
    zero = np.zeros((1, 1, 1), np.float32)
    tokens = Leaving(np.array([0]), np.array([0]), Received(zero, zero, zero), zero, zero)
    f = features_of(tokens, TokenFeatures.none(1), np.zeros((1, 1, 2), np.float32), 32, 3)
    assert np.isfinite(f).all()
    assert f[0, 0, 0, 0] == -20


def test_token_features_from_a_file(tiny_path: Path, tmp_path: Path) -> None:
    path = write_features(tmp_path / "f", tiny_path)
    known = TokenFeatures.load(path)
    three = known.of(np.array([3, 0, 3]))
    assert three.shape == (3, 3)
    assert np.array_equal(three[0], three[2])
    assert three[1].tolist() == [known.rarity[0], known.entropy[0], known.variance[0]]
    with pytest.raises(ControllerFileError, match="another model"):
        TokenFeatures.load(path, fingerprint=1)
