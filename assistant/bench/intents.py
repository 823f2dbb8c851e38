"""``assistant bench intents``: how many labelled sentences are understood."""

from __future__ import annotations

import argparse
from typing import Any

from assistant.bench import own_home, public_intents
from assistant.config import Config
from assistant.errors import UsageError
from assistant.intent.data_sets import SETS

OWN = "own"


def run(cfg: Config, args: argparse.Namespace) -> dict[str, Any]:
    """The row for ``--json``. Raises InputFileError, UsageError."""
    if args.set in SETS:
        return public_intents.score(cfg, args.set, args.head, args.data, args.limit, args.kv)
    if args.set != OWN:
        known = ", ".join((OWN, *SETS))
        raise UsageError(
            "bench.set", f'There is no set of intents "{args.set}".', f"Known: {known}."
        )
    figures = own_home.score(cfg, own_home.read_rows(args.data), args.data, args.limit)
    return {
        "what": "intents",
        "set": OWN,
        "kv": None,
        "oos_recall": None,
        "oos_rejected_in_scope": None,
        "slot_f1": None,
        **figures,
    }


def table(row: dict[str, Any]) -> str:
    """The figures for people."""
    return own_home.table(row) if row["set"] == OWN else public_intents.table(row)
