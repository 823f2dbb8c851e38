"""Tries a text on the sentences of the home."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.intent.home_names import Mention
from assistant.intent.home_sentences import Sentences, Template
from assistant.intent.home_words import Words

_REFERENCE = re.compile(r"\{(?P<list>\w+)(?::(?P<slot>\w+))?\}")

_ARTICLES = frozenset(("the", "my", "our"))
_QUESTIONS = tuple(
    """is are am do does did have has can could will would what which who where when why how whose
    tell check show""".split()
)

HERE = "\0here"
"""Stands for the room of the device in the slots of a result."""


@dataclass(frozen=True, slots=True)
class Fit:
    """One reading of a text.

    slots: values by name as the sentence gives them; "area" is ``HERE`` for the own room.
    texts: the words of the slots that were said.
    free: names of the slots that took any words.
    response: key of the answer that belongs to the sentence.
    bare: the text is a name and nothing else.
    """

    intent: str
    slots: dict[str, Any]
    texts: dict[str, str]
    free: frozenset[str]
    response: str
    bare: bool


class Matcher:
    """The compiled sentences; names are given with each text."""

    def __init__(self, sentences: Sentences) -> None:
        self._sentences = sentences

    def best(self, text: str, mentions: Sequence[Mention], *, bare: bool = True) -> Fit | None:
        """The best reading of ``text``, or None.

        text: as ``home_names.plain`` writes it.
        mentions: the names in it.
        bare: a name alone is a command too ("movie night").

        The longest name of a device wins, then the reading that leaves the fewest words
        free and has the most words of its own.
        """
        from hassil import recognize_all
        from hassil.intents import Intent, Intents

        chosen = self.candidates(text, mentions)
        if not chosen:
            return None
        intents: dict[str, Any] = {}
        for template in chosen:
            intents.setdefault(template.intent, Intent(template.intent)).data.append(template.data)
        results = recognize_all(
            text,
            Intents(
                language="en",
                intents=intents,
                slot_lists={**self._sentences.lists, **name_lists(mentions)},
                expansion_rules=self._sentences.rules,
            ),
            intent_context={"area": HERE},
        )
        asks = text.startswith(_QUESTIONS)
        sure = (result for result in results if _is_sure(result, bare=bare))
        best = min(sure, key=lambda result: _rank(result, asks=asks), default=None)
        return self._fit(best) if best else None

    def _fit(self, result: Any) -> Fit:
        slots = {entity.name: entity.value for entity in result.entities_list}
        for name, factor in self._factors(result.intent_sentence.text):
            # of numbers in words the library forgets the factor, or not
            if name in slots and not isinstance(slots[name], str):
                slots[name] = abs(slots[name]) * factor
        return Fit(
            intent=result.intent.name,
            slots=slots,
            texts={e.name: e.text.strip() for e in result.entities_list if e.text},
            free=frozenset(e.name for e in result.entities_list if e.is_wildcard),
            response=result.response or "default",
            bare=_is_name(result),
        )

    def _factors(self, sentence: str) -> Iterator[tuple[str, float]]:
        """Slots of a sentence whose numbers are multiplied."""
        for match in _REFERENCE.finditer(sentence):
            factor = getattr(self._sentences.lists.get(match["list"]), "multiplier", None)
            if factor is not None:
                yield match["slot"] or match["list"], factor

    def candidates(self, text: str, mentions: Sequence[Mention]) -> list[Template]:
        """The templates that ``text`` may fit; few of them do, but no other does."""
        had = self._sentences.clauses_in(text)
        words = Words(text, mentions)
        present = self._sentences.lists_in(text, had) | words.kinds
        domains = {mention.value.domain for mention in mentions}
        return [
            template
            for template in self._sentences.templates
            if template.clauses & had == template.clauses
            and template.lists <= present
            and (template.domains is None or not template.domains.isdisjoint(domains))
            and words.fit(template.facts)
        ]


def name_lists(mentions: Iterable[Mention]) -> dict[str, Any]:
    """The library's lists with the names that are in the text."""
    from hassil.expression import TextChunk
    from hassil.intents import TextSlotList, TextSlotValue

    lists: dict[str, Any] = {
        kind: TextSlotList(name=kind, values=[]) for kind in ("name", "area", "floor", "zone")
    }
    for kind, value in dict.fromkeys((mention.kind, mention.value) for mention in mentions):
        context = {"domain": value.domain} if value.domain else None
        lists[kind].values.append(
            TextSlotValue(TextChunk(value.said), value.name, context, {"exact": value.exact})
        )
    return lists


def _rank(result: Any, *, asks: bool) -> tuple[bool, int, int, bool, int, int, int]:
    """Low for the better reading of two.

    asks: the text begins as questions do; "all lights off" is none.
    """
    name = result.entities.get("name")
    exact = name is not None and not name.is_wildcard and name.metadata["exact"]
    named = len(name.text.strip()) if exact else 0
    free = [entity for entity in result.entities_list if entity.is_wildcard]
    return (
        not asks and result.intent.name == "HassGetState",
        -named,
        len(free),
        result.intent_metadata["own"],
        -result.text_chunks_matched,
        sum(len(entity.text) for entity in free),
        # "garage door" as one thing before the door of the garage
        sum(1 for entity in result.entities_list if entity.text),
    )


def _is_sure(result: Any, *, bare: bool) -> bool:
    """A short form of a name is no command by itself: "desk" for "desk lamp"."""
    return not _is_name(result) or (bare and result.entities["name"].metadata["exact"])


def _is_name(result: Any) -> bool:
    """Whether the text is the name of a device, perhaps with an article, and nothing else."""
    name = result.entities.get("name")
    if name is None or name.is_wildcard or len(result.entities_list) > 1:
        return False
    start, end = name.text_span
    others = f"{result.original_text[:start]} {result.original_text[end:]}".split()
    return _ARTICLES.issuperset(others)
