"""Whether it tells what it knows and admits what it does not: shares of right, not sure, invented.

    python tests/bench/bench_facts.py [--half held|chosen|all] [--show] [--data FILE]

Asks the whole assistant each question of tests/data/facts.yaml in a conversation of its own.
``--half chosen`` are the questions by which settings were chosen, ``held`` the others. Ends in one
line of JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import yaml

from assistant import config
from assistant.assembly import Assembly
from assistant.dialogue.history import History
from assistant.dialogue.manager import Manager

ROOT = Path(__file__).resolve().parents[2]

UNSURE = re.compile(
    r"\b(?:not (?:quite |really |entirely )?(?:sure|certain)|do(?:n['’]t| not) know|no idea"
    r"|can(?:['’]t|not) (?:look|tell|say|see|know|answer|do)|do(?:n['’]t| not) have|have no"
    r"|unable to|did(?:n['’]t| not) (?:catch|understand))",
    re.IGNORECASE,
)
RIGHT, NOT_SURE, INVENTED = "right", "not_sure", "invented"


def judge(reply: str, right: str | None) -> str:
    """What an answer is; right: pattern of a right one, None where nobody could know."""
    if right is not None and re.search(right, reply, re.IGNORECASE):
        return RIGHT
    return NOT_SURE if UNSURE.search(reply) else INVENTED


def questions(path: Path, half: str) -> list[tuple[str, dict[str, str]]]:
    """(kind, question) of one half; every second of a kind is held out."""
    wanted = {"chosen": (0,), "held": (1,), "all": (0, 1)}[half]
    return [
        (kind["kind"], question)
        for kind in yaml.safe_load(path.read_text(encoding="utf-8"))
        for number, question in enumerate(kind["questions"])
        if number % 2 in wanted
    ]


def run(path: Path, half: str, show: bool, overrides: tuple[str, ...]) -> dict[str, Any]:
    """The row of figures."""
    kinds: dict[str, Counter[str]] = {}
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        assembly = Assembly(config.load(None, (f"service.state_dir={folder}", *overrides)))
        assembly.load(sound=False)
        for kind, question in questions(path, half):
            manager = Manager(
                state=assembly.state,
                registry=assembly.registry,
                understander=assembly.understander,
                llm=assembly.llm,
                history=History(assembly.cfg.dialogue),
                now=assembly.clock.now,
                emit=lambda event: None,
            )
            begin = time.monotonic()
            answer = manager.respond(question["ask"], turn=1, cancel=threading.Event())
            reply = "".join(answer.pieces)
            seconds.append(time.monotonic() - begin)
            found = judge(reply, question.get("right"))
            kinds.setdefault(kind, Counter())[found] += 1
            if show:
                print(f"{found:8} {kind:8} {question['ask']}  ->  {reply}", file=sys.stderr)
        assembly.close()
    total = sum(kinds.values(), Counter())
    n = sum(total.values())
    return {
        "what": "facts",
        "half": half,
        "n": n,
        **{name: round(total[name] / n, 3) for name in (RIGHT, NOT_SURE, INVENTED)},
        "kinds": {
            kind: {name: count[name] for name in (RIGHT, NOT_SURE, INVENTED)}
            for kind, count in kinds.items()
        },
        "median_ms": round(sorted(seconds)[len(seconds) // 2] * 1000),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "tests" / "data" / "facts.yaml")
    parser.add_argument("--half", choices=("held", "chosen", "all"), default="held")
    parser.add_argument("--show", action="store_true", help="print every answer on stderr")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    print(json.dumps(run(options.data, options.half, options.show, tuple(options.set))))


if __name__ == "__main__":
    main()
