"""One sentence out of a parsed template, drawn by chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from assistant.intent.heads.example import Example, Mark

Part = tuple[str, str | None]
"""Words, and the slot that they are the value of."""

MAX_WORDS = 14
"""Longer ones are several optional parts at once, as nobody speaks."""


class Expander:
    def __init__(
        self,
        rules: Mapping[str, Any],
        value: Callable[[Any], list[Part] | Any],
        rng: random.Random,
    ) -> None:
        """rules: parsed, by name; value: parts for a reference to a list, or another template
        to expand in its place, and LookupError where there is none."""
        self._rules = rules
        self._value = value
        self._random = rng

    def draw(self, template: Any, intent: str) -> Example | None:
        """None for a sentence that is too long, says a word twice, or has an unknown value."""
        try:
            parts = self._parts(template)
        except LookupError:
            return None
        text, marks = "", []
        for piece, slot in parts:
            if slot is not None:
                marks.append(Mark(len(text), len(text) + len(piece), slot))
            text += piece
        example = _tidy(text, marks, intent)
        words = example.text.split()
        doubled = any(a == b for a, b in pairwise(words))
        return example if 0 < len(words) <= MAX_WORDS and not doubled else None

    def _parts(self, node: Any) -> list[Part]:
        if isinstance(node, list):
            return node
        # By name: what the names stand for is the library's, and only read here.
        kind = type(node).__name__
        if kind == "Sentence":
            return self._parts(node.expression)
        if kind == "TextChunk":
            return [(node.original_text, None)]
        if kind == "RuleReference":
            return self._parts(self._rules[node.rule_name])
        if kind == "ListReference":
            return self._parts(self._value(node))
        if kind == "Alternative":
            return self._parts(self._random.choice(node.items))
        items = list(node.items)
        if kind == "Permutation":
            self._random.shuffle(items)
        return [part for item in items for part in self._parts(item)]


def _tidy(text: str, marks: list[Mark], intent: str) -> Example:
    """The same with single spaces, the marks moved along."""
    places: list[int] = []
    tidy = ""
    for c in text:
        places.append(len(tidy))
        if not c.isspace():
            tidy += c
        elif tidy and not tidy.endswith(" "):
            tidy += " "
    moved = [Mark(places[m.start], places[m.end - 1] + 1, m.slot) for m in marks]
    return Example(tidy.rstrip(), intent, tuple(moved))
