"""Sentences drawn from Home Assistant's templates, about the devices of many homes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from assistant.intent.grammar import Grammar
from assistant.intent.heads.example import Example
from assistant.intent.home_sentences import Template, compile_sentences, own, package
from assistant.intent.own.expand import Expander, Part
from assistant.intent.own.picks import Picks
from assistant.intent.own.samples import TRIES

_NAMES = {
    "light": "desk lamp,bedside lamp,floor lamp,hall light,ceiling light,fairy lights,porch light",
    "switch": "coffee machine,kettle,heater,printer,christmas tree,pump,radio",
    "fan": "fan,ceiling fan,bedroom fan,tower fan,extractor",
    "cover": "left curtain,skylight,garage door,roller blind,awning,bedroom blinds,gate",
    "valve": "garden valve,sprinkler,main valve",
    "lock": "front door,back door,shed lock,side gate",
    "media_player": "television,radio,kitchen speaker,stereo,living room tv",
    "climate": "thermostat,radiator,air conditioner,heating",
    "vacuum": "robot,hoover,vacuum cleaner,rosie",
    "scene": "movie night,dinner,party time,romance",
    "script": "bedtime,good morning,leaving home",
    "binary_sensor": "front door,phone,window,smoke detector,washing machine",
    "sensor": "outdoor humidity,battery,power meter,freezer temperature",
    "person": "anna,peter,the kids",
}
_AREAS = "kitchen,bedroom,living room,study,bathroom,garage,hallway,office,guest room".split(",")
_FLOORS = "upstairs,downstairs,ground floor,first floor,attic,basement".split(",")
_ANY = ("light", "switch", "media_player")


class HomeSampler:
    def __init__(self, examples: Sequence[Example], grammar: Grammar, seed: int) -> None:
        """examples: what their intents mark is marked here, sentences with other values are left
        out; grammar: of the skills, whose sentences are theirs."""
        self._grammar = grammar
        self._seed = seed
        self._random = random.Random(seed)
        self._picks = Picks("")
        self._slots: dict[str, set[str]] = {}
        self._values: dict[str, list[str]] = {}
        for example in examples:
            slots = self._slots.setdefault(example.intent, set())
            for mark in example.marks:
                slots.add(mark.slot)
                words = example.text[mark.start : mark.end]
                self._values.setdefault(f"{example.intent}.{mark.slot}", []).append(words)

    def draw(self, per_intent: int) -> list[Example]:
        """At most so many of each intent that has examples. Raises PackageError, IntentError."""
        sentences = compile_sentences([package(), own()])
        by_intent: dict[str, list[Template]] = {}
        for template in sentences.templates:
            by_intent.setdefault(f"home.{template.intent}", []).append(template)
        drawn: list[Example] = []
        for intent in sorted(by_intent.keys() & self._slots.keys()):
            # Each intent by itself: what one learns changes no other's sentences.
            self._random = random.Random(f"{self._seed} {intent}")
            self._picks = Picks(f"{self._seed} {intent}")
            found: dict[str, Example] = {}
            for _ in range(per_intent * TRIES):
                if len(found) == per_intent:
                    break
                template = self._random.choice(by_intent[intent])
                example = self._one(intent, template, sentences.rules, sentences.lists)
                if example is not None and self._grammar.understand(example.text) is None:
                    found.setdefault(example.text, example)
            drawn += found.values()
        return drawn

    def _one(
        self, intent: str, template: Template, rules: dict[str, Any], lists: dict[str, Any]
    ) -> Example | None:
        def value(node: Any) -> list[Part] | Any:
            slot = node.slot_name
            if slot not in self._slots[intent]:
                raise LookupError(slot)
            if slot == "name":
                return [(self._name(template), slot)]
            if slot in ("area", "floor"):
                return [(self._random.choice(_AREAS if slot == "area" else _FLOORS), slot)]
            return [(self._word(intent, slot, lists.get(node.list_name)), slot)]

        expander = Expander(rules, value, self._random)
        return expander.draw(template.data.sentences[0], intent)

    def _name(self, template: Template) -> str:
        domains = [d for d in template.domains or _ANY if d in _NAMES]
        if not domains:
            raise LookupError("name")
        return self._random.choice(_NAMES[self._random.choice(sorted(domains))].split(","))

    def _word(self, intent: str, slot: str, words: Any) -> str:
        """Of the list that the template names, or as an example has it."""
        values = getattr(words, "values", None)
        if not values:
            return self._picks.of(self._values[f"{intent}.{slot}"])
        drawn = Expander({}, _no_lists, self._random).draw(
            self._random.choice(values).text_in, intent
        )
        if drawn is None:
            raise LookupError(slot)
        return drawn.text


def _no_lists(node: Any) -> list[Part]:
    raise LookupError(node.list_name)
