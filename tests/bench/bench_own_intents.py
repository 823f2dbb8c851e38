"""Sentences through the sentences of the skills and the home and the head: right, wrong, left.

    python tests/bench/bench_own_intents.py [--set public|written] [--data DIR] [--seed N] [--per N]
        [--head FILE] [--no-home] [--show] [--left]

public: draws some sentences of each intent of the public sets, judged by
tests/bench/own_intents.yaml, with talk.txt and turns of users of SGD dialogues as talk; written:
tests/bench/own_written.yaml. The shipped head was trained on none of them. The home is that of
tests/data/home.yaml, whose names the sentences need not have. Ends in one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import own_sets
import yaml
from own_sets import Drawn

from assistant import config
from assistant.bench.latency import percentiles
from assistant.home.base import Area, Entity, Floor, Snapshot
from assistant.intent.base import Intent
from assistant.intent.chain import Chain
from assistant.intent.grammar import Grammar
from assistant.intent.heads.heads import SHIPPED, Heads
from assistant.intent.heads.reader import Reader
from assistant.intent.home_grammar import HomeGrammar
from assistant.intent.own import rows
from assistant.intent.own.finish import Finish
from assistant.models import path_of

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "tests" / "data" / "home.yaml"


def home() -> Snapshot:
    """The home of the tests."""

    def items(kind: str) -> list[dict[str, Any]]:
        return [{**item, "aliases": tuple(item.get("aliases", ()))} for item in content[kind]]

    content = yaml.safe_load(HOME.read_text(encoding="utf-8"))
    return Snapshot(
        floors=tuple(Floor(**item) for item in items("floors")),
        areas=tuple(Area(**item) for item in items("areas")),
        entities=tuple(Entity(**item) for item in items("entities")),
        version=1,
    )


def chain(head: Path, reader: Any, *, at_home: bool = True) -> Chain:
    """As the assistant understands, without what was taught."""
    grammar = Grammar([f for f in rows.folders() if (f / "en.yaml").is_file()])
    if not at_home:
        return Chain([grammar, Heads(head, reader)])
    snapshot = home()
    heads = Heads(head, reader, finish=Finish(lambda: snapshot))
    return Chain([grammar, HomeGrammar(lambda: snapshot), heads])


def figures(name: str, drawn: list[Drawn], links: Chain, show: bool, left: bool) -> dict[str, Any]:
    """values: of what the head did rightly, all values too; valued: of so many."""
    keys = ("right", "wrong", "left", "talk_taken", "in_scope", "talk", "values", "valued")
    counts = dict.fromkeys(keys, 0)
    ms = []
    for row in drawn:
        start = time.perf_counter()
        found = links.understand(row.text)
        ms.append((time.perf_counter() - start) * 1000)
        counts["in_scope" if row.right else "talk"] += 1
        if found is None:
            counts["left"] += bool(row.right)
            if left and row.right:
                print(f"{'-':28} ----  {row.text}")
        elif row.right and found.name.startswith(row.right):
            counts["right"] += 1
            if found.source == "heads" and row.marks is not None:
                whole = values(found) >= {row.text[m.start : m.end].lower() for m in row.marks}
                counts["valued"] += 1
                counts["values"] += whole
                if show and not whole:
                    print(f"{found.name:28} {found.slots}  {row.text}")
        else:
            counts["wrong" if row.right else "talk_taken"] += 1
            if show:
                print(f"{found.name:28} {found.score:.2f}  {row.text}")
    return {"set": name, **counts, "ms": percentiles(ms)}


def values(found: Intent) -> set[str]:
    return {str(value).lower() for value in found.slots.values()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--set", choices=("public", "written"), default="public")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per", type=int, default=5, help="sentences of each intent (5)")
    parser.add_argument("--head", type=Path, default=SHIPPED)
    parser.add_argument("--no-home", action="store_true", help="as where no home is configured")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    parser.add_argument("--left", action="store_true", help="print the commands left to talk")
    args = parser.parse_args()
    cfg = config.load(None)
    reader = Reader.load(path_of(cfg.llm.model), cfg.dialogue.system_prompt, threads=1)
    links = chain(args.head, reader, at_home=not args.no_home)
    links.load()
    sets = (
        own_sets.public(args.data, args.per, args.seed)
        if args.set == "public"
        else own_sets.written()
    )
    result = [figures(name, drawn, links, args.show, args.left) for name, drawn in sets.items()]
    reader.close()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
