"""The sentences of the grammar as templates of plain words, for recognisers that take them.

The notation is ``(one|other)``, ``[perhaps]`` and ``{list}``. Only what has an end is told:
branches with free words (names, messages) are left out, as they could be anything.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ANY_ONE = f"({_ONES.replace(' ', '|')})"
_ANY_HOUR = f"({'|'.join([*_ONES.split(), 'ten', 'eleven', 'twelve'])})"
_UNDER_HUNDRED = (
    f"({'|'.join([*_ONES.split(), *_TEENS.split()])}|({_TENS.replace(' ', '|')}) [{_ANY_ONE}])"
)
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"

LISTS: dict[str, tuple[str, ...]] = {
    "number": (_UNDER_HUNDRED, "zero", "a hundred", "one hundred"),
    "duration": (
        "{number} (second|seconds|minute|minutes|hour|hours|day|days)",
        "(a|one) (second|minute) [and a half]",
        "(an|one) hour [and (a half|{number} minutes)]",
        "half an hour",
        "(a|three) (quarter|quarters) of an hour",
        "{number} and a half (minutes|hours)",
        "{number} (minute|minutes) [and] {number} seconds",
        "{number} (hour|hours) [and] {number} minutes",
    ),
    "end": ("{duration}",),
    "timed": ("[a] {duration}",),
    "time": (
        f"{_ANY_HOUR} o'clock",
        f"{_ANY_HOUR} [{_UNDER_HUNDRED}] [a m|p m|am|pm|in the (morning|evening|afternoon)]",
        f"(quarter|half|five|ten|twenty) (past|to) {_ANY_HOUR}",
        "noon",
        "midnight",
    ),
    "percent": ("{number} percent",),
    "level": ("{number} [percent]", "half", "full", "max", "maximum", "minimum"),
    "day": (
        "today",
        "tomorrow",
        "the day after tomorrow",
        f"[on|next|this] ({_DAYS})",
        "the weekend",
    ),
    "named_day": ("tomorrow", f"({_DAYS})"),
    "rule": ("daily", "weekday", "every day", "every morning", f"every ({_DAYS}|weekday)"),
    "alarm_time": ("[{day}] [at] {time} [{day}]",),
    "schedule": ("[{day}] [at] {time} [{day}]", "{day}"),
    "until": ("{time} [{day}]",),
    "dice": ("(a|two|three) (dice|die)",),
    "which": ("[the] {duration}", "[the] (first|second|third|last|next|other)"),
}
"""How values are said, by their kind; what is rare is missing and heard all the same."""

MOST_JOINED = 200
"""Texts of alternatives that are written without a space between them."""


class _FreeError(Exception):
    """A part holds words that could be anything."""


def spoken(
    blocks: Iterable[Any], parsers: Iterable[str]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """blocks: hassil's IntentData; parsers: kinds of values; the templates and their lists."""
    writer = _Writer(frozenset(parsers))
    templates: dict[str, None] = {}
    for data in blocks:
        for sentence in data.sentences:
            try:
                text = writer.write(sentence.expression, data.expansion_rules, data.slot_lists)
            except _FreeError:
                continue
            templates[text] = None
    return tuple(t for t in templates if t.strip(" []()|")), dict(LISTS)


class _Writer:
    def __init__(self, parsers: frozenset[str]) -> None:
        self._parsers = parsers

    def write(self, part: Any, rules: Mapping[str, Any], lists: Mapping[str, Any]) -> str:
        """The expression as a template. Raises _FreeError."""
        kind = type(part).__name__
        if kind == "TextChunk":
            return str(part.text)
        if kind == "RuleReference":
            return self.write(rules[part.rule_name].expression, rules, lists)
        if kind == "ListReference":
            return self._list(part, rules, lists)
        if kind == "Alternative":
            return self._choice(part.items, rules, lists)
        if kind == "Permutation":
            orders = [_Sequence(list(p)) for p in itertools.permutations(part.items)]
            return self._choice(orders, rules, lists)
        return self._sequence(part.items, rules, lists)

    def _choice(
        self, items: Sequence[Any], rules: Mapping[str, Any], lists: Mapping[str, Any]
    ) -> str:
        texts: list[str] = []
        for item in items:
            try:
                texts.append(self.write(item, rules, lists))
            except _FreeError:
                continue
        if not any(text.strip() for text in texts):
            if texts:
                return ""
            raise _FreeError
        filled = "|".join(text for text in dict.fromkeys(texts) if text.strip())
        return f"[{filled}]" if any(not text.strip() for text in texts) else f"({filled})"

    def _sequence(
        self, items: Sequence[Any], rules: Mapping[str, Any], lists: Mapping[str, Any]
    ) -> str:
        """Items written without a space between them are one word; all its forms are listed."""
        done: list[str] = []
        run: list[Any] = []
        for item in items:
            if type(item).__name__ != "TextChunk":
                run.append(item)
                continue
            text = str(item.text)
            inner = text.strip()
            if text[:1].isspace() or not inner:
                done.append(self._joined(run, rules, lists))
                run = []
            if not inner:
                continue
            run.append(_Text(inner))
            if text[-1:].isspace():
                done.append(self._joined(run, rules, lists))
                run = []
        done.append(self._joined(run, rules, lists))
        return " ".join(text for text in done if text)

    def _joined(
        self, run: Sequence[Any], rules: Mapping[str, Any], lists: Mapping[str, Any]
    ) -> str:
        if not run:
            return ""
        if len(run) == 1:
            return run[0].text if isinstance(run[0], _Text) else self.write(run[0], rules, lists)
        forms = self._forms(_Sequence(list(run)), rules, lists)
        filled = "|".join(" ".join(form.split()) for form in dict.fromkeys(forms) if form.strip())
        return f"[{filled}]" if any(not form.strip() for form in forms) else f"({filled})"

    def _forms(self, part: Any, rules: Mapping[str, Any], lists: Mapping[str, Any]) -> list[str]:
        """All texts of a part, spaces at their edges kept. Raises _FreeError."""
        kind = type(part).__name__
        if kind in ("TextChunk", "_Text"):
            return [str(part.text)]
        if kind == "RuleReference":
            return self._forms(rules[part.rule_name].expression, rules, lists)
        if kind == "ListReference":
            return [self._list(part, rules, lists)]
        if kind == "Alternative":
            found: list[str] = []
            for item in part.items:
                try:
                    found += self._forms(item, rules, lists)
                except _FreeError:
                    continue
            if not found:
                raise _FreeError
            return found
        texts = [""]
        for item in part.items:
            texts = [a + b for a in texts for b in self._forms(item, rules, lists)]
            if len(texts) > MOST_JOINED:
                raise _FreeError
        return texts

    def _list(self, part: Any, rules: Mapping[str, Any], lists: Mapping[str, Any]) -> str:
        if part.list_name in LISTS and part.list_name in self._parsers:
            return f"{{{part.list_name}}}"
        values = getattr(lists.get(part.list_name), "values", None)
        if values is None:
            raise _FreeError
        texts = [self.write(value.text_in, rules, lists).strip() for value in values]
        return "(" + "|".join(texts) + ")"


class _Text:
    """Words that touch what stands before or after them."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Sequence:
    def __init__(self, items: list[Any]) -> None:
        self.items = items
