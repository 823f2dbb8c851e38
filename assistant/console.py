"""Standard input and output: closed ones, slow ones, and readers that have gone."""

from __future__ import annotations

import io
import os
import select
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

POLL_SECONDS = 0.1


def prepare() -> None:
    """Makes the three streams usable: never closed, never fatal for a character."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # Open for as long as the program runs.
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            # A terminal under LANG=C must not make an umlaut fatal.
            stream.reconfigure(encoding="utf-8", errors="replace")


def give_up_output() -> None:
    """What is still to be printed goes nowhere, so that Python does not fail at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def lines(stop: threading.Event) -> Iterator[str]:
    """Lines of standard input as they come; ends when ``stop`` is set, also while none comes."""
    descriptor = sys.stdin.fileno()
    rest = b""
    while not stop.is_set():
        if not select.select([descriptor], [], [], POLL_SECONDS)[0]:
            continue
        piece = os.read(descriptor, 1 << 16)
        *whole, rest = (rest + piece).split(b"\n")
        if not piece and rest:
            whole.append(rest)
        for line in whole:
            yield line.decode("utf-8", errors="replace")
        if not piece:
            return


class Printer:
    """Prints lines for callers that must not fail: a reader that has gone sets ``stop``."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._error: OSError | None = None

    def __call__(self, text: str) -> None:
        if self._error is not None:
            return
        try:
            print(text, flush=True)
        except OSError as error:
            self._error = error
            self._stop.set()

    def check(self) -> None:
        """Raises the OSError that stopped it, such as BrokenPipeError."""
        if self._error is not None:
            raise self._error
