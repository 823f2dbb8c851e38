"""A value found in a text, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Span(Generic[T]):
    """``text[start:end]`` is the wording of ``value`` (offsets into the text as given)."""

    start: int
    end: int
    value: T
