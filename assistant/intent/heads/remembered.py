"""Lets several heads share one pass of the language model over a sentence."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from assistant.intent.heads.states import TextStates, TokenStates


class Remembered(TextStates):
    """Reads all the layers that are ever wanted at once, and keeps the last text's states."""

    def __init__(self, states: TextStates, layers: Sequence[int]) -> None:
        """layers: those that are read with any other."""
        self._states = states
        self._layers = sorted(set(layers))
        self._lock = threading.Lock()
        self._key: tuple[str, bool, str | None] | None = None
        self._held: list[int] = []
        self._last: TokenStates | None = None

    @property
    def fingerprint(self) -> int:
        return self._states.fingerprint

    def states(
        self, text: str, layers: Sequence[int], twice: bool = False, prefix: str | None = None
    ) -> TokenStates:
        """As ``TextStates`` says."""
        key = (text, twice, prefix)
        with self._lock:
            if self._last is None or self._key != key or not set(layers) <= set(self._held):
                held = sorted({*layers, *self._layers})
                self._last = self._states.states(text, held, twice=twice, prefix=prefix)
                self._key, self._held = key, held
            return self._last.of(self._held, layers)
