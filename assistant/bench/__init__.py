"""``assistant bench``: how often it understands and how fast, on labelled data."""

from __future__ import annotations

import argparse
import json
from importlib import import_module

from assistant.config import Config
from assistant.errors import UsageError

BENCHES = {
    "intents": "assistant.bench.intents",
    "values": "assistant.bench.values",
    "speech-intent": "assistant.bench.speech_intent",
    "wer": "assistant.bench.wer",
    "wake": "assistant.bench.wake",
    "latency": "assistant.bench.turn_latency",
}
"""Each module has ``run(cfg, args) -> dict``, the row that ``--json`` prints, and
``table(row) -> str`` for people."""

WITHOUT_DATA = ("latency",)
"""Those that have something to measure of their own."""


def command(cfg: Config, args: argparse.Namespace) -> int:
    """Runs one benchmark. Raises AssistantError."""
    if args.data is None and args.what not in WITHOUT_DATA:
        raise UsageError(
            "bench.no_data", f"assistant bench {args.what} needs data.", "Name them by --data PATH."
        )
    bench = import_module(BENCHES[args.what])
    row = bench.run(cfg, args)
    print(json.dumps(row, ensure_ascii=False) if args.json else bench.table(row), flush=True)
    return 0
