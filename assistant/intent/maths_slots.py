"""The kinds of values in sentences about numbers: {sum}, {figure}, {measure}, {unit}."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from assistant.intent.formula import parse_figure, parse_formula
from assistant.intent.measure import parse_measure
from assistant.intent.units import find_unit
from assistant.intent.values.number import plain


def sum_(text: str, now: datetime) -> str | None:
    """A sum in the words as said: "15 percent of 80"."""
    return _said(text) if parse_formula(text) is not None else None


def figure(text: str, now: datetime) -> str | None:
    """A sum, or a number that is asked for as one: "a third", "10/4"."""
    return _said(text) if parse_figure(text) is not None else None


def measure(text: str, now: datetime) -> dict[str, Any] | None:
    """The slots amount and unit (its name in the singular) of "five miles"."""
    found = parse_measure(text)
    return {"amount": plain(found.amount), "unit": found.unit.name} if found else None


def unit(text: str, now: datetime) -> str | None:
    """The name of a unit in the singular: "kilometre" of "km"."""
    found = find_unit(text.strip(" ?.!"), after_number=True)
    return found.name if found else None


def _said(text: str) -> str:
    return " ".join(text.strip(" ?.!=").casefold().split())
