"""``assistant teach``: learns the user's own intents by example; nothing else is learnt anew."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import platformdirs

from assistant.assembly import TAUGHT_FILE, Assembly
from assistant.config import Config
from assistant.errors import MissingError
from assistant.intent import sentence_file
from assistant.intent.base import Intent
from assistant.intent.grammar import EXAMPLES
from assistant.intent.heads.example import Example
from assistant.intent.own import rows
from assistant.intent.taught import lesson
from assistant.intent.taught.addon import AddOn
from assistant.intent.taught.addon import teach as learn
from assistant.intent.taught.learn import Unseen
from assistant.intent.taught.taught import Taught
from assistant.state import default_dir

_EACH = 2
"""Sentences of each built-in intent that the new ones are told apart from."""
_TALK_STEP = 7
"""Of so many sentences of talk one is taken: reading them is what takes time."""

_WEAK = 0.6
_SHOWN = 3


def command(cfg: Config, args: argparse.Namespace) -> int:
    """Raises IntentError for the user's file, MissingError without the language model."""
    if args.list:
        row = _listed(cfg)
        text = "\n".join(map(_line, row["intents"])) or "Nothing was taught."
    elif args.check is not None:
        row = check(cfg, args.check)
        text = _checked(row)
    else:
        row = teach(cfg, args.file or file_of(cfg))
        text = _taught(row)
    print(json.dumps(row, ensure_ascii=False) if args.json else text, flush=True)
    return 0


def file_of(cfg: Config) -> Path:
    """The user's file with lessons."""
    if cfg.understand.taught:
        return Path(cfg.understand.taught).expanduser()
    return Path(platformdirs.user_config_dir("assistant", appauthor=False)) / "taught.yaml"


def teach(cfg: Config, path: Path) -> dict[str, Any]:
    """Learns a file and stores what was learnt; keys: file, intents[], warnings[]."""
    assembly = Assembly(cfg)
    try:
        known = _known(assembly)
        lessons = lesson.read(path, known)
        for link in assembly.understander.links:
            if not isinstance(link, Taught):
                link.load()
        warnings = _taken(assembly, lessons)
        if assembly.llm is None:
            raise MissingError(
                "teach.llm", "Teaching needs the language model.", "Set llm.enabled to true."
            )
        assembly.llm.load()
        others = _others()
        addon, unseen = learn(lessons, others, assembly.llm, cfg.dialogue.system_prompt, _progress)
        _progress(0, 0)
    finally:
        assembly.close()
    stored = default_dir(cfg.service) / TAUGHT_FILE
    size = addon.save(stored)
    warnings += _warnings(list(lessons), unseen, _texts(lessons, others))
    intents = [{**_meaning(addon, i), "found": round(one.found, 2)} for i, one in enumerate(unseen)]
    return {"file": str(stored), "bytes": size, "intents": intents, "warnings": warnings}


def check(cfg: Config, text: str) -> dict[str, Any]:
    """What the text is understood as; keys: text, intent, slots, source, score, taught[]."""
    assembly = Assembly(cfg)
    try:
        assembly.load(sound=False)
        found = assembly.understander.understand(text)
        taught: list[dict[str, Any]] = []
        source = found.source if found is not None else "none"
        for link in assembly.understander.links:
            if not isinstance(link, Taught) or link.addon is None or assembly.llm is None:
                continue
            if found is not None and link.understand(text) == found:
                source = "taught"
            scores = link.addon.scores(text, assembly.llm)
            pairs = zip(link.addon.meanings, scores, strict=True)
            taught = [{"name": m.name, "score": round(s, 3)} for m, s in pairs]
    finally:
        assembly.close()
    taught.sort(key=lambda one: -one["score"])
    return {
        "text": text,
        "intent": found.name if found is not None else None,
        "slots": dict(found.slots) if found is not None else {},
        "source": source,
        "score": round(found.score, 3) if found is not None else None,
        "taught": taught[:_SHOWN],
    }


def _known(assembly: Assembly) -> set[str]:
    """Intents that a lesson may name as its command."""
    files = [
        path
        for folder in assembly.registry.sentence_dirs
        for path in sorted(folder.glob("*.yaml"))
        if path.name != EXAMPLES
    ]
    named = {name for path in files for name in sentence_file.read(path).intents}
    return named | {example.intent for example in rows.written()}


def _others() -> list[Example]:
    count: dict[str, int] = {}
    kept = []
    for example in rows.written():
        count[example.intent] = count.get(example.intent, 0) + 1
        if count[example.intent] <= _EACH:
            kept.append(example)
    return [*kept, *rows.talk()[::_TALK_STEP]]


def _taken(assembly: Assembly, lessons: dict[str, lesson.Lesson]) -> list[str]:
    """Warnings for examples that are commands already, which they stay."""
    warnings = []
    links = [link for link in assembly.understander.links if not isinstance(link, Taught)]
    for name, one in lessons.items():
        for example in one.examples:
            found = next(filter(None, (link.exactly(example) for link in links)), None)
            if found is not None and found.name != one.command:
                warnings.append(
                    f'{name}: "{example}" is a command already ({found.name}) and stays it'
                )
    return warnings


def _warnings(names: Sequence[str], unseen: Sequence[Unseen], texts: Sequence[str]) -> list[str]:
    warnings = []
    for name, one in zip(names, unseen, strict=True):
        if one.found < _WEAK:
            warnings.append(
                f"{name}: only {one.found:.0%} of its examples would be understood if they were "
                "new; more of them, or ones that are more alike, help"
            )
        warnings += [f'{name}: "{texts[i]}" would be taken for it' for i in one.alike[:_SHOWN]]
    return warnings


def _texts(lessons: dict[str, lesson.Lesson], others: Sequence[Example]) -> list[str]:
    """In the order in which they were learnt from."""
    from assistant.intent.heads.features import folded

    own = [folded(example) for one in lessons.values() for example in one.examples]
    return [*own, *(t for e in others if (t := folded(e.text)) not in set(own))]


def _listed(cfg: Config) -> dict[str, Any]:
    path = default_dir(cfg.service) / TAUGHT_FILE
    addon = AddOn.load(path) if path.is_file() else None
    count = len(addon.meanings) if addon is not None else 0
    return {
        "file": str(path),
        "intents": [_meaning(addon, i) for i in range(count)] if addon is not None else [],
    }


def _meaning(addon: AddOn, place: int) -> dict[str, Any]:
    meaning = addon.meanings[place]
    return {
        "name": meaning.name,
        "does": _does(meaning.intent),
        "examples": len(meaning.examples),
    }


def _does(intent: Intent) -> str:
    if "reply" in intent.slots and intent.name.startswith("commands."):
        return f'says "{intent.slots["reply"]}"'
    slots = " ".join(f"{key}={value}" for key, value in intent.slots.items())
    return f"{intent.name} {slots}".strip()


def _line(one: dict[str, Any]) -> str:
    return f"{one['name']}: {one['does']} ({one['examples']} examples)"


def _taught(row: dict[str, Any]) -> str:
    lines = [f"{_line(one)}, {one['found']:.0%} understood when not seen" for one in row["intents"]]
    return "\n".join([*lines, *(f"warning: {text}" for text in row["warnings"])])


def _checked(row: dict[str, Any]) -> str:
    if row["intent"] is None:
        lines = ["It is talk: no command is understood."]
    else:
        slots = " ".join(f"{key}={value}" for key, value in row["slots"].items())
        lines = [f"{row['intent']} {slots}".strip(), f"by {row['source']}, {row['score']:.0%} sure"]
    return "\n".join([*lines, *(f"  {t['name']}: {t['score']:.0%}" for t in row["taught"])])


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty() and done % 20 == 0:
        text = f"reading {done} of {of} sentences" if of else ""
        print(f"\r{text:40}\r{text}", end="", file=sys.stderr, flush=True)
