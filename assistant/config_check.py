"""Checks plain values against pydantic sections and explains every mistake to a person."""

from __future__ import annotations

import copy
import difflib
import re
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import annotated_types
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from assistant.config_yaml import KeyPath, dotted

M = TypeVar("M", bound=BaseModel)

_UNITS = {
    "ms": 1.0, "msec": 1.0, "millisecond": 1.0, "milliseconds": 1.0,
    "s": 1e3, "sec": 1e3, "secs": 1e3, "second": 1e3, "seconds": 1e3,
    "m": 6e4, "min": 6e4, "mins": 6e4, "minute": 6e4, "minutes": 6e4,
    "h": 3.6e6, "hour": 3.6e6, "hours": 3.6e6,
}  # fmt: skip
_SECRETS = frozenset(["token", "password"])
"""Keys whose values are never shown."""

_QUANTITY = re.compile(r"\s*(-?\d{1,12}(?:\.\d{1,12})?)\s*([A-Za-z%]*)\s*")


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong value: its path and what to tell."""

    path: KeyPath
    text: str


@dataclass
class Checked(typing.Generic[M]):
    """value: the sections, with defaults in place of what is wrong; faults: what is wrong."""

    value: M
    faults: list[Fault] = field(default_factory=list)


def check(model: type[M], data: dict[str, Any]) -> Checked[M]:
    """Validates ``data``; every fault is found, not just the first."""
    data = _as_meant(model, copy.deepcopy(data))
    try:
        return Checked(model.model_validate(data))
    except ValidationError as exc:
        errors = exc.errors(include_url=False)
    faults: dict[KeyPath, Fault] = {}
    for error in errors:
        path = _known_part(model, error["loc"])
        faults.setdefault(path, Fault(path, _explain(model, path, error)))
    for path in faults:
        _remove(data, path)
    return Checked(model.model_validate(data), list(faults.values()))


def keys_of(model: type[BaseModel], prefix: KeyPath = ()) -> Iterator[KeyPath]:
    """The paths of all keys that are no sections."""
    for name, info in model.model_fields.items():
        section = _section(info.annotation)
        if section is None:
            yield (*prefix, name)
        else:
            yield from keys_of(section, (*prefix, name))


def is_text(model: type[BaseModel], path: KeyPath) -> bool:
    """True when the value at ``path`` is text, so that it must not be read as YAML."""
    annotation, _ = _find(model, path)
    return annotation is str


def is_list(model: type[BaseModel], path: KeyPath) -> bool:
    """True when the value at ``path`` is a list."""
    return typing.get_origin(_find(model, path)[0]) is tuple


def nearest_key(model: type[BaseModel], path: KeyPath) -> str:
    """The known key that is most like ``path``, dotted; "" when none is."""
    section = _find(model, path[:-1])[0]
    wanted = str(path[-1])
    inside = _section(section)
    if inside is not None:
        close = difflib.get_close_matches(wanted.lower(), inside.model_fields, n=1, cutoff=0.6)
        if close:
            return dotted((*path[:-1], close[0]))
    known = {dotted(p): str(p[-1]) for p in keys_of(model)}
    same = [full for full, last in known.items() if last == wanted]
    close = same or difflib.get_close_matches(dotted(path), known, n=1, cutoff=0.75)
    return close[0] if close else ""


def allowed(annotation: Any, limits: tuple[Any, ...] = ()) -> str:
    """What a value may be, in words."""
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        return allowed(arguments[0], (*limits, *arguments[1:]))
    if origin is Literal:
        return "one of " + ", ".join(str(a) for a in arguments)
    if origin in (typing.Union, types.UnionType):
        kinds = [allowed(a, limits) for a in arguments if a is not type(None)]
        return " or ".join(kinds) + " or nothing (null)"
    if origin is tuple:
        return "a list, each item " + allowed(arguments[0])
    if origin is dict:
        return "a mapping of names, each with " + allowed(arguments[1])
    if _section(annotation) is not None:
        return "a section with the keys " + ", ".join(annotation.model_fields)
    name = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return name.get(annotation, "another kind of value") + _range(limits)


def _explain(model: type[BaseModel], path: KeyPath, error: Any) -> str:
    kind = error["type"]
    if kind == "extra_forbidden":
        return _unknown_key(model, path)
    annotation, limits = _find(model, path)
    value = error["input"]
    wanted = allowed(annotation, limits)
    if value is None:
        return f"it is empty; give {wanted}, or remove the line"
    if path[-1] in _SECRETS:
        return f"this value is not allowed; give {wanted}. Put it in quotes"
    text = f"{_shown(value)} is not allowed; give {wanted}"
    return f"{text}.{_advice(path, value, annotation, limits)}"


def _unknown_key(model: type[BaseModel], path: KeyPath) -> str:
    place = dotted(path[:-1])
    near = nearest_key(model, path)
    text = f"there is no such key in {place}" if place else "there is no such section"
    if near:
        return f"{text}. Did you mean {near}?"
    section = _section(_find(model, path[:-1])[0]) or model
    return f"{text}. Known are {', '.join(section.model_fields)}."


def _advice(path: KeyPath, value: Any, annotation: Any, limits: tuple[Any, ...]) -> str:
    """A guess at what was meant, with a leading space; "" when there is none."""
    if typing.get_origin(annotation) is Literal:
        choices = [str(a) for a in typing.get_args(annotation)]
        close = difflib.get_close_matches(str(value).lower(), choices, n=1, cutoff=0.6)
        return f" Did you mean {close[0]}?" if close else ""
    if typing.get_origin(annotation) is tuple and isinstance(value, str | int | float | bool):
        return f" Write it as a list: [{value}]"
    if _section(annotation) is not None or isinstance(value, bool):
        return ""
    if annotation is str and isinstance(value, int | float):
        return f' Put it in quotes: "{value}"'
    guess = _in_right_unit(str(path[-1]), value, annotation, limits)
    if guess is None:
        return ""
    unit = _unit_of(str(path[-1]))
    return f" Did you mean {guess}?" + (f" The unit is {unit}." if unit else "")


def _in_right_unit(
    key: str, value: Any, annotation: Any, limits: tuple[Any, ...]
) -> int | float | None:
    """The value converted to the unit of its key, when that makes it fit."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return None
    number, unit = float(match[1]), match[2].lower()
    guesses = []
    if key.endswith(("_ms", "_s")):
        scale = 1.0 if key.endswith("_ms") else 1e-3
        if unit in _UNITS:
            guesses = [number * _UNITS[unit] * scale]
        elif not unit:
            guesses = [number * 1000, number / 1000]
    elif unit == "%" or not unit:
        guesses = [number / 100] if annotation is float else [number, number * 100]
    elif unit in ("db", "hz"):
        guesses = [number]
    elif unit == "khz":
        guesses = [number * 1000]
    for guess in guesses:
        if annotation is int and guess != int(guess):
            continue
        if _fits(guess, limits):
            return int(guess) if guess == int(guess) else guess
    return None


def _unit_of(key: str) -> str:
    for ending, unit in (("_ms", "milliseconds"), ("_s", "seconds"), ("_db", "decibel")):
        if key.endswith(ending):
            return unit
    return ""


def _fits(value: float, limits: tuple[Any, ...]) -> bool:
    low, high = _bounds(limits)
    return (low is None or value >= low) and (high is None or value <= high)


def _range(limits: tuple[Any, ...]) -> str:
    low, high = _bounds(limits)
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        above = any(isinstance(x, annotated_types.Gt) for x in _flat(limits))
        return f" above {low}" if above else f" of at least {low}"
    return f" of at most {high}" if high is not None else ""


def _bounds(limits: tuple[Any, ...]) -> tuple[Any, Any]:
    low: Any = None
    high: Any = None
    for limit in _flat(limits):
        if isinstance(limit, annotated_types.Ge):
            low = limit.ge
        elif isinstance(limit, annotated_types.Gt):
            low = limit.gt
        elif isinstance(limit, annotated_types.Le):
            high = limit.le
    return low, high


def _flat(limits: tuple[Any, ...]) -> Iterator[Any]:
    for limit in limits:
        if isinstance(limit, FieldInfo):
            yield from limit.metadata
        else:
            yield limit


def _find(model: type[BaseModel], path: KeyPath) -> tuple[Any, tuple[Any, ...]]:
    """Type and limits of the value at ``path``; (None, ()) when there is none."""
    annotation: Any = model
    limits: tuple[Any, ...] = ()
    for part in path:
        section = _section(annotation)
        arguments = typing.get_args(annotation)
        if section is not None and part in section.model_fields:
            info = section.model_fields[str(part)]
            annotation, limits = info.annotation, tuple(info.metadata)
        elif typing.get_origin(annotation) is tuple:
            annotation, limits = arguments[0], ()
        elif typing.get_origin(annotation) is dict:
            annotation, limits = arguments[1], ()
        else:
            return None, ()
        if typing.get_origin(annotation) is typing.Annotated:
            inner = typing.get_args(annotation)
            annotation, limits = inner[0], inner[1:]
    return annotation, limits


def _section(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return None


def _known_part(model: type[BaseModel], loc: tuple[str | int, ...]) -> KeyPath:
    """pydantic's location without the parts that are no keys (such as "[key]")."""
    path: KeyPath = ()
    for part in loc:
        if part == "[key]":
            break
        path = (*path, part)
    return path


def _as_meant(model: type[BaseModel], data: dict[str, Any]) -> dict[str, Any]:
    """Gives YAML's null its meaning here, in place.

    A section whose keys are all commented out has its defaults, and a choice called null is a
    word like the others.
    """
    for name, info in model.model_fields.items():
        if name not in data:
            continue
        section = _section(info.annotation)
        if section is not None and data[name] is None:
            data[name] = {}
        elif section is not None and isinstance(data[name], dict):
            _as_meant(section, data[name])
        elif data[name] is None and "null" in typing.get_args(info.annotation):
            data[name] = "null"
    return data


def _remove(data: Any, path: KeyPath) -> None:
    """Removes the value at ``path``; of a list the whole list."""
    for part in path[:-1]:
        if isinstance(data, dict) and part in data:
            inner = data[part]
            if isinstance(inner, list):
                del data[part]
                return
            data = inner
        else:
            return
    if isinstance(data, dict):
        data.pop(path[-1], None)


def _shown(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if isinstance(value, bool):
        text = text.lower()
    return text if len(text) <= 60 else text[:57] + "..."
