"""Labelled sentences for the assistant's own intents: drawn from public sets, or written."""

from __future__ import annotations

import gzip
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from assistant.intent.heads.example import Mark
from assistant.intent.heads.features import folded
from assistant.intent.own import examples, rows

HERE = Path(__file__).resolve().parent
MAPPINGS = HERE / "own_intents.yaml"
WRITTEN = HERE / "own_written.yaml"
TALK = HERE.parent / "data" / "intents" / "talk.txt"
DIALOGUES = "sgd-dialogues/sgd_dev_assistant.jsonl.gz"
SERVED = ("Weather", "Alarm", "Media", "Music", "Calendar")
"""Services of the dialogues that are not talk for us."""

_CALLED = re.compile(r"^(?:(?:hey|ok|okay|hi) )?(?:olly|siri|google|alexa)\b,? ", re.IGNORECASE)
"""By what other assistants are called; ours hears a sentence without its name."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """right: how the names of the intents begin that are right, none for talk; marks: the
    values, where they count."""

    text: str
    right: tuple[str, ...] = ()
    marks: tuple[Mark, ...] | None = None


def public(data: Path, per: int, seed: int) -> dict[str, list[Drawn]]:
    """At most ``per`` sentences of each intent of the public sets, and talk; less those that
    the head has learnt, as short ones coincide."""
    rng = random.Random(seed)
    mappings = yaml.safe_load(MAPPINGS.read_text(encoding="utf-8"))
    sets = {
        name: _of_set(data, mapping, per * mapping.get("times", 1), rng)
        for name, mapping in mappings.items()
    }
    lines = TALK.read_text(encoding="utf-8").splitlines()
    sets["talk.txt"] = [Drawn(line) for line in lines if line]
    sets["sgd"] = _of_dialogues(data, 40 * per, rng)
    known = _learnt()
    return {
        name: [row for row in drawn if folded(row.text) not in known]
        for name, drawn in sets.items()
    }


def written() -> dict[str, list[Drawn]]:
    """The sentences of ``own_written.yaml``. Raises ValueError when a head has learnt one."""
    content = yaml.safe_load(WRITTEN.read_text(encoding="utf-8"))
    known = _learnt()
    sets: dict[str, list[Drawn]] = {"commands": [], "talk": []}
    for intents, sentences in {**content["commands"], "": content["talk"]}.items():
        for sentence in sentences:
            example = examples.marked(sentence, intents)
            if folded(example.text) in known:
                raise ValueError(f'"{example.text}" is learnt from, so it cannot be measured on')
            right = tuple(intents.split("|")) if intents else ()
            sets["commands" if right else "talk"].append(Drawn(example.text, right, example.marks))
    return sets


def _learnt() -> set[str]:
    return {folded(example.text) for example in [*rows.written(), *rows.talk()]}


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _rows(path: Path) -> list[dict[str, Any]]:
    """text and intent; of dialogues the turns in which something new is asked for."""
    lines = _lines(path)
    if "turns" not in lines[0]:
        return lines
    return [
        {"text": turn["text"], "intent": frame["intent"]}
        for line in lines
        for turn in line["turns"]
        for frame in turn["frames"]
        if turn["who"] == "USER" and any(act[0] == "INFORM_INTENT" for act in frame["acts"])
    ]


def _of_set(data: Path, mapping: dict[str, Any], per: int, rng: random.Random) -> list[Drawn]:
    by_intent: dict[str, list[str]] = {}
    for row in _rows(data / mapping["file"]):
        by_intent.setdefault(row["intent"], []).append(_CALLED.sub("", row["text"]))
    talk = mapping.get("talk")
    if talk is None:
        talk = by_intent.keys() - mapping["intents"] - set(mapping["unclear"])
    wanted = {**dict.fromkeys(talk, ()), **mapping["intents"]}
    return [
        Drawn(text, tuple(wanted[intent]))
        for intent in sorted(wanted)
        for text in rng.sample(by_intent[intent], min(per, len(by_intent[intent])))
    ]


def _of_dialogues(data: Path, n: int, rng: random.Random) -> list[Drawn]:
    texts = [
        turn["text"]
        for dialogue in _lines(data / DIALOGUES)
        for turn in dialogue["turns"]
        if turn["who"] == "USER"
        and not any(frame["service"].startswith(SERVED) for frame in turn["frames"])
    ]
    return [Drawn(text) for text in rng.sample(texts, min(n, len(texts)))]
