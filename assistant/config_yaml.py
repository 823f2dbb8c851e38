"""Reads a YAML file into plain values and remembers the line of each of them.

A small, unsurprising YAML: ``yes``, ``on`` and ``12:30`` are text (YAML 1.1 makes booleans and
sexagesimal numbers of them), aliases, merge keys, tags and repeated keys are mistakes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

MAX_BYTES = 256 * 1024
_MAX_DEPTH = 24

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """where: "FILE:LINE", "--set TEXT" or "$VARIABLE"; key: dotted path, "" for the whole file."""

    where: str
    key: str
    text: str

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.key}: {self.text}" if self.key else f"{self.where}: {self.text}"
        )


@dataclass
class Parsed:
    """data: the file's mapping; lines: line (from 1) of every key and list item by its path."""

    data: dict[str, Any] = field(default_factory=dict)
    lines: dict[KeyPath, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


class _Refused(yaml.MarkedYAMLError):
    """Something valid in YAML that has no place in a settings file."""


class _Loader(yaml.SafeLoader):
    """Composes nodes with the types of YAML 1.2."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _Refused(problem="write the value out; *aliases are not read", **_at(event))
        if getattr(event, "tag", None) is not None:
            raise _Refused(problem=f"tags such as {event.tag} are not read", **_at(event))
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _Refused(problem=f"it is nested deeper than {_MAX_DEPTH} levels", **_at(event))
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


# Without those that the safe loader has: they are of YAML 1.1.
_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), list(_first)
    )


def parse_file(path: Path) -> Parsed:
    """Reads a file; everything wrong with it is in ``mistakes``. Raises OSError."""
    with path.open("rb") as f:
        raw = f.read(MAX_BYTES + 1)
    name = str(path)
    if len(raw) > MAX_BYTES:
        return _failed(name, f"it is larger than {MAX_BYTES // 1024} KB, so it is no settings file")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _failed(f"{name}:1", "it is UTF-16; save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        bad = raw[exc.start]
        return _failed(
            f"{name}:{line}", f"the byte 0x{bad:02x} is no UTF-8; save the file as UTF-8"
        )
    return parse(text, name)


def parse(text: str, name: str) -> Parsed:
    """Reads YAML text; ``name`` is what mistakes call it."""
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        line = mark.line + 1 if mark else 1
        return _failed(f"{name}:{line}", _explain(exc, text, line))
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        return _failed(f"{name}:{line}", f"the character U+{_code(exc):04X} is not allowed")
    finally:
        if loader is not None:
            loader.dispose()
    parsed = Parsed()
    if node is None:
        return parsed
    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1
        return _failed(f"{name}:{line}", "sections such as `audio:` are expected here")
    parsed.data = _mapping(node, (), name, parsed)
    return parsed


def parse_value(text: str) -> Any:
    """One value as it may stand behind a key; text that is no YAML is itself."""
    parsed = parse(f"value: {text}" if text.strip() else "value: ''", "")
    return text if parsed.mistakes or set(parsed.data) != {"value"} else parsed.data["value"]


def dotted(path: KeyPath) -> str:
    """("wake", "words", 0) is wake.words[0]."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _mapping(node: yaml.MappingNode, path: KeyPath, name: str, parsed: Parsed) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        where = f"{name}:{line}"
        if not isinstance(key_node, yaml.ScalarNode):
            parsed.mistakes.append(Mistake(where, dotted(path), "a key must be a word"))
            continue
        key = str(key_node.value)
        here = (*path, key)
        if key == "<<" and key_node.style is None:
            text = "write the values out; << is not read"
            parsed.mistakes.append(Mistake(where, dotted(path), text))
        elif key in result:
            text = f"it is set twice, first in line {parsed.lines[here]}"
            parsed.mistakes.append(Mistake(where, dotted(here), text))
        else:
            parsed.lines[here] = line
            result[key] = _value(value_node, here, name, parsed)
    return result


def _value(node: yaml.Node, path: KeyPath, name: str, parsed: Parsed) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, name, parsed)
    if isinstance(node, yaml.SequenceNode):
        items = []
        for i, item in enumerate(node.value):
            parsed.lines[(*path, i)] = item.start_mark.line + 1
            items.append(_value(item, (*path, i), name, parsed))
        return items
    return _scalar(node)


def _scalar(node: yaml.Node) -> Any:
    kind = str(node.tag).rpartition(":")[2]
    text = str(node.value)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        bases = {"0o": 8, "0x": 16}
        # A number of thousands of digits is no setting, and slow to convert.
        return int(text, bases.get(text[:2], 10)) if len(text) < 100 else text
    if kind == "float":
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _explain(exc: yaml.MarkedYAMLError, text: str, line: int) -> str:
    lines = text.split("\n")
    shown = lines[line - 1] if line <= len(lines) else ""
    if "\t" in shown[: len(shown) - len(shown.lstrip())] or "'\\t'" in str(exc.problem):
        return "it is indented with a tab; use spaces"
    if isinstance(exc, _Refused):
        return str(exc.problem)
    if "single document" in str(exc.context):
        return "a second document begins here; there can be one only"
    problem = str(exc.problem or exc.context)
    if "mapping values are not allowed" in problem:
        problem = "a second `:` in one line, or a wrong indentation; put text with a `:` in quotes"
    elif "expected <block end>" in problem:
        problem = "the indentation does not fit the lines above"
    elif "could not find expected ':'" in problem:
        problem = "a key without `:`"
    elif "end of stream" in problem or "unexpected end" in problem:
        problem = "a quote or bracket is not closed"
    return f"it is no valid YAML: {problem}"


def _at(event: yaml.Event) -> dict[str, Any]:
    return {"problem_mark": event.start_mark}


def _code(exc: yaml.reader.ReaderError) -> int:
    return exc.character if isinstance(exc.character, int) else ord(exc.character)


def _failed(where: str, text: str) -> Parsed:
    return Parsed(mistakes=[Mistake(where, "", text)])
