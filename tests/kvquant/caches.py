"""Caches that are worse than sixteen bits, by a known amount, for tests of what measures them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant import Engine
from kvquant.backend import CacheBackend
from kvquant.gguf import ModelFile
from kvquant.reference import load
from kvquant.scoring import Setting


class Spoilt:
    """A backend whose logits get noise of a size; bits: what its cache claims to take."""

    isa = "numpy"
    prefill_chunk = 16

    def __init__(self, inner: Any, noise: float, bits: float) -> None:
        self.inner = inner
        self.noise = noise
        self.bits = bits

    def cache(self, n_ctx: int) -> CacheBackend:
        return SpoiltCache(self, self.inner.cache(n_ctx))

    def close(self) -> None:
        self.inner.close()


class SpoiltCache:
    def __init__(self, model: Spoilt, inner: CacheBackend) -> None:
        self.model = model
        self.inner = inner
        self.random = np.random.default_rng(3)

    @property
    def length(self) -> int:
        return self.inner.length

    @property
    def kv_bytes(self) -> int:
        return round(self.inner.kv_bytes * self.model.bits / 16)

    def forward(self, tokens: NDArray[np.int32], n_past: int, rows: int) -> NDArray[np.float32]:
        logits = self.inner.forward(tokens, n_past, rows)
        noise = self.random.normal(0, 1, logits.shape) * self.model.noise
        return (logits + noise).astype(np.float32)

    def truncate(self, n: int) -> None:
        self.inner.truncate(n)


NOISE = {"fp16": (0.0, 16.0), "static8": (0.05, 8.5), "static4": (0.3, 4.5), "static2": (3.0, 2.5)}


class Opener:
    """Opens the tiny model with such caches: adaptive is as good as its budget; NaN for static3."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opened: list[Setting] = []

    def __call__(self, setting: Setting, n_ctx: int) -> Engine:
        self.opened.append(setting)
        noise, bits = NOISE.get(setting.kv, (float("nan"), 3.5))
        if setting.kv == "adaptive":
            assert setting.budget is not None
            noise, bits = 0.4 / setting.budget, setting.budget
            if setting.policy == "random":
                noise *= 5
        inner = load(str(self.path), threads=1, kv="fp16")
        model = Spoilt(inner, noise, bits)
        return Engine(ModelFile.open(self.path), model, "reference", n_ctx)
