"""A YAML file of sentence templates: read, checked, and every mistake placed.

The format is that of hassil: ``intents: NAME: data: - sentences: [...]`` with
``expansion_rules`` and ``lists`` beside it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from assistant.errors import IntentError

MAX_BYTES = 1024 * 1024
"""Far more than anybody writes; what is larger is another kind of file."""

_FORMAT_HINT = "See the sentence files of the skills for the format."


def _plain(slots: dict[str, Any]) -> dict[str, Any]:
    """Refuses what YAML can hold and JSON cannot, such as dates without quotes."""
    for name, value in slots.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            kind = type(value).__name__
            raise ValueError(f"{name} is a {kind}; put it in quotes") from error
    return slots


PlainSlots = Annotated[dict[str, Any], AfterValidator(_plain)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class WordList(_Part):
    """The values of one list; ``out`` is what the slot holds where it differs."""

    values: list[str | PlainSlots] = Field(min_length=1)


class Block(_Part):
    """Sentences that mean the same; slots: values that go with them."""

    sentences: list[str] = Field(min_length=1)
    slots: PlainSlots = {}


class Meaning(_Part):
    """needs: slots of which one must be filled, or the skill will ask for it; lists within
    it are groups, of each of which one must be."""

    needs: list[str | list[str]] = []
    data: list[Block] = Field(min_length=1)


class SentenceFile(_Part):
    """One file; names of rules and lists are its own."""

    language: str = "en"
    intents: dict[str, Meaning] = Field(min_length=1)
    expansion_rules: dict[str, str] = {}
    lists: dict[str, WordList] = {}


def read(path: Path) -> SentenceFile:
    """Raises IntentError that names the file and, where it can, line and key."""
    tree, data = parse(path)
    try:
        return SentenceFile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        # the last parts may name the kinds of a choice, which are no keys
        keys = tuple(key for key in first["loc"] if key not in ("str", "dict[str,any]"))
        key = ".".join(map(str, keys))
        hint = _FORMAT_HINT
        if isinstance(first["input"], bool | int | float):
            hint = "Put quotes around it: in YAML, on, off, yes, no and numbers are no text."
        line = line_at(tree, keys)
        raise mistake(path, f"{key}: {_sentence(first['msg'])}", line, hint) from error


def parse(path: Path, hint: str = _FORMAT_HINT) -> tuple[yaml.Node | None, dict[Any, Any]]:
    """Tree and content of a YAML file with the key "intents".

    Raises IntentError that names the file and, where it can, line and key; hint: goes with it.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise mistake(path, "it is no file", hint=hint)  # nothing may ever come out of a pipe
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise mistake(path, "it is too large to be a file of sentences", hint=hint)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise mistake(path, f"it is not UTF-8 text (byte {error.start})", hint=hint) from error
    except OSError as error:
        raise mistake(path, f"it cannot be read: {error.strerror}", hint=hint) from error
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except RecursionError as error:
        raise mistake(path, "it is nested too deeply", hint=hint) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "no valid YAML"
        raise mistake(path, str(problem), mark.line + 1 if mark else 0, hint) from error
    if not isinstance(data, dict):
        raise mistake(path, "there is no intents: in it", hint=hint)
    if twice := _twice(tree):
        key, line = twice
        raise mistake(path, f'"{key}" is there twice', line, hint)
    return tree, data


def mistake(path: Path, problem: str, line: int = 0, hint: str = _FORMAT_HINT) -> IntentError:
    """The error for a problem in a sentence file."""
    where = f"{path}, line {line}" if line else str(path)
    return IntentError("intent.sentences", f"{where}: {problem}.", hint)


def line_of(path: Path, text: str) -> int:
    """The line on which a template stands, from 1; 0 when it is written otherwise there."""
    pattern = re.compile(re.escape(text))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if pattern.search(line):
            return number
    return 0


def _sentence(message: str) -> str:
    return message[:1].lower() + message[1:]


def _twice(node: yaml.Node | None) -> tuple[str, int] | None:
    """The first key that stands twice in one place, of which YAML would drop one, and its line."""
    waiting, met = [node], set()
    while waiting:
        node = waiting.pop()
        if id(node) in met:
            continue  # an alias
        met.add(id(node))
        if isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                waiting.append(value)
                if not isinstance(key, yaml.ScalarNode):
                    continue
                if key.value in keys:
                    return key.value, key.start_mark.line + 1
                keys.add(key.value)
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return None


def line_at(node: yaml.Node | None, keys: tuple[int | str, ...]) -> int:
    """The line of the deepest of the keys that is there, from 1; 0 without a file."""
    line = node.start_mark.line + 1 if node else 0
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            pair = next((kv for kv in node.value if kv[0].value == str(key)), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            if key >= len(node.value):
                break
            node = node.value[key]
            line = node.start_mark.line + 1
        else:
            break
    return line
