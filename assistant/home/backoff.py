"""How long to wait before the next try to connect."""

from __future__ import annotations

import random
from collections.abc import Callable


class Backoff:
    """Doubles from try to try up to a limit, and is spread so that not all come at once."""

    def __init__(
        self,
        first_s: float = 1.0,
        longest_s: float = 120.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """chance: from 0 to 1; a wait is half of its full length and up to as much again."""
        self._first_s = first_s
        self._longest_s = longest_s
        self._chance = chance
        self._full_s = first_s

    def next_s(self) -> float:
        """Seconds to wait now; the next wait is longer."""
        full_s = self._full_s
        self._full_s = min(2 * full_s, self._longest_s)
        return full_s * (1 + self._chance()) / 2

    def reset(self) -> None:
        """It worked: the next wait is short again."""
        self._full_s = self._first_s
