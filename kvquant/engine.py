"""The engine: a model file, its tokenizer, and sessions that each hold one KV cache.

The arithmetic is done by a backend. Two exist: ``kvquant.reference`` (numpy, plain, kept as the
measure of the other) and ``kvquant._native`` (C++). Both provide one function,

    load(path: str, *, threads: int, kv: str) -> ModelBackend

and the two protocols below. A backend reads the model file itself; tokenizer, chat template,
prefix reuse, chunking, cancellation, stop rules and sampling are done here, once for both.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class CacheBackend(Protocol):
    """One KV cache over a model's weights. Positions count from 0 without gaps.

    Used by one thread at a time; caches of one model may be used by different threads at
    once (the backend serialises them if it has to).
    """

    @property
    def length(self) -> int:
        """Tokens held."""

    @property
    def kv_bytes(self) -> int:
        """Bytes that the held tokens take in the cache, metadata included."""

    def forward(self, tokens: NDArray[np.int32], n_past: int, rows: int) -> NDArray[np.float32]:
        """Computes ``tokens`` (n,) at positions n_past … n_past + n - 1 and keeps them.

        n >= 1, 0 <= n_past <= length, n_past + n <= n_ctx, every token in [0, n_vocab): the
        caller has checked. What the cache holds from n_past on is dropped first.

        Returns the logits of the last ``rows`` tokens, (rows, n_vocab), 0 <= rows <= n, as an
        array that the caller owns. rows 0 skips the LM head.
        """

    def truncate(self, n: int) -> None:
        """Drops every token from position n on, 0 <= n <= length."""


class ModelBackend(Protocol):
    """The weights of one model, ready to compute. Holds no conversation."""

    @property
    def isa(self) -> str:
        """Instruction set in use, such as "avx512"; "numpy" for the reference."""

    @property
    def prefill_chunk(self) -> int:
        """Tokens a ``forward`` call should get at most: cancellation acts between calls."""

    def cache(self, n_ctx: int) -> CacheBackend:
        """A new, empty cache for at most n_ctx tokens."""

    def close(self) -> None:
        """Frees the weights. Caches made from it are not used afterwards."""
