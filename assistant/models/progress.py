"""What a download tells the person who waits for it; everything goes to stderr."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_WIDTH = 30
_INTERVAL_S = 0.1


class Progress:
    """A bar on a terminal, plain lines elsewhere."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._bar = self._out.isatty()
        self._drawn_at = 0.0
        self._open = False

    def line(self, text: str) -> None:
        """One whole line."""
        self.end()
        print(text, file=self._out, flush=True)

    def update(self, done: int, total: int | None) -> None:
        """done and total in bytes; total is None when the server does not tell."""
        now = time.monotonic()
        if not self._bar or (now - self._drawn_at < _INTERVAL_S and done != total):
            return
        self._drawn_at = now
        self._open = True
        if total:
            filled = min(_WIDTH, _WIDTH * done // total)
            bar = "#" * filled + "." * (_WIDTH - filled)
            text = f"  [{bar}] {100 * done // total:3d} %  {megabytes(done)} of {megabytes(total)}"
        else:
            text = f"  {megabytes(done)}"
        self._out.write(f"\r{text}\x1b[K")
        self._out.flush()

    def end(self) -> None:
        """Leaves the bar's line."""
        if self._open:
            self._out.write("\n")
            self._out.flush()
            self._open = False


def megabytes(size: int) -> str:
    """A size for people: 98,362,432 is "98.4 MB"."""
    return f"{size / 1e6:.1f} MB"
