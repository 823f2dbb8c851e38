"""Sentences drawn from the templates of the skills, with values as people say them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assistant.errors import PackageError
from assistant.intent import sentence_file
from assistant.intent.grammar import EXAMPLES, Grammar
from assistant.intent.heads.example import Example
from assistant.intent.own.expand import Expander, Part
from assistant.intent.own.picks import Picks
from assistant.intent.sentence_file import SentenceFile

TRIES = 8
"""Draws for each sentence that is wanted; many are the same, or have no value."""


class Sampler:
    """Draws from templates; the same seed draws the same, for each intent by itself: another
    example changes few of the sentences, so that few have to be read anew.

    Values are those that the examples mark: by slot, or by kind where the skill reads by that.
    """

    def __init__(self, examples: Sequence[Example], grammar: Grammar, seed: int) -> None:
        """grammar: loaded; a sentence counts when it understands it as it was meant."""
        self._grammar = grammar
        self._seed = seed
        self._values: dict[str, list[str]] = {}
        self._slots: dict[str, set[str]] = {}
        for example in examples:
            skill = example.intent.split(".")[0]
            for mark in example.marks:
                values = self._values.setdefault(f"{skill}.{mark.slot}", [])
                values.append(example.text[mark.start : mark.end])
                self._slots.setdefault(example.intent, set()).add(mark.slot)

    def draw(self, folders: Sequence[Path], per_intent: int) -> list[Example]:
        """At most so many of each intent; none for a slot that its examples do not have.

        Raises IntentError, PackageError.
        """
        drawn = []
        for folder in folders:
            for path in sorted(p for p in folder.glob("*.yaml") if p.name != EXAMPLES):
                content = sentence_file.read(path)
                for intent, meaning in content.intents.items():
                    templates = [s for block in meaning.data for s in block.sentences]
                    drawn += self._of_intent(intent, templates, content, per_intent)
        return drawn

    def _of_intent(
        self, intent: str, templates: Sequence[str], content: SentenceFile, wanted: int
    ) -> list[Example]:
        rules = {name: _parsed(body) for name, body in content.expansion_rules.items()}
        lists = {
            name: [_parsed(str(v.get("in") if isinstance(v, dict) else v)) for v in words.values]
            for name, words in content.lists.items()
        }

        rng, picks = random.Random(f"{self._seed} {intent}"), Picks(f"{self._seed} {intent}")

        def value(node: Any) -> list[Part] | Any:
            if node.list_name in lists:
                return rng.choice(lists[node.list_name])
            return self._marked(intent, node, picks)

        expander = Expander(rules, value, rng)
        parsed = [_parsed(template) for template in templates]
        found: dict[str, Example] = {}
        for _ in range(wanted * TRIES):
            if len(found) == wanted:
                break
            example = expander.draw(rng.choice(parsed), intent)
            if example is None or example.text in found:
                continue
            understood = self._grammar.understand(example.text)
            if understood is not None and understood.name == intent:
                found[example.text] = example
        return list(found.values())

    def _marked(self, intent: str, node: Any, picks: Picks) -> list[Part]:
        slots = self._slots.get(intent, set())
        skill = intent.split(".")[0]
        for slot in (node.slot_name, node.list_name):
            if slot in slots:
                return [(picks.of(self._values[f"{skill}.{slot}"]), slot)]
        raise LookupError(node.list_name)


def _parsed(template: str) -> Any:
    try:
        from hassil.parse_expression import parse_sentence
    except ImportError as error:
        raise PackageError(
            "intent.package",
            "The package hassil is not installed.",
            "Install the assistant's base requirements again.",
        ) from error
    return parse_sentence(template)
