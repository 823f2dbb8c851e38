"""The quantized cache of one sequence: window, sinks, judging, shifts, forks, budgets."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import reference
from kvquant.cache import KVCache
from kvquant.cache_setup import CacheSetup
from kvquant.errors import CacheFullError, ControllerFileError, SettingError
from kvquant.kv_settings import KEY_LAYOUTS, class_bits, settings_of
from kvquant.pages import PAGE_BYTES, PagePool
from kvquant.reference import QuantizedReferenceCache, ReferenceModel
from tests.kvquant.tiny_controller import write_controller, write_features
from tests.kvquant.tiny_model import write_wide

L, H, G, D = 2, 2, 2, 32
FULL = (16,) * 4
# Largest error of outputs of a few hundred tokens against 16 bits, by width.
NEAR = {2: 0.6, 3: 0.35, 4: 0.2, 8: 0.02, 16: 0.002}


def setup(ladder: tuple[int, ...] = FULL, **more: Any) -> CacheSetup:
    rng = np.random.default_rng(1)
    means = rng.normal(0, 0.5, (2, L, H, D)).astype(np.float32)
    exponents = np.full((L, H), -11)
    values: dict[str, Any] = {
        "n_layer": L, "n_head": H * G, "n_kv_head": H, "head_dim": D,
        "frequencies": 10000.0 ** (-np.arange(0, D, 2) / D), "ladder": ladder,
        "key_mean": means[0], "v_mean": means[1], "k_exponent": exponents,
        "v_exponent": exponents,
    }  # fmt: skip
    return CacheSetup(**values | more)


class Text:
    """Random queries, keys and values of n tokens, before RoPE."""

    def __init__(self, n: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.q = rng.normal(size=(L, n, H * G, D)).astype(np.float32)
        self.k, self.v = rng.normal(size=(2, L, n, H, D)).astype(np.float32)
        self.ids = rng.integers(0, 50, n)

    def feed(self, cache: KVCache, which: Any, chunk: int = 64) -> np.ndarray:
        """Outputs (n, L, H * G, D) of tokens by number."""
        which = np.asarray(which)
        out = []
        for at in range(0, len(which), chunk):
            part = which[at : at + chunk]
            layers = [
                cache.attend(i, self.q[i, part], self.k[i, part], self.v[i, part]) for i in range(L)
            ]
            cache.finish(self.ids[part])
            out.append(np.stack(layers, 1))
        return np.concatenate(out)


def plain(text: Text, which: Any) -> np.ndarray:
    """Causal attention in double precision, without any cache."""
    which = np.asarray(which)
    n = len(which)
    angles = np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]

    def turned(x: np.ndarray) -> np.ndarray:
        a, b = np.split(x.astype(np.float64), 2, -1)
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    out = np.zeros((n, L, H * G, D))
    for i in range(L):
        q, k, v = turned(text.q[i, which]), turned(text.k[i, which]), text.v[i, which]
        for head in range(H * G):
            scores = q[:, head] @ k[:, head // G].T / D**0.5
            scores[np.triu_indices(n, 1)] = -np.inf
            p = np.exp(scores - scores.max(1, keepdims=True))
            out[:, i, head] = p @ v[:, head // G] / p.sum(1, keepdims=True)
    return out


TEXT = Text(260)


@pytest.mark.parametrize("layout", KEY_LAYOUTS)
@pytest.mark.parametrize("chunk", [1, 64, 200])
def test_sixteen_bits_are_plain_attention(layout: str, chunk: int) -> None:
    n = 90 if chunk == 1 else 200
    cache = KVCache(setup(key_layout=layout))
    out = TEXT.feed(cache, range(n), chunk)
    assert np.abs(out - plain(TEXT, range(n))).max() < NEAR[16]
    assert (cache.length, cache.front, len(cache.positions)) == (n, n - 32, n - 36)


@pytest.mark.parametrize("layout", KEY_LAYOUTS)
@pytest.mark.parametrize(("k_bits", "v_bits"), list(itertools.product((2, 3, 4, 8, 16), repeat=2)))
def test_every_pair_of_widths(layout: str, k_bits: int, v_bits: int) -> None:
    ladder = (k_bits, v_bits) * 2
    cache = KVCache(setup(ladder, constant_class=0 | 1 << 2, key_layout=layout))
    out = TEXT.feed(cache, range(120))
    assert np.isfinite(out).all()
    worst = np.abs(out - plain(TEXT, range(120))).max()
    assert worst < NEAR[k_bits] + NEAR[v_bits]
    assert worst > 0.01 * (NEAR[min(k_bits, v_bits)])


@pytest.mark.parametrize("ladder", [(2, 3, 4, 8), (2, 4, 8, 16)])
def test_all_combinations_of_neighbouring_classes(ladder: tuple[int, ...]) -> None:
    pairs = np.array(list(itertools.product(range(16), repeat=2)), np.uint8).ravel()[:224]
    cache = KVCache(setup(FULL))
    TEXT.feed(cache, range(260))
    # Heads run through the pairs from different places, so that all of them come up.
    classes = np.stack([np.roll(pairs, 37 * i) for i in range(L * H)], 1).reshape(-1, L, H)
    mixed = KVCache(replace(setup(FULL), ladder=ladder))
    TEXT.feed(mixed, range(260))
    mixed.requantize(classes)
    assert np.array_equal(mixed.classes(), classes)
    other = Text(1, seed=5)
    diff = np.abs(other.feed(mixed, [0]) - other.feed(cache, [0])).max()
    assert 0 < diff < NEAR[2]


def test_window_and_sinks_are_bit_equal_to_halves() -> None:
    full, coarse = KVCache(setup(FULL)), KVCache(setup((2,) * 4))
    TEXT.feed(full, range(150))
    TEXT.feed(coarse, range(150))
    # Through the same queries a cache of the first 36 tokens is the same at any width.
    few = [KVCache(setup(ladder)) for ladder in (FULL, (2,) * 4)]
    outs = [TEXT.feed(cache, range(36)) for cache in few]
    assert np.array_equal(outs[0], outs[1])
    near = coarse.setup.slots(np.r_[0:4, 118:150])
    assert np.array_equal(coarse._keys[:, :, near], full._keys[:, :, near])
    assert np.array_equal(coarse._values[:, :, near], full._values[:, :, near])


@pytest.mark.parametrize("bits", [2, 3, 4, 8, 16])
def test_codes_do_not_depend_on_chunks(bits: int) -> None:
    caches = [KVCache(setup((bits,) * 4)) for _ in range(3)]
    for cache, chunk in zip(caches, (1, 7, 64), strict=True):
        TEXT.feed(cache, range(110), chunk)
    stored = [[pages.read() for _, _, pages in cache._heads()] for cache in caches]
    for other in stored[1:]:
        for one, two in zip(stored[0], other, strict=True):
            assert np.array_equal(one[0], two[0])
            assert np.array_equal(one[1], two[1])
    assert len({cache.kv_bytes for cache in caches}) == 1


@pytest.mark.parametrize("bits", [2, 3, 4, 8, 16])
def test_bytes_and_bits(bits: int) -> None:
    cache = KVCache(setup((bits,) * 4))
    assert (cache.kv_bytes, cache.bits_mean) == (0, 0)
    TEXT.feed(cache, range(130))
    n = 130 - 36
    vector = {2: 9, 3: 13, 4: 17, 8: 34, 16: 64}[bits]
    assert cache.kv_bytes == 2 * L * H * (n * vector + 36 * 2 * D) + n * L * H // 2
    assert cache.bits_mean == 8 * cache.kv_bytes / (130 * 2 * L * H * D)
    body = 8 * (cache.kv_bytes - 2 * L * H * 36 * 2 * D) / (n * 2 * L * H * D)
    assert body == pytest.approx(class_bits((bits,) * 4, 0, D))
    counters = cache.pool.counters
    assert counters.cells == {bits: 2 * L * H * 6}
    assert counters.page_bytes % PAGE_BYTES == 0
    assert cache.class_tokens == [n * L * H] + [0] * 15


def test_shifting_moves_keys_to_their_new_positions() -> None:
    """After a slide, outputs are those of a cache that was built at the new positions."""
    n, by, probe = 150, 37, Text(1, seed=9)
    kept = np.r_[0:4, 4 + by : n]
    for layout, bits in itertools.product(KEY_LAYOUTS, (2, 3, 4, 8, 16)):
        moved = KVCache(setup((bits,) * 4, key_layout=layout))
        TEXT.feed(moved, range(n))
        moved.slide(by)
        built, still = (KVCache(setup(w, key_layout=layout)) for w in ((bits,) * 4, FULL))
        TEXT.feed(built, kept)
        TEXT.feed(still, range(n))
        assert moved.length == n - by
        assert np.array_equal(moved.positions, built.positions)
        assert np.array_equal(moved.tokens, built.tokens)
        there, exact = probe.feed(moved, [0]), probe.feed(built, [0])
        wrong = np.abs(probe.feed(still, [0]) - exact).max()
        error = np.abs(there - exact).max()
        # Before RoPE nothing is quantized again, so that codes are the very same.
        assert error <= (1e-5 if layout == "pre_rope" else NEAR[bits])
        assert bits < 4 or error < 0.5 * wrong


@pytest.mark.parametrize("bits", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("layout", KEY_LAYOUTS)
def test_sliding_three_times_past_the_limit(layout: str, bits: int) -> None:
    full, cache = (
        KVCache(setup(FULL, key_layout=layout)),
        KVCache(setup((bits,) * 4, key_layout=layout)),
    )
    for start in (0, 100, 160, 220):
        part = range(start, start + 60 if start else 100)
        part = range(part.start, min(part.stop, 260))
        outs = [TEXT.feed(c, part) for c in (full, cache)]
        assert np.isfinite(outs[1]).all()
        assert np.abs(outs[1] - outs[0]).max() < 1.5 * NEAR[bits]
        for c in (full, cache):
            c.slide(50)
    assert cache.length == full.length


@pytest.mark.parametrize("by", [0, 1, 60, 116, 120, 146])
def test_any_slide(by: int) -> None:
    cache = KVCache(setup(FULL))
    TEXT.feed(cache, range(150))
    cache.slide(by)
    built = KVCache(setup(FULL))
    TEXT.feed(built, np.r_[0:4, 4 + by : 150])
    assert (cache.length, cache.front) == (built.length, max(built.front, min(cache.front, 4)))
    probe = Text(40, seed=3)
    assert np.abs(probe.feed(cache, range(40)) - probe.feed(built, range(40))).max() < 0.01


@pytest.mark.parametrize("to", [0, 2, 4, 50, 117, 118, 130, 149])
def test_going_back(to: int) -> None:
    cache, fresh = KVCache(setup((4,) * 4)), KVCache(setup((4,) * 4))
    TEXT.feed(cache, range(150))
    cache.truncate(to)
    assert cache.length == to
    TEXT.feed(fresh, range(150))
    TEXT.feed(cache, range(to, 150))
    for one, other in zip(cache._heads(), fresh._heads(), strict=True):
        # Tokens that were halves when the cache was cut are quantized later, to the same codes.
        assert np.array_equal(one[2].read()[0], other[2].read()[0])
    assert np.array_equal(cache.positions, fresh.positions)
    assert cache.kv_bytes == fresh.kv_bytes
    probe = Text(1, seed=4)
    assert np.allclose(probe.feed(cache, [0]), probe.feed(fresh, [0]), atol=1e-5)


def test_forks_go_their_own_ways() -> None:
    cache = KVCache(setup((4,) * 4))
    TEXT.feed(cache, range(100))
    cells = cache.pool.counters.cells
    fork = cache.fork()
    assert cache.pool.counters.cells == cells
    one, other = Text(50, seed=6), Text(50, seed=7)
    outs = one.feed(cache, range(50)), other.feed(fork, range(50))
    for text, out in zip((one, other), outs, strict=True):
        alone = KVCache(setup((4,) * 4))
        TEXT.feed(alone, range(100))
        assert np.array_equal(text.feed(alone, range(50)), out)
    fork.truncate(0)
    cache.truncate(0)
    assert cache.pool.counters.pages_taken == 0


def test_evicted_tokens_are_not_seen() -> None:
    for layout in KEY_LAYOUTS:
        cache = KVCache(setup(FULL, key_layout=layout))
        TEXT.feed(cache, range(150))
        cache.evict(20, 70)
        assert cache.positions.tolist() == [*range(4, 20), *range(70, 118)]
        spoilt = Text(150, seed=0)
        spoilt.k, spoilt.v = TEXT.k[:, :150].copy(), TEXT.v[:, :150].copy()
        spoilt.q = TEXT.q[:, :150]
        spoilt.k[:, 20:70], spoilt.v[:, 20:70] = 0, 9
        other = KVCache(setup(FULL, key_layout=layout))
        spoilt.feed(other, range(150))
        other.evict(20, 70)
        probe = Text(1, seed=8)
        assert np.array_equal(probe.feed(cache, [0]), probe.feed(other, [0]))
        cache.truncate(60)
        assert cache.positions.tolist() == list(range(4, 20))


def test_a_full_pool_leaves_the_cache_as_it_was() -> None:
    cache = KVCache(setup((4,) * 4), PagePool(D, max_bytes=PAGE_BYTES))

    def until_full() -> None:
        for _ in range(200):
            before.update(length=cache.length, classes=len(cache.classes()))
            TEXT.feed(cache, range(50))

    before: dict[str, int] = {}
    with pytest.raises(CacheFullError, match="1 pages"):
        until_full()
    assert cache.length == before["length"] > 200
    assert {len(pages) for _, _, pages in cache._heads()} == {before["classes"]}
    cache.truncate(100)
    assert np.isfinite(TEXT.feed(cache, range(40))).all()


def test_no_nan_gets_in() -> None:
    bad = Text(80, seed=2)
    bad.k[0, 10], bad.v[0, 11], bad.k[1, 12] = np.nan, np.inf, -np.inf
    for bits in (2, 4, 8, 16):
        cache = KVCache(setup((bits,) * 4))
        with np.errstate(invalid="ignore"):
            bad.feed(cache, range(80))
        later = TEXT.feed(cache, range(5))
        assert np.isfinite(later).all()


def test_watching_scores() -> None:
    seen: dict[int, np.ndarray] = {}
    for layout, bits in itertools.product(KEY_LAYOUTS, (16, 8)):
        cache = KVCache(setup((bits,) * 4, key_layout=layout))
        TEXT.feed(cache, range(100))
        cache.watch = lambda layer, scores: seen.update({layer: scores})
        TEXT.feed(cache, range(100, 103))
        scores = seen[1]
        assert scores.shape == (H * G, 3, 103)
        assert np.isneginf(scores[:, 0, 101:]).all()
        assert np.isfinite(scores[:, 2]).all()
        angle = (np.arange(103) * 1.0)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)
        a, b = np.split(TEXT.k[1, :103, 0], 2, -1)
        k = np.concatenate([a * np.cos(angle) - b * np.sin(angle),
                            a * np.sin(angle) + b * np.cos(angle)], -1)  # fmt: skip
        k = k - (cache.setup.key_mean[1, 0] if layout == "rotated" else 0)
        qa, qb = np.split(TEXT.q[1, 102, 1], 2)
        q = np.concatenate([qa * np.cos(angle[-1]) - qb * np.sin(angle[-1]),
                            qa * np.sin(angle[-1]) + qb * np.cos(angle[-1])])  # fmt: skip
        assert np.allclose(scores[1, 2], k @ q / D**0.5, atol=0.01 if bits == 16 else 0.1)


# ---- with a model and a controller


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with heads of 32, and a controller."""
    folder = tmp_path_factory.mktemp("wide")
    model = write_wide(folder / "wide.gguf")
    write_controller(folder / "ctrl-w.bin", model)
    write_features(folder / "features-w.bin", model)
    return folder


def load(folder: Path, kv: str, layout: str = "rotated", **more: Any) -> ReferenceModel:
    settings = settings_of(kv, key_layout=layout, **more) if kv != "fp32" else None
    return reference.load(str(folder / "wide.gguf"), threads=1, kv=kv, settings=settings, n_ctx=512)


def cache_of(folder: Path, kv: str, layout: str = "rotated", **more: Any) -> Any:
    cache = load(folder, kv, layout, **more).cache(512)
    assert isinstance(cache, QuantizedReferenceCache)
    return cache


IDS = np.random.default_rng(3).integers(0, 270, 480).astype(np.int32)


def test_eight_bits_stay_near_floats(folder: Path) -> None:
    exact = load(folder, "fp32").cache(512).forward(IDS[:150], 0, 150)
    for layout in KEY_LAYOUTS:
        eight = cache_of(folder, "static8", layout).forward(IDS[:150], 0, 150)
        two = cache_of(folder, "static2", layout).forward(IDS[:150], 0, 150)
        assert np.abs(eight[:36] - exact[:36]).max() < 0.01
        assert 0 < np.abs(eight - exact).max() < 0.05
        assert np.abs(two - exact).mean() > 3 * np.abs(eight - exact).mean()


def test_long_forwards_are_cut_into_chunks(folder: Path) -> None:
    whole, parts = (cache_of(folder, "static4") for _ in range(2))
    rows = whole.forward(IDS[:150], 0, 100)
    single = [parts.forward(IDS[at : min(at + 64, 150)], at, min(64, 150 - at))
              for at in (0, 64, 128)]  # fmt: skip
    assert np.array_equal(rows, np.concatenate(single)[50:])
    assert whole.forward(IDS[:3], 150, 0).shape == (0, rows.shape[1])


@pytest.mark.parametrize("policy", ["adaptive", "rule", "article", "random"])
@pytest.mark.parametrize("layout", KEY_LAYOUTS)
def test_adaptive_caches(folder: Path, policy: str, layout: str) -> None:
    cache = cache_of(folder, "adaptive", layout, controller=folder / "ctrl-w.bin", policy=policy)
    out = cache.forward(IDS[:200], 0, 10)
    assert np.isfinite(out).all()
    classes = cache.classes()
    assert classes.shape == (164, 2, 2)
    assert len(np.unique(classes)) > 1
    bits = np.array([class_bits(cache.ladder, c, 32) for c in range(16)])[classes].mean()
    whole = (bits * 164 + 16 * 36) / 200
    assert cache.bits_mean == pytest.approx(whole, abs=0.01)
    assert cache.judged[1] == 164
    assert cache.class_tokens == np.bincount(classes.ravel(), minlength=16).tolist()


def test_larger_budgets_take_more_bits(folder: Path) -> None:
    bits = []
    for budget in (4.0, 5.0, 7.0):
        cache = cache_of(
            folder, "adaptive", controller=folder / "ctrl-w.bin", policy="rule", budget_bits=budget
        )
        cache.forward(IDS, 0, 0)
        bits.append(cache.bits_mean)
    assert bits == sorted(bits)
    assert len(set(bits)) == 3
    # The table of this controller is made up: what comes near the budget is the feedback's work.
    assert np.abs(np.array(bits) - (4.0, 5.0, 7.0)).max() < 1.2


def test_measured_entropy_is_used(folder: Path) -> None:
    found = [
        cache_of(folder, "adaptive", controller=folder / "ctrl-w.bin", features=kind)
        for kind in ("table", "exact")
    ]
    rows = [cache.forward(IDS[:150], 0, 5) for cache in found]
    assert rows[0].shape == rows[1].shape
    assert (found[0].classes() != found[1].classes()).any()
    assert np.isfinite(found[1].kv._entropies).all()


def test_settings_that_cannot_be(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="pre_rope"):
        load(folder, "static4", "sideways")
    with pytest.raises(SettingError, match="out of reach"):
        load(folder, "adaptive", controller=folder / "ctrl-w.bin", budget_bits=1.5)
    with pytest.raises(SettingError, match="no policy"):
        load(folder, "adaptive", controller=folder / "ctrl-w.bin", policy="none")
    with pytest.raises(ControllerFileError, match="no controller"):
        load(folder, "static4", controller=tmp_path / "ctrl.bin")


def test_window_and_sinks_come_from_the_settings_or_the_file(folder: Path) -> None:
    path = write_controller(
        folder / "ctrl-other.bin", folder / "wide.gguf", window=48, sinks=2, ladder=[2, 4, 8, 16]
    )
    cache = cache_of(folder, "adaptive", controller=path, policy="rule")
    cache.forward(IDS[:100], 0, 0)
    assert (cache.front, len(cache.classes()), cache.ladder) == (52, 50, (2, 4, 8, 16))
    cache = cache_of(folder, "static4", controller=path, window=8, sinks=0)
    cache.forward(IDS[:100], 0, 0)
    assert (cache.front, len(cache.classes())) == (92, 92)
    assert np.array_equal(cache.kv.setup.v_mean, cache_of(
        folder, "adaptive", controller=path, policy="rule").kv.setup.v_mean)  # fmt: skip
