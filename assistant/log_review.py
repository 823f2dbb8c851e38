"""``assistant log``: the log of use understood again, and labelled by a person."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from assistant import console, interrupts
from assistant.assembly import Assembly
from assistant.config import Config
from assistant.config_yaml import parse_value
from assistant.dialogue.history import History
from assistant.dialogue.manager import NONE, TALK, Manager
from assistant.dialogue.use_log import Entry, read
from assistant.errors import InputFileError
from assistant.skills import own
from assistant.skills.registry import SKILLS, Registry
from assistant.state import Clock

OUT_OF_SCOPE = "oos"
"""The label of what is no command."""

_LABEL = re.compile(r"^(?P<skill>\w+)\.\w+$")
_HELP = (
    'Enter: it was right. A name such as "timer.set duration=300": it means that. '
    '"-": no command. s: skip. q: end.'
)


def command(cfg: Config, args: argparse.Namespace) -> int:
    """Raises InputFileError."""
    entries = read(args.file)
    if args.action == "label":
        with interrupts.noted() as stop:
            out = args.out or args.file.with_name(args.file.name + ".labels.jsonl")
            answers, skills = console.lines(stop), {*SKILLS, *own.names(cfg)}
            added = label(entries, out, answers, lambda text: print(text, flush=True), skills)
            print(f"{added} labels added to {out}.", file=sys.stderr)
            return 130 if stop.is_set() else 0
    row = replay(cfg, entries)
    if args.json:
        print(json.dumps(row, ensure_ascii=False))
    else:
        print(table(row))
    return 0


def replay(cfg: Config, entries: Sequence[Entry]) -> dict[str, Any]:
    """Understands all entries in order, at their own times; nothing is done and nothing is kept.

    The skills run on a state of their own, without devices, so that answers to questions and
    corrections are understood as they were. Keys: n, changed, rows[]{time, text, was, now}.
    """
    time = [datetime.now().astimezone()]
    clock = Clock(now=lambda: time[0])
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="assistant-replay-") as folder:
        private = cfg.model_copy(
            update={
                "service": cfg.service.model_copy(update={"state_dir": folder}),
                "privacy": cfg.privacy.model_copy(update={"keep_log": ""}),
            }
        )
        assembly = Assembly(private, clock=clock)
        try:
            assembly.understander.load()
            manager = Manager(
                state=assembly.state,
                registry=Registry.load(private, assembly.state),
                understander=assembly.understander,
                llm=None,
                history=History(cfg.dialogue, clock=lambda: time[0].timestamp()),
                now=clock.now,
                emit=lambda event: None,
            )
            for entry in entries:
                time[0] = _time_of(entry)
                found = manager.respond(entry.text, turn=1, cancel=threading.Event()).intent
                manager.said(entry.reply)
                was = {"intent": _name(entry.intent), "slots": entry.slots}
                now = {"intent": _name(found.name), "slots": dict(found.slots)}
                if was != now:
                    how = {"score": round(found.score, 3), "source": found.source}
                    rows.append({"time": entry.time, "text": entry.text, "was": was,
                                 "now": {**now, **how}})  # fmt: skip
        finally:
            assembly.close()
    return {"n": len(entries), "changed": len(rows), "rows": rows}


def table(row: dict[str, Any]) -> str:
    """What changed, for people."""
    lines = [f"{row['changed']} of {row['n']} turns are understood differently now."]
    for change in row["rows"]:
        lines.append(f'\n{change["time"]}  "{change["text"]}"')
        for when in ("was", "now"):
            lines.append(f"  {when}  {_shown(change[when]['intent'], change[when]['slots'])}")
    return "\n".join(lines)


def label(
    entries: Iterable[Entry],
    out: Path,
    answers: Iterable[str],
    show: Callable[[str], None],
    skills: Collection[str] = tuple(SKILLS),
) -> int:
    """Asks for each sentence that ``out`` does not have yet; appends {text, intent, slots}.

    answers: the person's lines. skills: names of those whose intents there are.
    Returns how many were added. Raises InputFileError.
    """
    lines = iter(answers)
    seen = _labelled(out)
    added = 0
    show(_HELP)
    try:
        with out.open("a", encoding="utf-8") as file:
            for entry in entries:
                if entry.text in seen:
                    continue
                seen.add(entry.text)
                right = _name(entry.intent)
                show(f"\n{entry.text}\n  {_shown(right, entry.slots)}")
                answer = _answer(lines, right, entry.slots, show, skills)
                if answer is None:
                    break
                if answer:
                    row = {"text": entry.text, **answer}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    file.flush()
                    added += 1
    except OSError as error:
        raise InputFileError(
            "log.out", f"The labels cannot be written to {out}: {error.strerror}."
        ) from error
    return added


def _answer(
    lines: Iterable[str],
    name: str,
    slots: dict[str, Any],
    show: Callable[[str], None],
    skills: Collection[str],
) -> dict[str, Any] | None:
    """The label; {} to skip, None at the end. Asks until the answer can be understood."""
    for line in lines:
        said = line.strip()
        if said == "q":
            return None
        if said == "s":
            return {}
        if said == "-":
            return {"intent": OUT_OF_SCOPE, "slots": {}}
        if not said:
            return {"intent": name, "slots": slots}
        words = re.findall(r"(?:[^\s\"]|\"[^\"]*\")+", said)
        match = _LABEL.match(words[0])
        if match is None or match["skill"] not in skills:
            show(f'There is no intent "{words[0]}". {_HELP}')
            continue
        if wrong := [word for word in words[1:] if not re.match(r"\w+=.", word)]:
            show(f'"{wrong[0]}" is no slot; write name=value.')
            continue
        pairs = (word.split("=", 1) for word in words[1:])
        return {"intent": words[0], "slots": {key: parse_value(text) for key, text in pairs}}
    return None


def _labelled(out: Path) -> set[str]:
    if not out.is_file():
        return set()
    try:
        text = out.read_text(encoding="utf-8-sig")
        rows = [json.loads(line) for line in text.split("\n") if line.strip()]
        return {row["text"] for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputFileError(
            "log.out", f"{out} has other things in it than labels.", "Name another file by --out."
        ) from error


def _name(intent: str) -> str:
    return OUT_OF_SCOPE if intent in (NONE, TALK) else intent


def _time_of(entry: Entry) -> datetime:
    try:
        return datetime.fromisoformat(entry.time)
    except ValueError as error:
        raise InputFileError(
            "log.time", f'"{entry.time}" is no time, in the entry "{entry.text}".'
        ) from error


def _shown(name: str, slots: dict[str, Any]) -> str:
    return f"{name} {json.dumps(slots, ensure_ascii=False)}" if slots else name
