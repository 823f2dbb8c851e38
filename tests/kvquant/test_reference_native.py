"""The compiled engine against the reference over quantized caches, token by token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant.backend import load_backend
from kvquant.kv_settings import KEY_LAYOUTS
from tests.kvquant.tiny_controller import write_controller, write_features
from tests.kvquant.tiny_model import write_wide

pytest.importorskip("kvquant._native", reason="compares with the compiled engine")

IDS = np.random.default_rng(12).integers(0, 270, 300).astype(np.int32)
CHUNKS = (50, 64, 1, 1, 1, 64, 37, 1, 20, 1)
SMALL = 0.03
"""Mean difference of logits of about 1. The engine rounds activations, which alone is 0.001, and
the queries that meet codes; with coarse codes, some of which then fall to the other side, it is
more. Another width or no means: 0.1."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")
    model = write_wide(folder / "wide.gguf")
    write_controller(folder / "ctrl-w.bin", model)
    write_features(folder / "features-w.bin", model)
    return folder


def both(folder: Path, kv: str, **more: Any) -> list[Any]:
    """A cache of the engine and one of the reference."""
    caches = []
    for name in ("native", "reference"):
        path = str(folder / "wide.gguf")
        _, model = load_backend(name, path, threads=1, kv=kv, n_ctx=512, **more)  # type: ignore[arg-type]
        caches.append(model.cache(512))
    return caches


def feed(caches: list[Any], at: int = 0, chunks: tuple[int, ...] = CHUNKS) -> list[np.ndarray]:
    out: list[list[np.ndarray]] = [[], []]
    for n in chunks:
        for cache, rows in zip(caches, out, strict=True):
            rows.append(cache.forward(IDS[at : at + n], at, n))
        at += n
    return [np.concatenate(rows) for rows in out]


def classes_of(cache: Any) -> np.ndarray:
    return np.asarray(cache.classes()).reshape(-1, 2, 2)


@pytest.mark.parametrize("kv", ["static8", "static4", "static3", "static2"])
@pytest.mark.parametrize("means", [False, True])
@pytest.mark.parametrize("layout", KEY_LAYOUTS)
def test_static_kinds(folder: Path, kv: str, means: bool, layout: str) -> None:
    path = folder / "ctrl-w.bin" if means else None
    caches = both(folder, kv, controller=path, key_layout=layout)
    native, plain = feed(caches)
    near = {"static8": 0.012, "static4": 0.02, "static3": 0.04, "static2": 0.06}
    assert np.abs(native - plain).mean() < near[kv]
    assert caches[0].kv_bytes == caches[1].kv_bytes
    assert caches[0].bits_mean == pytest.approx(caches[1].bits_mean)
    assert np.array_equal(classes_of(caches[0]), classes_of(caches[1]))
    assert tuple(caches[0].ladder) == tuple(caches[1].ladder)
    assert list(caches[0].class_tokens) == list(caches[1].class_tokens)


@pytest.mark.parametrize(
    "policy", ["adaptive", "rule", "static_table", "rarity", "article", "random"]
)
@pytest.mark.parametrize(
    ("budget", "layout"), [(3.5, "rotated"), (6.0, "rotated"), (3.5, "pre_rope")]
)
def test_policies(folder: Path, policy: str, budget: float, layout: str) -> None:
    more = {"policy": policy, "budget_bits": budget, "key_layout": layout}
    caches = both(folder, "adaptive", controller=folder / "ctrl-w.bin", **more)
    native, plain = feed(caches)
    one, other = map(classes_of, caches)
    assert one.shape == other.shape == (sum(CHUNKS) - 36, 2, 2)
    # Attention differs in its last digits, so that a few tokens fall on the other side.
    assert (one != other).mean() < 0.03
    assert np.abs(native - plain).mean() < 2 * SMALL
    assert caches[0].kv_bytes == pytest.approx(caches[1].kv_bytes, rel=0.01)


@pytest.mark.parametrize("layout", KEY_LAYOUTS)
def test_going_back(folder: Path, layout: str) -> None:
    more = {"policy": "rule", "key_layout": layout}
    caches = both(folder, "adaptive", controller=folder / "ctrl-w.bin", **more)
    feed(caches)
    for to in (220, 130, 37, 3):
        for cache in caches:
            cache.truncate(to)
        native, plain = feed(caches, to, (1, 40, 1))
        assert np.abs(native - plain).mean() < 2 * SMALL
        one, other = map(classes_of, caches)
        assert one.shape == other.shape
        assert (one != other).mean() < 0.05


@pytest.mark.parametrize("layout", KEY_LAYOUTS)
def test_other_windows_and_sinks(folder: Path, layout: str) -> None:
    for window, sinks in ((2, 0), (11, 5), (48, 4)):
        caches = both(folder, "static4", window=window, sinks=sinks, key_layout=layout)
        native, plain = feed(caches)
        assert caches[0].front == caches[1].front == sum(CHUNKS) - window
        assert np.abs(native - plain).mean() < SMALL
        assert caches[0].kv_bytes == caches[1].kv_bytes


@pytest.mark.parametrize("layout", KEY_LAYOUTS)
def test_sliding(folder: Path, layout: str) -> None:
    caches = both(folder, "static4", key_layout=layout)
    feed(caches)
    for cache in caches:
        cache.slide(60)
    assert caches[0].length == caches[1].length == sum(CHUNKS) - 60
    native, plain = feed(caches, sum(CHUNKS) - 60, (1, 30, 1))
    assert np.abs(native - plain).mean() < SMALL


def test_measured_entropies(folder: Path) -> None:
    caches = both(folder, "adaptive", controller=folder / "ctrl-w.bin", features="exact")
    feed(caches)
    one, other = map(classes_of, caches)
    assert (one != other).mean() < 0.03
