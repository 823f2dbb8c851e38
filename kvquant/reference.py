"""The model in plain numpy float32: the measure of every faster backend.

All weights are dequantized once at load. Matrices are (out, in). Queries and keys keep the
order of a GGUF file, in which the two channels that RoPE turns together are neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvquant.blas import limit_threads
from kvquant.errors import SettingError
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams

Floats = NDArray[np.float32]

_CACHE_TYPES: dict[str, type[np.floating]] = {"fp16": np.float16, "fp32": np.float32}


def load(path: str, *, threads: int, kv: str) -> ReferenceModel:
    """Reads and dequantizes a model file.

    threads: of numpy's BLAS, set for the whole process.
    kv: "fp16", or "fp32" for comparisons.

    Raises ModelFileError, SettingError.
    """
    if kv not in _CACHE_TYPES:
        raise SettingError("kv.unknown", f"The reference has no KV cache of the kind {kv!r}.")
    limit_threads(threads)
    return ReferenceModel(ModelFile.open(path), kv)


@dataclass(frozen=True, slots=True)
class _Layer:
    """qkv: (n_embd + 2 n_kv_head * head_dim, n_embd), queries first; gate_up: (2 n_ff, n_embd)."""

    attn_norm: Floats
    qkv: Floats
    attn_output: Floats
    ffn_norm: Floats
    gate_up: Floats
    ffn_down: Floats


def _read_layer(file: ModelFile, i: int) -> _Layer:
    def read(*names: str) -> Floats:
        parts = [file.read(f"blk.{i}.{name}.weight") for name in names]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    return _Layer(
        attn_norm=read("attn_norm"),
        qkv=read("attn_q", "attn_k", "attn_v"),
        attn_output=read("attn_output"),
        ffn_norm=read("ffn_norm"),
        gate_up=read("ffn_gate", "ffn_up"),
        ffn_down=read("ffn_down"),
    )


class ReferenceModel:
    """A ``kvquant.engine.ModelBackend``."""

    isa = "numpy"
    prefill_chunk = 128

    def __init__(self, file: ModelFile, kv: str) -> None:
        self.params = Hyperparams.from_file(file)
        self.cache_type = _CACHE_TYPES[kv]
        self.embedding = file.read("token_embd.weight")
        self.head = self.embedding if self.params.tied else file.read("output.weight")
        self.output_norm = file.read("output_norm.weight")
        self.layers = [_read_layer(file, i) for i in range(self.params.n_layer)]

    def cache(self, n_ctx: int) -> ReferenceCache:
        return ReferenceCache(self, n_ctx)

    def close(self) -> None:
        """Lets go of the weights, half a gigabyte for a model of 135 million."""
        self.layers = []
        self.embedding = self.head = np.empty((0, 0), np.float32)


class ReferenceCache:
    """A ``kvquant.engine.CacheBackend``; keys are stored after RoPE."""

    def __init__(self, model: ReferenceModel, n_ctx: int) -> None:
        p = model.params
        self._model = model
        self._params = p
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

    def truncate(self, n: int) -> None:
        assert 0 <= n <= self._length, (n, self._length)
        self._length = n

    def forward(self, tokens: NDArray[np.int32], n_past: int, rows: int) -> Floats:
        # Damaged weights may overflow; the sampler refuses what comes out.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._forward(tokens, n_past, rows)

    def _forward(self, tokens: NDArray[np.int32], n_past: int, rows: int) -> Floats:
        eps = self._params.norm_eps
        n = len(tokens)
        self._length = n_past
        x = self._model.embedding[tokens]
        for i, layer in enumerate(self._model.layers):
            h = _rms_norm(x, layer.attn_norm, eps)
            x = x + self._attend(i, h @ layer.qkv.T, n_past) @ layer.attn_output.T
            h = _rms_norm(x, layer.ffn_norm, eps)
            gate, up = np.split(h @ layer.gate_up.T, 2, axis=1)
            x = x + (_silu(gate) * up) @ layer.ffn_down.T
        self._length = n_past + n
        last = _rms_norm(x[n - rows :], self._model.output_norm, eps)
        return last @ self._model.head.T

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


def _rms_norm(x: Floats, weight: Floats, eps: float) -> Floats:
    mean_square: Floats = np.mean(x * x, axis=1, keepdims=True)
    root: Floats = np.sqrt(mean_square + np.float32(eps))
    return x / root * weight


def _silu(x: Floats) -> Floats:
    growth: Floats = np.exp(-x)
    return x / (growth + np.float32(1.0))


def _softmax(scores: Floats) -> Floats:
    """Over the last axis, in place; every row has at least one finite score."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores
