"""What a session tells of the memory that its cache takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvquant.config import ModelInfo
from kvquant.steps import Steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class SessionReport:
    """The part of ``Session`` that only looks at the cache."""

    info: ModelInfo
    _steps: Steps
    _tokens: list[int]

    @property
    def kv_bytes(self) -> int:
        """Bytes that these tokens take in the cache: numbers, scales and tags."""
        return self._steps.kv_bytes

    @property
    def kv_bytes_fp16(self) -> int:
        """Bytes that they would take in 16 bits."""
        i = self.info
        return len(self._tokens) * 2 * i.n_layer * i.n_kv_head * i.head_dim * 2

    @property
    def bits_mean(self) -> float:
        """``kv_bytes`` in bits per number; 0 in an empty session."""
        return 16 * self.kv_bytes / self.kv_bytes_fp16 if self._tokens else 0.0

    @property
    def page_bytes(self) -> int:
        """Bytes of the pages that the cache has taken."""
        return self._steps.cache.page_bytes

    @property
    def metadata_bytes(self) -> int:
        """Bytes of tags, tables and attention received; 0 for 16 bits."""
        return self._steps.cache.metadata_bytes

    @property
    def allocations(self) -> int:
        """Times that the pool, which the engine's sessions share, asked the system for memory."""
        return self._steps.cache.allocations

    @property
    def fragmentation(self) -> float:
        """Part of the pool's taken pages that holds nothing, 0 … 1."""
        return self._steps.cache.fragmentation

    @property
    def ladder(self) -> tuple[int, ...]:
        """The widths, in bits, that the four tags stand for."""
        return tuple(self._steps.cache.ladder)

    @property
    def class_tokens(self) -> list[int]:
        """How many (token, layer, KV head) have each of the 16 classes, K tag | V tag << 2."""
        return list(self._steps.cache.class_tokens)

    @property
    def judged(self) -> tuple[int, int]:
        """Nanoseconds that the controller took, and how many tokens it judged."""
        nanoseconds, tokens = self._steps.cache.judged
        return nanoseconds, tokens

    def classes(self) -> NDArray[np.uint8]:
        """Classes of the quantized tokens, from the first one after the sinks on.

        (tokens, layers, KV heads): K tag | V tag << 2.
        """
        return self._steps.cache.classes()
