"""``python -m kvquant convert``: a Hugging Face model folder to a GGUF file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from kvquant.convert import convert, model_name
from kvquant.convert_tensors import DEFAULT_TYPE, WEIGHT_TYPES
from kvquant.errors import KvquantError

_INTERRUPTED = 130
_REDRAW = 0.1
"""Seconds between two updates of the progress line."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code. A user's mistake gives one line on stderr."""
    options = _parser().parse_args(argv)
    folder = Path(options.folder).expanduser()
    out = Path(options.out or f"{model_name(folder)}.{options.type.upper()}.gguf").expanduser()
    line = ProgressLine(sys.stderr)
    try:
        done = convert(
            folder, out, weights=options.type, overwrite=options.force, progress=line.show
        )
    except KvquantError as e:
        line.clear()
        print(f"kvquant convert: {e}", file=sys.stderr)
        return e.exit_code
    except KeyboardInterrupt:
        line.clear()
        return _INTERRUPTED
    if options.json:
        report = {
            "path": str(done.path), "type": options.type, "tensors": done.tensors,
            "weights": done.weights, "bytes": done.nbytes,
        }  # fmt: skip
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(
            f"{done.path}: {done.weights / 1e6:.1f} million weights as {options.type}, "
            f"{done.nbytes / 1e6:.1f} MB"
        )
    return 0


class ProgressLine:
    """One line that is drawn over and over on a terminal; nothing elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shown = out.isatty()
        self._next = 0.0

    def show(self, done: int, total: int, tensor: str) -> None:
        """done, total: weights; tensor: the one at hand, "" at the end."""
        if not tensor:
            self.clear()
        elif self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + _REDRAW
            self._out.write(f"\r{100 * done // total:3d} %  {tensor}\x1b[K")
            self._out.flush()

    def clear(self) -> None:
        if self._shown:
            self._out.write("\r\x1b[K")
            self._out.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kvquant convert",
        description="Converts a Hugging Face model of the llama architecture (SmolLM, SmolLM2) "
        "to a GGUF file. What it does not know it refuses.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("folder", help="with config.json, model.safetensors and tokenizer.json")
    add("out", nargs="?", help="GGUF file to write; default: MODEL.TYPE.gguf in this folder")
    add(
        "--type",
        choices=tuple(WEIGHT_TYPES),
        default=DEFAULT_TYPE,
        help=f"format of the weights ({DEFAULT_TYPE}); +q8 keeps embedding and output in q8_0",
    )
    add("--force", action="store_true", help="replace the file if it is there already")
    add("--json", action="store_true", help="print one JSON object")
    return parser
