"""The user's file of intents to teach: read, checked, and every mistake placed."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assistant.intent import sentence_file
from assistant.intent.normalize import normalize

FEWEST, MOST = 5, 20
"""Example sentences of one intent."""

_HINT = (
    "Each intent has a reply, or a command with slots, and 5 to 20 examples: "
    'intents: {tea_time: {reply: "Tea is at four.", examples: [...]}}.'
)


class Lesson(BaseModel):
    """One intent: what its sentences are answered with, or the command that they mean."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    reply: str = ""
    command: str = ""
    slots: sentence_file.PlainSlots = {}
    examples: list[str] = Field(min_length=FEWEST, max_length=MOST)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    intents: dict[str, Lesson] = Field(min_length=1)


def read(path: Path, known: Collection[str]) -> dict[str, Lesson]:
    """The lessons by name. known: intents that there are.

    Raises IntentError that names the file and, where it can, line and key.
    """
    if not path.exists():
        hint = "Write it, or name another file: assistant teach FILE."
        raise sentence_file.mistake(path, "there is no such file", hint=hint)
    tree, data = sentence_file.parse(path, _HINT)
    try:
        lessons = _File.model_validate(data).intents
    except ValidationError as error:
        first = error.errors()[0]
        keys = tuple(first["loc"])
        key = ".".join(map(str, keys)) or "the file"
        message = first["msg"][:1].lower() + first["msg"][1:]
        hint = _HINT
        if isinstance(first["input"], bool | int | float):
            hint = "Put quotes around it: in YAML, on, off, yes, no and numbers are no text."
        line = sentence_file.line_at(tree, keys)
        raise sentence_file.mistake(path, f"{key}: {message}", line, hint) from error
    said: dict[str, str] = {}
    for name, lesson in lessons.items():
        _check(path, tree, name, lesson, known)
        for place, example in enumerate(lesson.examples):
            other = said.setdefault(normalize(example), name)
            if other != name or not normalize(example):
                problem = f"it is an example of {other} as well" if other != name else "it is empty"
                line = sentence_file.line_at(tree, ("intents", name, "examples", place))
                key = f"intents.{name}.examples.{place}"
                raise sentence_file.mistake(path, f"{key}: {problem}", line, _HINT)
    return dict(lessons)


def _check(
    path: Path, tree: yaml.Node | None, name: str, lesson: Lesson, known: Collection[str]
) -> None:
    if bool(lesson.reply) == bool(lesson.command):
        line = sentence_file.line_at(tree, ("intents", name))
        problem = f"intents.{name}: it needs either a reply or a command"
        raise sentence_file.mistake(path, problem, line, _HINT)
    if lesson.command and lesson.command not in known:
        close = difflib.get_close_matches(lesson.command, sorted(known), n=1)
        hint = f'Did you mean "{close[0]}"?' if close else "Commands are called as timer.set is."
        line = sentence_file.line_at(tree, ("intents", name, "command"))
        problem = f'intents.{name}.command: there is no command "{lesson.command}"'
        raise sentence_file.mistake(path, problem, line, hint)
    if lesson.slots and not lesson.command:
        line = sentence_file.line_at(tree, ("intents", name, "slots"))
        problem = f"intents.{name}.slots: only a command has slots"
        raise sentence_file.mistake(path, problem, line, _HINT)
