"""Tries a text on the sentences of the home."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.intent.home_names import Mention
from assistant.intent.home_sentences import Sentences, Template, has_all

HERE = "\0here"
"""Stands for the room of the device in the slots of a result."""


@dataclass(frozen=True, slots=True)
class Fit:
    """One reading of a text.

    slots: values by name as the sentence gives them; "area" is ``HERE`` for the own room.
    free: names of the slots that took any words.
    response: key of the answer that belongs to the sentence.
    """

    intent: str
    slots: dict[str, Any]
    free: frozenset[str]
    response: str


class Matcher:
    """The compiled sentences; names are given with each text."""

    def __init__(self, sentences: Sentences) -> None:
        self._sentences = sentences

    def best(self, text: str, mentions: Sequence[Mention]) -> Fit | None:
        """The best reading of ``text``, or None.

        text: as ``home_names.plain`` writes it.
        mentions: the names in it.

        The longest name of a device wins, then the reading that leaves the fewest words
        free and has the most words of its own.
        """
        from hassil import recognize_ranked
        from hassil.intents import Intent, Intents

        chosen = list(self._candidates(text, mentions))
        if not chosen:
            return None
        intents: dict[str, Any] = {}
        for template in chosen:
            intents.setdefault(template.intent, Intent(template.intent)).data.append(template.data)
        results = recognize_ranked(
            text,
            Intents(
                language="en",
                intents=intents,
                slot_lists={**self._sentences.lists, **_name_lists(mentions)},
                expansion_rules=self._sentences.rules,
            ),
            intent_context={"area": HERE},
            best_slot_name="name",
        )
        return next((_fit(result) for result in results if _is_sure(result, text)), None)

    def _candidates(self, text: str, mentions: Sequence[Mention]) -> Iterable[Template]:
        present = self._sentences.lists_in(text) | {mention.kind for mention in mentions}
        domains = {m.value.domain for m in mentions if m.kind == "name"}
        for template in self._sentences.templates:
            if (
                template.lists <= present
                and (template.domains is None or not template.domains.isdisjoint(domains))
                and has_all(text, template.clauses)
            ):
                yield template


def _name_lists(mentions: Iterable[Mention]) -> dict[str, Any]:
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


def _is_sure(result: Any, text: str) -> bool:
    """A short form of a name is no command by itself: "desk" for "desk lamp"."""
    name = result.entities.get("name")
    if name is None or not name.metadata or name.metadata["exact"]:
        return True
    return bool(result.text_chunks_matched > len(name.text.strip()))


def _fit(result: Any) -> Fit:
    return Fit(
        intent=result.intent.name,
        slots={entity.name: entity.value for entity in result.entities_list},
        free=frozenset(e.name for e in result.entities_list if e.is_wildcard),
        response=result.response or "default",
    )
