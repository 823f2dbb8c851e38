"""Public sentences through the sentences of the skills and the shipped head: right, wrong, left.

    python tests/bench/bench_own_intents.py [--data DIR] [--seed N] [--per N] [--show]

Draws some sentences of each intent of CLINC150 and HWU64, judged by tests/bench/own_intents.yaml,
with talk.txt and turns of users of SGD dialogues as talk. The shipped head was trained on none of
them. A home is assumed to be there. Ends in one line of JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import yaml

from assistant import config
from assistant.bench.latency import percentiles
from assistant.bench.own_plain import NONE, Row, Verdict
from assistant.intent.chain import Chain
from assistant.intent.grammar import Grammar
from assistant.intent.heads.heads import SHIPPED, Heads
from assistant.intent.heads.reader import Reader
from assistant.intent.own import rows
from assistant.models import path_of

ROOT = Path(__file__).resolve().parents[2]
TALK = ROOT / "tests" / "data" / "intents" / "talk.txt"
DIALOGUES = "sgd-dialogues/sgd_dev_assistant.jsonl.gz"
SERVED = ("Weather", "Alarm", "Media", "Music", "Calendar")
"""Services of the dialogues that are not talk for us."""

Drawn = tuple[str, tuple[str, ...]]
"""A sentence and how the names of the intents begin that are right; none for talk."""


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def of_set(data: Path, mapping: dict[str, Any], per: int, rng: random.Random) -> list[Drawn]:
    by_intent: dict[str, list[str]] = {}
    for row in lines(data / mapping["file"]):
        by_intent.setdefault(row["intent"], []).append(row["text"])
    talk = mapping.get("talk") or by_intent.keys() - mapping["intents"] - set(mapping["unclear"])
    wanted = {**dict.fromkeys(talk, ()), **mapping["intents"]}
    return [
        (text, tuple(wanted[intent]))
        for intent in sorted(wanted)
        for text in rng.sample(by_intent[intent], min(per, len(by_intent[intent])))
    ]


def of_dialogues(data: Path, n: int, rng: random.Random) -> list[Drawn]:
    texts = [
        turn["text"]
        for dialogue in lines(data / DIALOGUES)
        for turn in dialogue["turns"]
        if turn["who"] == "USER"
        and not any(frame["service"].startswith(SERVED) for frame in turn["frames"])
    ]
    return [(text, ()) for text in rng.sample(texts, min(n, len(texts)))]


def figures(name: str, drawn: list[Drawn], chain: Chain, show: bool) -> dict[str, Any]:
    counts = {"right": 0, "wrong": 0, "left": 0, "talk_taken": 0, "in_scope": 0, "talk": 0}
    ms = []
    for text, right in drawn:
        start = time.perf_counter()
        found = chain.understand(text)
        verdict = Verdict(Row(text, NONE), found, (time.perf_counter() - start) * 1000)
        ms.append(verdict.ms)
        counts["in_scope" if right else "talk"] += 1
        if found is None:
            counts["left"] += bool(right)
        elif verdict.got.startswith(right) and right:
            counts["right"] += 1
        else:
            counts["wrong" if right else "talk_taken"] += 1
            if show:
                print(f"{verdict.got:28} {found.score:.2f}  {text}")
    return {"set": name, **counts, "ms": percentiles(ms)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per", type=int, default=5, help="sentences of each intent (5)")
    parser.add_argument("--head", type=Path, default=SHIPPED)
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    args = parser.parse_args()
    cfg = config.load(None)
    reader = Reader.load(path_of(cfg.llm.model), cfg.dialogue.system_prompt, threads=1)
    grammar = Grammar([f for f in rows.folders() if (f / "en.yaml").is_file()])
    chain = Chain([grammar, Heads(args.head, reader)])
    chain.load()
    rng = random.Random(args.seed)
    mappings = yaml.safe_load(Path(__file__).with_name("own_intents.yaml").read_text("utf-8"))
    sets = {name: of_set(args.data, mapping, args.per, rng) for name, mapping in mappings.items()}
    sets["talk.txt"] = [(line, ()) for line in TALK.read_text("utf-8").splitlines() if line]
    sets["sgd"] = of_dialogues(args.data, 40 * args.per, rng)
    result = [figures(name, drawn, chain, args.show) for name, drawn in sets.items()]
    reader.close()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
