"""``python -m assistant.intent.train``: trains a head on labelled sentences.

Rows whose split is "test" are not looked at.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assistant import config
from assistant.errors import AssistantError, UsageError
from assistant.intent import data_sets
from assistant.intent.heads import file
from assistant.intent.heads.head import Setup
from assistant.intent.heads.reader import Reader
from assistant.intent.heads.stored import Stored
from assistant.intent.heads.training import draw, train
from assistant.intent.own import kin
from assistant.intent.own import rows as own
from assistant.models import path_of

MAX_THREADS = 64

OWN_THRESHOLD = 0.9
"""A wrong action is worse than an answer in words: with this score about one of a hundred
sentences of talk is taken for a command, as measured on sentences that were held out."""

OWN_SHARPNESS = (1.0, -0.25)
"""Slope and offset, chosen with it; near misses among the examples would make it look unsurer."""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0 done, 2 wrong use, 3 something missing, 4 failed, 130 interrupted."""
    args = _parser().parse_args(argv)
    try:
        _run(args)
    except AssistantError as error:
        print(f"train: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("train: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m assistant.intent.train",
        description="Train what understands free phrasing on labelled sentences.",
    )
    parser.add_argument(
        "--set",
        required=True,
        choices=(own.NAME, *data_sets.SETS),
        help="the set's name; own: the assistant's own intents, which needs no --data",
    )
    parser.add_argument("--data", type=Path, help="file or folder of the set")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE.head")
    parser.add_argument("--per-intent", type=int, metavar="N", help="only N examples of each")
    parser.add_argument(
        "--drawn",
        type=int,
        default=0,
        metavar="N",
        help="own: N sentences from the templates of each intent too (0)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of draws and training (0)")
    parser.add_argument("--config", type=Path, help="configuration that names the language model")
    parser.add_argument("--threads", type=int, default=2, help="for the language model (2)")
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="keep what the language model makes of a sentence, so that only new ones are read",
    )
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    return parser


def _run(args: argparse.Namespace) -> None:
    if args.per_intent is not None and args.per_intent < 2:
        raise UsageError("train.per_intent", "--per-intent must be at least 2.")
    if not 1 <= args.threads <= MAX_THREADS:
        raise UsageError("train.threads", f"--threads must be from 1 to {MAX_THREADS}.")
    if args.drawn < 0:
        raise UsageError("train.drawn", "--drawn must be at least 0.")
    if args.data is None and args.set != own.NAME:
        raise UsageError("train.data", f"--data must name the sentences of {args.set}.")
    file.check_place(args.out)
    start = time.monotonic()
    if args.set == own.NAME:
        more = data_sets.read(args.data) if args.data else []
        examples = own.rows([*own.written(), *more], seed=args.seed, per_intent=args.drawn)
    else:
        examples = data_sets.read(args.data)
    examples = [e for e in examples if e.split != "test"]
    if args.per_intent is not None:
        examples = draw(examples, args.per_intent, args.seed)
    cfg = config.load(args.config)
    models = Path(cfg.service.models_dir).expanduser() if cfg.service.models_dir else None
    setup = Setup(prefix=cfg.dialogue.system_prompt)
    if args.set == own.NAME:
        setup = replace(setup, layers=own.LAYERS)
    reader = Reader.load(path_of(cfg.llm.model, models), setup.prefix, threads=args.threads)

    def say(text: str) -> None:
        print(f"{time.monotonic() - start:6.0f} s  {text}", file=sys.stderr, flush=True)

    try:
        states = Stored(reader, args.cache) if args.cache is not None else reader
        how: dict[str, Any] = {}
        if args.set == own.NAME:
            how = {"careful": True, "kin": kin.groups, "remember": True}
            how["sharpness"] = OWN_SHARPNESS
        trained = train(args.set, examples, states, setup, **how, seed=args.seed, say=say)
    finally:
        reader.close()
    if args.set == own.NAME:
        trained.head.threshold = OWN_THRESHOLD
    size = trained.head.save(args.out)
    figures: dict[str, Any] = {
        "set": args.set,
        "n": len(examples),
        "intents": len(trained.head.labels),
        "validation_accuracy": trained.accuracy,
        "validation_oos_recall": trained.oos_recall,
        "validation_slot_f1": trained.slot_f1,
        "bytes": size,
        "seconds": round(time.monotonic() - start, 1),
        "file": str(args.out),
    }
    print(json.dumps(figures) if args.json else _human(figures), flush=True)


def _human(figures: dict[str, Any]) -> str:
    lines = [
        f"{figures['n']} sentences, {figures['intents']} intents, {figures['seconds']:.0f} s",
        f"validation accuracy {figures['validation_accuracy']:.2%}",
    ]
    if figures["validation_oos_recall"] is not None:
        lines.append(f"out of scope, told apart {figures['validation_oos_recall']:.1%}")
    if figures["validation_slot_f1"] is not None:
        lines.append(f"values, F1 {figures['validation_slot_f1']:.1%}")
    return "\n".join([*lines, f"{figures['file']}: {figures['bytes'] / 2**20:.1f} MiB"])


if __name__ == "__main__":
    sys.exit(main())
