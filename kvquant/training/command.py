"""``python -m kvquant train`` and ``export``: a controller for a model, from texts to files."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kvquant.cli import find_model
from kvquant.controller_file import CONTROLLER_FILE
from kvquant.errors import BackendMissingError, KvquantError, SettingError

_INTERRUPTED = 130
_BAR = 30
WORK = Path("kvquant-training")


def train(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code. A user's mistake gives one line on stderr."""
    return _guarded("train", lambda: _train(_train_parser().parse_args(argv)))


def export(argv: Sequence[str]) -> int:
    """As ``train``."""
    return _guarded("export", lambda: _export(_export_parser().parse_args(argv)))


def _train(options: argparse.Namespace) -> None:
    _need_torch()
    import torch

    from kvquant.training.run import Settings
    from kvquant.training.train import Trainer

    for name, least in (("windows", 1), ("length", 128), ("epochs", 1), ("threads", 1)):
        if getattr(options, name) < least:
            raise SettingError("train.range", f"--{name} must be at least {least}.")
    torch.set_num_threads(options.threads)
    settings = Settings(
        windows=options.windows, length=options.length, epochs=options.epochs, seed=options.seed
    )
    bar = Bar()
    model = find_model(options.model, os.environ)
    trainer = Trainer(model, options.data, options.work, settings, bar.show)
    trainer.run()
    bar.end()
    print(f"Done. python -m kvquant export --work {options.work} writes the files.")


def _export(options: argparse.Namespace) -> None:
    _need_torch()
    from kvquant.training.export import export
    from kvquant.training.run import Run

    for path in export(Run.open(options.work).trained(), options.out):
        print(f"{path}: {path.stat().st_size} bytes")


def _need_torch() -> None:
    if importlib.util.find_spec("torch") is None:
        raise BackendMissingError(
            "train.torch",
            "Training a controller needs torch, which is not installed.",
            "pip install 'pi-voice-assistant[train]' brings it.",
        )


def _guarded(name: str, run: Callable[[], None]) -> int:
    try:
        run()
    except KvquantError as e:
        print(f"kvquant {name}: {e}", file=sys.stderr)
        return e.exit_code
    except OSError as e:
        place = f"{e.filename}: " if e.filename else ""
        print(f"kvquant {name}: {place}{e.strerror or e}.", file=sys.stderr)
        return KvquantError.exit_code
    except KeyboardInterrupt:
        print("\nStopped; the same command goes on from here.", file=sys.stderr)
        return _INTERRUPTED
    return 0


class Bar:
    """Progress on stderr: a bar that is drawn over and over, or lines where nobody watches."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown = sys.stderr.isatty()

    def show(self, done: int, total: int, what: str) -> None:
        full = _BAR * done // total
        seconds = time.monotonic() - self._start
        line = f"[{'#' * full}{'.' * (_BAR - full)}] {done}/{total} {what}, {seconds:.0f} s"
        sys.stderr.write(f"\r{line}\x1b[K" if self._shown else f"{line}\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\n")


def _train_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kvquant train",
        description="Measures on text what errors in each stored key and value would cost, and "
        "trains the networks that predict it. Only the training parts of the data sets are read. "
        "When stopped, the same command goes on where it was.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        required=True,
        help="folder of the data sets wikitext2, gutenberg, sgd-dialogues (those that are there)",
    )
    add("--model", help="GGUF file; default as for smolllm")
    add("--work", type=Path, default=WORK, help=f"working folder ({WORK})")
    add("--windows", type=int, default=6, metavar="N", help="windows of each data set (6)")
    add("--length", type=int, default=2048, metavar="N", help="tokens of a window (2048)")
    add("--epochs", type=int, default=4, metavar="N", help="times over all tokens (4)")
    add("--seed", type=int, default=0, metavar="N", help="same seed, same files (0)")
    add("--threads", type=int, default=1, metavar="N", help="of torch (1)")
    return parser


def _export_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m kvquant export",
        description="Writes the controller and the token features of a finished training run.",
        allow_abbrev=False,
    )
    parser.add_argument("--work", type=Path, default=WORK, help=f"working folder ({WORK})")
    parser.add_argument("--out", type=Path, default=CONTROLLER_FILE.parent,
        help="folder to write into; default: where the shipped ones are")  # fmt: skip
    return parser
