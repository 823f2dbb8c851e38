"""Finds stop texts in a text that comes in pieces."""

from __future__ import annotations

from collections.abc import Sequence


class StopText:
    """Lets text through until one of the stop texts appears.

    A tail that may be the beginning of a stop text is held back until that is decided.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Empty stop texts are ignored."""
        self._stops = tuple(stop for stop in stops if stop)
        self._held = ""
        self.found = False

    def push(self, piece: str) -> str:
        """The text that is now certain; ``found`` turns True when a stop text is complete."""
        text = self._held + piece
        ends = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if ends:
            self.found = True
            self._held = ""
            return text[: min(ends)]
        keep = max((self._overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> str:
        """What is still held back, at the end of the text."""
        held, self._held = self._held, ""
        return held

    @staticmethod
    def _overlap(text: str, stop: str) -> int:
        """Length of the longest end of the text that begins the stop text."""
        for n in range(min(len(stop) - 1, len(text)), 0, -1):
            if text.endswith(stop[:n]):
                return n
        return 0
