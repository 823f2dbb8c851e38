"""``assistant bench intents``: how many labelled sentences are understood."""

from __future__ import annotations

import argparse
from typing import Any

from assistant.bench import own_home, own_plain, own_report, public_intents
from assistant.config import Config
from assistant.errors import UsageError
from assistant.intent.data_sets import SETS

OWN = "own"


def run(cfg: Config, args: argparse.Namespace) -> dict[str, Any]:
    """The row for ``--json``; own sentences with --out: tables and a plot as well.

    Raises InputFileError, UsageError, and what the assistant raises without its models.
    """
    if args.set in SETS:
        return public_intents.score(cfg, args.set, args.head, args.data, args.limit, args.kv)
    if args.set != OWN:
        known = ", ".join((OWN, *SETS))
        raise UsageError(
            "bench.set", f'There is no set of intents "{args.set}".', f"Known: {known}."
        )
    cases = list(own_home.read_rows(args.data))
    if not cases:
        rows = own_plain.read_rows(args.data)[: args.limit]
        row, verdicts = own_plain.score(cfg, rows, head=args.head, kv=args.kv)
        if args.out is not None:
            row["files"] = [str(path) for path in own_report.write(row, verdicts, args.out)]
        return row
    figures = own_home.score(cfg, cases, args.data, args.limit)
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
    if row["set"] != OWN:
        return public_intents.table(row)
    return own_plain.table(row) if "by_source" in row else own_home.table(row)
