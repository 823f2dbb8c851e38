"""How long the sentence grammar takes with all skills on, warm.

``python tests/bench/bench_grammar.py [--repeats N]`` asks it every sentence of the intent tests
and every line of talk, takes the median of N repeats of each, and prints one line of JSON:
percentiles in milliseconds, of wall time and of this process alone (a busy machine shows in the
difference), and how long loading takes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parents[2]))

from machine import describe

from assistant.bench.latency import percentiles
from assistant.intent.grammar import Grammar

ROOT = Path(__file__).parents[2]


def sentences() -> dict[str, list[str]]:
    """What is asked: commands and talk."""
    cases = ROOT / "tests" / "data" / "intents"
    commands = [
        str(sentence)
        for path in sorted(cases.glob("*.yaml"))
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
        for sentence in row["sentences"]
    ]
    talk = (cases / "talk.txt").read_text(encoding="utf-8").splitlines()
    return {"commands": commands, "talk": talk}


def timed(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Milliseconds."""
    begin = clock()
    call()
    return (clock() - begin) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    grammar = Grammar(sorted(p.parent for p in (ROOT / "assistant" / "skills").glob("*/en.yaml")))
    row: dict[str, object] = {
        "what": "grammar",
        "load_ms": round(timed(grammar.load, time.perf_counter)),
    }
    for kind, texts in sentences().items():
        for name, clock in (("ms", time.perf_counter), ("cpu_ms", time.process_time)):
            times = [
                statistics.median(
                    timed(lambda: grammar.understand(text), clock)  # noqa: B023
                    for _ in range(options.repeats)
                )
                for text in texts
            ]
            row[f"{kind}_{name}"] = percentiles(times)
        row[f"{kind}_n"] = len(texts)
    print(json.dumps({**row, "machine": describe()}))


if __name__ == "__main__":
    main()
