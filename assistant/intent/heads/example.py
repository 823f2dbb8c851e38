"""A labelled sentence, as heads are trained on and measured with."""

from __future__ import annotations

from dataclasses import dataclass

OUT_OF_SCOPE = "oos"
"""The label of sentences that none of the intents is for."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A value in a text: the characters from start to end belong to the slot."""

    start: int
    end: int
    slot: str


@dataclass(frozen=True, slots=True)
class Example:
    """intent: its name, or OUT_OF_SCOPE; split: what the data set says it is for, often ""."""

    text: str
    intent: str
    marks: tuple[Mark, ...] = ()
    split: str = ""
