"""The model in plain numpy float32: the measure of every faster backend.

Queries and keys come in the order of a GGUF file, in which the two channels that RoPE turns
together are neighbours; quantized caches get them in their own order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvquant.blas import limit_threads
from kvquant.cache import KVCache, Watch
from kvquant.cache_setup import CacheSetup, setup_for
from kvquant.errors import SettingError
from kvquant.features import entropy
from kvquant.gguf import ModelFile
from kvquant.kv_settings import BUDGET_CONTEXT, KV_KINDS, KvSettings, settings_of
from kvquant.network import Network
from kvquant.transforms import to_halves

Floats = NDArray[np.float32]

QUANTIZED_CHUNK = 64
"""Tokens that a quantized cache takes before it judges what has left the window."""

_CACHE_TYPES: dict[str, type[np.floating]] = {"fp16": np.float16, "fp32": np.float32}


def load(
    path: str,
    *,
    threads: int,
    kv: str,
    settings: KvSettings | None = None,
    n_ctx: int = BUDGET_CONTEXT,
) -> ReferenceModel:
    """Reads and dequantizes a model file.

    threads: of numpy's BLAS, set for the whole process.
    kv: one of KV_KINDS, or "fp32" for comparisons.
    settings: of a quantized kind; by default those of ``settings_of(kv)``.
    n_ctx: of the caches to come, for the budget of the adaptive kind.

    Raises ModelFileError, SettingError, ControllerFileError.
    """
    if kv not in (*_CACHE_TYPES, *KV_KINDS):
        raise SettingError("kv.unknown", f"The reference has no KV cache of the kind {kv!r}.")
    limit_threads(threads)
    model = ReferenceModel(ModelFile.open(path), kv)
    if kv not in _CACHE_TYPES:
        chosen = settings_of(kv) if settings is None else settings
        model.quantize(setup_for(chosen, model.params, model.fingerprint, n_ctx))
    return model


class ReferenceModel(Network):
    """A ``kvquant.backend.ModelBackend``."""

    isa = "numpy"

    def __init__(self, file: ModelFile, kv: str) -> None:
        super().__init__(file)
        self.cache_type = _CACHE_TYPES.get(kv, np.float16)
        self.setup: CacheSetup | None = None

    @property
    def prefill_chunk(self) -> int:
        """Tokens that one ``forward`` should get at most."""
        return 128 if self.setup is None else QUANTIZED_CHUNK

    def quantize(self, setup: CacheSetup) -> None:
        """Caches made from now on are quantized."""
        self.setup = setup

    def cache(self, n_ctx: int) -> ReferenceCache | QuantizedReferenceCache:
        if self.setup is None:
            return ReferenceCache(self, n_ctx)
        return QuantizedReferenceCache(self, KVCache(self.setup))


class QuantizedReferenceCache:
    """A ``kvquant.backend.CacheBackend`` over ``kvquant.cache.KVCache``."""

    def __init__(self, model: ReferenceModel, kv: KVCache) -> None:
        self._model = model
        self.kv = kv

    @property
    def watch(self) -> Watch | None:
        """Called with (layer, scores (n_head, n, tokens)): scaled, before the softmax, -inf for
        what a query does not see."""
        return self.kv.watch

    @watch.setter
    def watch(self, watch: Watch | None) -> None:
        self.kv.watch = watch

    @property
    def length(self) -> int:
        return self.kv.length

    @property
    def kv_bytes(self) -> int:
        return self.kv.kv_bytes

    @property
    def bits_mean(self) -> float:
        return self.kv.bits_mean

    @property
    def page_bytes(self) -> int:
        """Of the pages that hold its cells and those of its forks."""
        return self.kv.pool.counters.page_bytes

    @property
    def metadata_bytes(self) -> int:
        """Of the tags."""
        return -(-self.kv.classes().size // 2)

    @property
    def allocations(self) -> int:
        """Cells that it and its forks have taken so far."""
        return self.kv.pool.counters.allocations

    @property
    def fragmentation(self) -> float:
        """Part of page_bytes that is in no cell."""
        return self.kv.pool.counters.fragmentation

    @property
    def ladder(self) -> tuple[int, ...]:
        """Width in bits of each tag."""
        return self.kv.ladder

    @property
    def class_tokens(self) -> list[int]:
        """Quantized (token, layer, head)s by class."""
        return self.kv.class_tokens

    @property
    def front(self) -> int:
        """The first position that is not quantized."""
        return self.kv.front

    @property
    def judged(self) -> tuple[int, int]:
        """Nanoseconds that features and controller took, and tokens judged."""
        return self.kv.judged

    def classes(self) -> NDArray[np.uint8]:
        """(n, layers, KV heads) of the quantized tokens in order of position."""
        return self.kv.classes()

    def truncate(self, n: int) -> None:
        self.kv.truncate(n)

    def fork(self) -> QuantizedReferenceCache:
        """A second cache with the same tokens."""
        return QuantizedReferenceCache(self._model, self.kv.fork())

    def slide(self, n: int) -> None:
        """Drops the n oldest tokens after the sinks; the others move down by n."""
        self.kv.slide(n)

    def forward(self, tokens: NDArray[np.int32], n_past: int, rows: int) -> Floats:
        self.kv.truncate(n_past)
        found = []
        # Damaged weights may overflow; the sampler refuses what comes out.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for at in range(0, len(tokens), QUANTIZED_CHUNK):
                part = tokens[at : at + QUANTIZED_CHUNK]
                wanted = max(0, at + len(part) - (len(tokens) - rows))
                found.append(self._step(part, min(wanted, len(part))))
        return np.concatenate(found)

    def _step(self, tokens: NDArray[np.int32], rows: int) -> Floats:
        n = len(tokens)
        x = self._model.compute(tokens, self._attend)
        measured = self.kv.setup.exact_entropy
        logits = self._model.logits(x if measured else x[n - rows :])
        self.kv.finish(tokens, entropy(logits) if measured else None)
        return logits[len(logits) - rows :]

    def _attend(self, layer: int, qkv: Floats) -> Floats:
        p, n = self._model.params, len(qkv)
        heads = qkv.reshape(n, -1, p.head_dim)
        q, k, v = np.split(heads, [p.n_head, p.n_head + p.n_kv_head], axis=1)
        return self.kv.attend(layer, to_halves(q), to_halves(k), v).reshape(n, p.n_embd)


class ReferenceCache:
    """A ``kvquant.backend.CacheBackend`` in one type of float; keys are stored after RoPE.

    watch: as that of ``QuantizedReferenceCache``.
    """

    def __init__(self, model: ReferenceModel, n_ctx: int) -> None:
        p = model.params
        self._model = model
        self._params = p
        self.watch: Watch | None = None
        shape = (p.n_layer, p.n_kv_head, n_ctx, p.head_dim)
        self._keys = np.empty(shape, model.cache_type)
        self._values = np.empty(shape, model.cache_type)
        self._length = 0
        # Turns per position and channel pair, (n_ctx, head_dim / 2).
        rates = p.rope_base ** (-np.arange(0, p.head_dim, 2) / p.head_dim)
        angles = np.arange(n_ctx)[:, None] * rates
        self._cos = np.cos(angles).astype(np.float32)
        self._sin = np.sin(angles).astype(np.float32)

    @property
    def length(self) -> int:
        return self._length

    @property
    def kv_bytes(self) -> int:
        per_token = 2 * self._params.n_layer * self._params.n_kv_head * self._params.head_dim
        return self._length * per_token * self._keys.itemsize

    @property
    def page_bytes(self) -> int:
        """Of the arrays, which hold the whole context."""
        return self._keys.nbytes + self._values.nbytes

    @property
    def fragmentation(self) -> float:
        """Part of page_bytes that holds nothing."""
        return 1.0 - self.kv_bytes / self.page_bytes

    metadata_bytes = 0
    allocations = 2
    ladder = (16,) * 4
    class_tokens = (0,) * 16
    judged = (0, 0)

    def classes(self) -> NDArray[np.uint8]:
        """None: (0, layers, KV heads)."""
        return np.zeros((0, self._params.n_layer, self._params.n_kv_head), np.uint8)

    def truncate(self, n: int) -> None:
        assert 0 <= n <= self._length, (n, self._length)
        self._length = n

    def forward(self, tokens: NDArray[np.int32], n_past: int, rows: int) -> Floats:
        n = len(tokens)
        self._length = n_past
        # Damaged weights may overflow; the sampler refuses what comes out.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            x = self._model.compute(tokens, lambda i, qkv: self._attend(i, qkv, n_past))
            self._length = n_past + n
            return self._model.logits(x[n - rows :])

    def _attend(self, layer: int, qkv: Floats, n_past: int) -> Floats:
        """Stores the keys and values of n new tokens and attends with their queries.

        qkv: (n, n_embd + 2 n_kv_head * head_dim). Returns (n, n_embd).
        """
        p = self._params
        n, end = len(qkv), n_past + len(qkv)
        group = p.n_head // p.n_kv_head
        heads = qkv.reshape(n, p.n_head + 2 * p.n_kv_head, p.head_dim)
        turned = self._rope(heads[:, : p.n_head + p.n_kv_head], n_past)
        self._keys[layer, :, n_past:end] = turned[:, p.n_head :].swapaxes(0, 1)
        self._values[layer, :, n_past:end] = heads[:, p.n_head + p.n_kv_head :].swapaxes(0, 1)
        keys = self._keys[layer, :, :end].astype(np.float32, copy=False)
        values = self._values[layer, :, :end].astype(np.float32, copy=False)

        # The queries that share a KV head together: (n_kv_head, group * n, head_dim).
        queries = turned[:, : p.n_head].swapaxes(0, 1).reshape(p.n_kv_head, group * n, p.head_dim)
        scores = (queries @ keys.swapaxes(1, 2)) * np.float32(p.head_dim**-0.5)
        if n > 1:
            future = np.arange(end) > np.arange(n_past, end)[:, None]
            scores.reshape(p.n_head, n, end)[:, future] = -np.inf
        if self.watch is not None:
            self.watch(layer, scores.reshape(p.n_head, n, end).copy())
        out = _softmax(scores) @ values
        return out.reshape(p.n_head, n, p.head_dim).swapaxes(0, 1).reshape(n, p.n_embd)

    def _rope(self, heads: Floats, n_past: int) -> Floats:
        """Turns each pair of channels of (n, heads, head_dim) by its token's position."""
        n = len(heads)
        cos = self._cos[n_past : n_past + n, None]
        sin = self._sin[n_past : n_past + n, None]
        even, odd = heads[..., 0::2], heads[..., 1::2]
        turned = np.empty_like(heads)
        turned[..., 0::2] = even * cos - odd * sin
        turned[..., 1::2] = even * sin + odd * cos
        return turned


def _softmax(scores: Floats) -> Floats:
    """Over the last axis, in place; every row has at least one finite score."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores
