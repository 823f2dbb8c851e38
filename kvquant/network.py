"""A llama model's weights in plain numpy float32, and what happens between its attentions.

All weights are dequantized once. Matrices are (out, in).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvquant.bundle import fingerprint_of
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams

Floats = NDArray[np.float32]


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


class Network:
    """Everything but the attention, which needs a cache."""

    def __init__(self, file: ModelFile) -> None:
        """Raises ModelFileError."""
        self.params = Hyperparams.from_file(file)
        self.embedding = file.read("token_embd.weight")
        self.head = self.embedding if self.params.tied else file.read("output.weight")
        self.output_norm = file.read("output_norm.weight")
        self.layers = [_read_layer(file, i) for i in range(self.params.n_layer)]

    @property
    def fingerprint(self) -> int:
        """That of ``kvquant.bundle``: controllers name the model they are for by it."""
        return fingerprint_of(self.output_norm.tobytes())

    def close(self) -> None:
        """Lets go of the weights, half a gigabyte for a model of 135 million."""
        self.layers = []
        self.embedding = self.head = np.empty((0, 0), np.float32)

    def compute(self, tokens: NDArray[np.int32], attend: Callable[[int, Floats], Floats]) -> Floats:
        """The states (n, n_embd) after all layers, before the last norm.

        attend: (layer, queries, keys and values of the tokens, (n, n_embd + 2 n_kv_head *
            head_dim)) to the attention's output (n, n_embd).
        """
        eps = self.params.norm_eps
        x = self.embedding[tokens]
        for i, layer in enumerate(self.layers):
            h = _rms_norm(x, layer.attn_norm, eps)
            x = x + attend(i, h @ layer.qkv.T) @ layer.attn_output.T
            h = _rms_norm(x, layer.ffn_norm, eps)
            gate, up = np.split(h @ layer.gate_up.T, 2, axis=1)
            x = x + (_silu(gate) * up) @ layer.ffn_down.T
        return x

    def logits(self, x: Floats) -> Floats:
        """(n, n_vocab) of the states that ``compute`` gave."""
        return _rms_norm(x, self.output_norm, self.params.norm_eps) @ self.head.T


def _rms_norm(x: Floats, weight: Floats, eps: float) -> Floats:
    mean_square: Floats = np.mean(x * x, axis=1, keepdims=True)
    root: Floats = np.sqrt(mean_square + np.float32(eps))
    return x / root * weight


def _silu(x: Floats) -> Floats:
    growth: Floats = np.exp(-x)
    return x / (growth + np.float32(1.0))
