"""How a sentence template may begin, so that most of them need not be tried on a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Start(NamedTuple):
    """prefixes: what the text begins with, as far as the first word goes; None when it may begin
    with anything. empty: the part may also be left out."""

    prefixes: frozenset[str] | None
    empty: bool


_ANYTHING = Start(None, empty=False)


def prefixes(sentence: Any, rules: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The beginnings of the texts that a template takes; None when any text may be one.

    sentence, rules: parsed by the library; what is skipped can surely not match.
    """
    start = _start(sentence.expression, rules, 0)
    if start.prefixes is None or start.empty or "" in start.prefixes:
        return None
    return tuple(sorted(start.prefixes))


def _start(part: Any, rules: Mapping[str, Any], depth: int) -> Start:
    kind = type(part).__name__
    if depth > 50:  # rules that name each other
        return _ANYTHING
    if kind == "TextChunk":
        word = part.text.split(" ") if part.text.strip() else []
        first = next((piece for piece in word if piece), "")
        return Start(frozenset((first,)), empty=False) if first else Start(frozenset(), empty=True)
    if kind == "RuleReference":
        rule = rules.get(part.rule_name)
        return _start(rule.expression, rules, depth + 1) if rule is not None else _ANYTHING
    if kind == "Alternative":
        starts = [_start(item, rules, depth + 1) for item in part.items]
        if any(start.prefixes is None for start in starts):
            return _ANYTHING
        found = frozenset().union(*(start.prefixes or () for start in starts))
        return Start(found, any(start.empty for start in starts))
    if kind != "Sequence":
        return _ANYTHING
    found = frozenset[str]()
    for item in part.items:
        start = _start(item, rules, depth + 1)
        if start.prefixes is None:
            return _ANYTHING
        found |= start.prefixes
        if not start.empty:
            return Start(found, empty=False)
    return Start(found, empty=True)
