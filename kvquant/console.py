"""What every command shares: usable streams, and one line on stderr for what goes wrong."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

from kvquant.errors import KvquantError

INTERRUPTED = 130


def guarded(name: str, run: Callable[[], int]) -> int:
    """Runs a command and returns its exit code, also after Ctrl-C and for a reader that left.

    name: of the command, before every message.
    """
    prepare()
    try:
        code = run()
        sys.stdout.flush()
    except KvquantError as e:
        print(f"{name}: {e}", file=sys.stderr)
        return e.exit_code
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_output()
        return 0
    except OSError as e:
        place = f"{e.filename}: " if e.filename else ""
        print(f"{name}: {place}{e.strerror or e}.", file=sys.stderr)
        _give_up_output()
        return KvquantError.exit_code
    return code


def prepare() -> None:
    """Makes the three streams usable: never closed, never fatal for a character."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # Open for as long as the program runs.
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _give_up_output() -> None:
    # What could not be printed goes nowhere; else the interpreter complains again when it ends.
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
