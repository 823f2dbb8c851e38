"""Policies, budget and files of the controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import Controller
from kvquant.controller import dense, place_noise
from kvquant.errors import ControllerFileError, SettingError
from kvquant.features import N_FEATURES
from tests.kvquant.tiny_controller import linear, weights, write_controller, write_features

N_LAYER = N_HEAD = 2
POSITIONS = np.arange(4, 44)


@pytest.fixture(scope="module")
def path(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("controller")
    write_features(folder / "features-t.bin", tiny_path)
    more = {
        "variance_only": linear(weights=weights(f9=1.0), use_static=False),
        "plain_mlp": linear(kind="mlp", mlp="mlp", use_static=False),
        "per_token_rule": linear(weights=weights(f0=1.0), per_token=True),
        "noisy": linear(noise=2.0),
    }
    from tests.kvquant.tiny_controller import tiny_header

    policies = tiny_header(0)["policies"] | more
    return write_controller(folder / "ctrl-t.bin", tiny_path, policies=policies)


def features(n: int = 40, seed: int = 0) -> np.ndarray:
    shape = (n, N_LAYER, N_HEAD, N_FEATURES)
    return np.random.default_rng(seed).normal(0, 2, shape).astype(np.float32)


def loaded(path: Path, policy: str) -> Controller:
    return Controller.load(path, policy=policy)


def standard(c: Controller, f: np.ndarray) -> np.ndarray:
    arrays = c.file.arrays
    return (f - arrays["f_mean"].numpy()) * arrays["f_scale"].numpy()


def slow_network(c: Controller, prefix: str, x: np.ndarray) -> list[float]:
    """One row through the network, number by number."""
    y = x.astype(np.float64)
    for i in (1, 2, 3):
        w, s, b = (c.file.arrays[f"{prefix}.{part}{i}"].numpy() for part in "wsb")
        top = np.abs(y).max()
        codes = [int(np.rint(v * 127 / top)) if top else 0 for v in y]
        y = np.array(
            [
                sum(int(a) * q for a, q in zip(row, codes, strict=True)) * (top / 127) * scale
                + bias
                for row, scale, bias in zip(w, s, b, strict=True)
            ]
        )
        if i < 3:
            y = np.maximum(y, 0)
    return y.tolist()


def test_the_network_against_plain_arithmetic(path: Path) -> None:
    c = loaded(path, "adaptive")
    f = features(6)
    found = c.sensitivities(f, POSITIONS[:6])
    static, embedding = c.file.arrays["static"].numpy(), c.file.arrays["embedding"].numpy()
    x = standard(c, f)
    for t, i, h in np.ndindex(6, N_LAYER, N_HEAD):
        row = np.concatenate([x[t, i, h], embedding[i, h], np.zeros(11)])
        wanted = static[i, h] + slow_network(c, "mlp", row)
        # A rounding of an input may fall the other way in single precision.
        assert np.allclose(found[t, i, h], wanted, atol=0.02)
    bare = loaded(path, "plain_mlp").sensitivities(f, POSITIONS[:6])
    assert np.allclose(bare + static, found, atol=1e-5)


def test_a_network_of_three_inputs_sees_no_others(path: Path) -> None:
    c = loaded(path, "article")
    f = features(5)
    other = features(5, seed=1)
    other[..., 7:10] = f[..., 7:10]
    assert np.array_equal(c.sensitivities(f, POSITIONS[:5]), c.sensitivities(other, POSITIONS[:5]))
    other[..., 8] += 3
    assert not np.allclose(c.sensitivities(f, POSITIONS[:5]),
                           c.sensitivities(other, POSITIONS[:5]))  # fmt: skip


def test_linear_policies(path: Path) -> None:
    f = features()
    for policy, j, weight, use_static in (
        ("rule", 0, 1.4, True), ("rarity", 7, 1.0, False), ("variance_only", 9, 1.0, False),
        ("static_table", 0, 0.0, True),
    ):  # fmt: skip
        c = loaded(path, policy)
        part = (weight * standard(c, f)[..., j])[..., None]
        static = c.file.arrays["static"].numpy() if use_static else 0.0
        wanted = np.broadcast_to(part + static, (*f.shape[:3], 2))
        assert np.allclose(c.sensitivities(f, POSITIONS), wanted, atol=1e-5)


def test_tags_count_the_thresholds_below(path: Path) -> None:
    c = loaded(path, "rule")
    f = features()
    for offset in (-30.0, -1.0, 0.0, 2.0, 30.0):
        classes = c.judge(f, POSITIONS, offset)
        assert classes.shape == f.shape[:3]
        assert classes.dtype == np.uint8
        s = c.sensitivities(f, POSITIONS) + np.float32(offset)
        for which, tags in enumerate((classes & 3, classes >> 2)):
            wanted = sum((s[..., which] > th).astype(int) for th in c.file.thresholds)
            assert np.array_equal(tags, wanted)
    assert (c.judge(f, POSITIONS, -30.0) == 0).all()
    assert (c.judge(f, POSITIONS, 30.0) == 15).all()


@pytest.mark.parametrize("policy", ["article", "per_token_rule"])
def test_one_class_for_all_of_a_token(path: Path, policy: str) -> None:
    classes = loaded(path, policy).judge(8 * features(), POSITIONS)
    assert (classes == classes[:, :1, :1]).all()
    assert (classes & 3 == classes >> 2).all()
    assert len(np.unique(classes)) > 1


def test_random_choice_is_the_same_everywhere(path: Path) -> None:
    c = loaded(path, "random")
    f = features()
    s = c.sensitivities(f, POSITIONS)
    assert np.array_equal(s[..., 0], s[..., 1])
    assert np.array_equal(s, c.sensitivities(features(seed=8), POSITIONS))
    assert np.array_equal(s[7:8], c.sensitivities(f[7:8], POSITIONS[7:8]))
    assert not np.array_equal(s, c.sensitivities(f, POSITIONS + 1))
    assert np.allclose(loaded(path, "noisy").sensitivities(f, POSITIONS),
                       c.static + s / 3.0 * 2.0, atol=1e-5)  # fmt: skip


def test_noise_is_even() -> None:
    noise = place_noise(np.arange(300), np.arange(90))
    assert -1 <= noise.min() < -0.99
    assert 0.99 < noise.max() <= 1
    assert abs(noise.mean()) < 0.02
    assert abs(np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]) < 0.02
    assert abs(np.corrcoef(noise[:, :-1].ravel(), noise[:, 1:].ravel())[0, 1]) < 0.02


def test_dense_of_nothing_is_the_bias() -> None:
    w = np.ones((3, 4), np.int8)
    bias = np.array([1, 2, 3], np.float32)
    x = np.array([[0, 0, 0, 0], [1, 0.5, -1, 0.25]], np.float32)
    y = dense(x, w, np.full(3, 0.5, np.float32), bias)
    assert y[0].tolist() == [1, 2, 3]
    codes = 127 + 64 - 127 + 32
    assert np.allclose(y[1], codes / 127 * 0.5 + bias)


def test_offsets_follow_the_table_and_the_bits_so_far(path: Path) -> None:
    c = loaded(path, "rule")
    assert [c.offset(b, 0, 0.0) for b in (1.0, 2.0, 2.5, 3.0, 8.0, 12.0)] == [
        -6, -6, -3.5, -1, 12, 12,
    ]  # fmt: skip
    assert c.offset(3.0, 63, 9.0) == -1
    assert c.offset(3.0, 64, 3.5) == pytest.approx(-1 + 2.3 * -0.5 * 64 / 256)
    assert c.offset(3.0, 127, 3.5) == c.offset(3.0, 64, 3.5)
    assert c.offset(3.0, 6400, 2.0) == -1 + 6
    assert c.offset(3.0, 6400, 9.0) == -1 - 6


def test_saved_is_loaded(path: Path, tmp_path: Path) -> None:
    c = loaded(path, "adaptive")
    c.save(tmp_path / "ctrl-again.bin")
    write_again = Controller.load(
        tmp_path / "ctrl-again.bin", features=path.with_name("features-t.bin")
    )
    assert (tmp_path / "ctrl-again.bin").read_bytes() == path.read_bytes()
    f = features()
    assert np.array_equal(c.judge(f, POSITIONS), write_again.judge(f, POSITIONS))
    assert write_again.ladder == (2, 3, 4, 8)
    assert (write_again.window, write_again.sinks) == (32, 4)


def test_files_that_cannot_be_used(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ControllerFileError, match="no controller file"):
        Controller.load(tmp_path / "none")
    with pytest.raises(SettingError, match="policy 'best'"):
        Controller.load(path, policy="best")
    with pytest.raises(ControllerFileError, match="another model"):
        Controller.load(path, fingerprint=3)
    with pytest.raises(ControllerFileError):
        Controller.load(path, features=tmp_path / "none")


@pytest.mark.parametrize("cut", [10, 200, 5_000, -1])
def test_truncated_and_flipped_files(path: Path, tmp_path: Path, cut: int) -> None:
    raw = bytearray(path.read_bytes())
    bad = tmp_path / "ctrl-bad.bin"
    bad.write_bytes(raw[:cut])
    with pytest.raises(ControllerFileError):
        Controller.load(bad)
    raw[cut] ^= 4
    bad.write_bytes(raw)
    with pytest.raises(ControllerFileError):
        Controller.load(bad)


def test_token_features_are_asked_for_only_where_they_count(path: Path, tmp_path: Path) -> None:
    alone = tmp_path / "ctrl-alone.bin"
    alone.write_bytes(path.read_bytes())
    assert Controller.load(alone, policy="rule").known is None
    beside: Any = Controller.load(path, policy="rarity").known
    assert beside.rarity.shape == (len(beside.entropy),)
