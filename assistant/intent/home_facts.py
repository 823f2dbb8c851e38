"""What is known of a sentence template before any text is tried on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

NAMED_LISTS = frozenset(["name", "area", "floor", "zone"])
"""Lists whose values come from the home."""

NUMBER_WORDS = frozenset(
    """zero half one two three four five six seven eight nine ten eleven twelve thirteen
    fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy
    eighty ninety hundred thousand and point minus""".split()
)

NAMED, ANY = "\0named", "\0any"
"""In ``first`` and ``last``: a name of the home may be there, any word may."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Of every text that fits.

    lists: the lists of which it has a value; may: of which it may have one.
    words: pieces of which its other words consist; free: any others may be there.
    first, last: pieces with which the first word begins and the last one ends.
    empty: the text may be empty.
    """

    lists: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    free: bool = False
    first: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    empty: bool = True


class FactFinder:
    """The facts of templates that share their rules and lists."""

    def __init__(self, rules: Mapping[str, Any], lists: Mapping[str, Any], wild: set[str]) -> None:
        """wild: names of the lists that take any words."""
        from hassil import expression

        self._parts = expression
        self._rules = rules
        self._lists = lists
        self._wild = wild
        self._known: dict[str, Facts] = {}

    def of(self, part: Any) -> Facts:
        """The facts of an expression."""
        parts = self._parts
        if isinstance(part, parts.TextChunk):
            return _chunk(part.text)
        if isinstance(part, parts.ListReference):
            name = part.list_name
            return self._once(f"{{{name}}}", lambda: self._of_list(name))
        if isinstance(part, parts.RuleReference):
            rule = self._rules[part.rule_name].expression
            return self._once(part.rule_name, lambda: self.of(rule))
        if not isinstance(part, parts.Group) or not part.items:
            return Facts()
        each = [self.of(item) for item in part.items]
        if isinstance(part, parts.Alternative):
            return _either(each)
        return _all(each, any_order=isinstance(part, parts.Permutation))

    def _once(self, key: str, find: Callable[[], Facts]) -> Facts:
        if key not in self._known:
            self._known[key] = find()
        return self._known[key]

    def _of_list(self, name: str) -> Facts:
        lists = frozenset([name])
        values = getattr(self._lists.get(name), "values", None)
        if name in NAMED_LISTS:
            edge = frozenset([NAMED])
            return Facts(lists, lists, first=edge, last=edge, empty=False)
        edge = frozenset([ANY])
        if name in self._wild:
            return Facts(lists, lists, free=True, first=edge, last=edge, empty=False)
        if values is None:
            return Facts(lists, lists, NUMBER_WORDS, first=edge, last=edge, empty=False)
        inner = _either([self.of(value.text_in) for value in values])
        return Facts(lists, lists, inner.words, inner.free, inner.first, inner.last, inner.empty)


@lru_cache(maxsize=4096)
def _chunk(text: str) -> Facts:
    words = text.lower().split()
    if not words:
        return Facts()
    return Facts(
        words=frozenset(words),
        first=frozenset(words[:1]),
        last=frozenset(words[-1:]),
        empty=False,
    )


def _either(each: list[Facts]) -> Facts:
    return Facts(
        lists=frozenset.intersection(*(facts.lists for facts in each)),
        may=_union(facts.may for facts in each),
        words=_union(facts.words for facts in each),
        free=any(facts.free for facts in each),
        first=_union(facts.first for facts in each),
        last=_union(facts.last for facts in each),
        empty=any(facts.empty for facts in each),
    )


def _all(each: list[Facts], *, any_order: bool) -> Facts:
    return Facts(
        lists=_union(facts.lists for facts in each),
        may=_union(facts.may for facts in each),
        words=_union(facts.words for facts in each),
        free=any(facts.free for facts in each),
        first=_union(facts.first for facts in (each if any_order else _until_full(each))),
        last=_union(facts.last for facts in (each if any_order else _until_full(each[::-1]))),
        empty=all(facts.empty for facts in each),
    )


def _until_full(each: list[Facts]) -> list[Facts]:
    """Those up to the first that cannot be empty."""
    full = next((at for at, facts in enumerate(each) if not facts.empty), len(each) - 1)
    return each[: full + 1]


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
