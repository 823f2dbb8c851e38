"""Choices by chance that stay as they are when there is more to choose from."""

from __future__ import annotations

import zlib
from collections.abc import Iterable


class Picks:
    """Each value has a rank of its own in each pick, and the highest one wins: one more value
    changes only the picks that it wins."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def of(self, values: Iterable[str]) -> str:
        """One of them, of which there must be some; how often one is named does not count."""
        self._count += 1
        start = f"{self._seed}:{self._count}:"
        return max(values, key=lambda value: (zlib.crc32((start + value).encode()), value))
