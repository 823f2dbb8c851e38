"""``assistant bench``: how often it understands and how fast, on labelled data."""

from __future__ import annotations

import argparse
import json
from importlib import import_module

from assistant.config import Config

BENCHES = {
    "intents": "assistant.bench.intents",
    "values": "assistant.bench.values",
    "speech-intent": "assistant.bench.speech_intent",
}
"""Each module has ``run(cfg, args) -> dict``, the row that ``--json`` prints, and
``table(row) -> str`` for people."""


def command(cfg: Config, args: argparse.Namespace) -> int:
    """Runs one benchmark. Raises AssistantError."""
    bench = import_module(BENCHES[args.what])
    row = bench.run(cfg, args)
    print(json.dumps(row, ensure_ascii=False) if args.json else bench.table(row), flush=True)
    return 0
