"""A grammar of expressions with slots, as speech-to-intent engines take it, in YAML.

``context: expressions: INTENT: [...]`` and ``slots: NAME: [...]``; in an expression
``[a, b]`` is a choice, ``(a)`` may be left out, ``$type:name`` is a slot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from assistant.asr.numbers import DIGITS
from assistant.asr.sentences import Sentences, WordNetwork
from assistant.errors import InputFileError
from assistant.intent.base import Intent
from assistant.intent.normalize import normalize
from assistant.intent.repair import repair

_SLOT = re.compile(r"\$([\w.]+):(\w+)")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_MAYBE = re.compile(r"\(([^()]*)\)")
_WORDS = {digits: word for word, digits in DIGITS.items()}


@dataclass(frozen=True, slots=True)
class _Phrase:
    words: tuple[str, ...]
    value: str
    kind: str


class SlotGrammar:
    """Finds the slots of a text; what it does not take as it is, is repaired first."""

    def __init__(
        self, expressions: Mapping[str, Sequence[str]], slots: Mapping[str, Sequence[str]]
    ) -> None:
        """expressions: by intent; slots: by type, the phrases of each."""
        self._networks: dict[str, WordNetwork] = {}
        self._names: dict[str, dict[str, str]] = {}
        templates: list[str] = []
        for intent, texts in expressions.items():
            own = [_template(text) for text in texts]
            templates += own
            self._networks[intent] = WordNetwork(
                Sentences(
                    tuple(_plain(text) for text in own),
                    {kind: [_plain(value) for value in values] for kind, values in slots.items()},
                )
            )
            self._names[intent] = {
                kind: name for text in texts for kind, name in _SLOT.findall(text)
            }
        self.sentences = Sentences(tuple(templates), dict(slots), alone=True)
        """All expressions, for the recogniser; nothing else is said to it."""
        self.phrases = tuple(dict.fromkeys(v for values in slots.values() for v in values))
        """What the slots may hold."""
        self._slots = sorted(
            (
                _Phrase(tuple(_words(value)), value, kind)
                for kind, values in slots.items()
                for value in values
            ),
            key=lambda phrase: -len(phrase.words),
        )

    @classmethod
    def read(cls, path: Path) -> SlotGrammar:
        """Raises InputFileError."""
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))["context"]
            expressions = {
                str(intent): [str(text) for text in texts]
                for intent, texts in content["expressions"].items()
            }
            slots = {
                str(kind): [str(value) for value in values]
                for kind, values in content.get("slots", {}).items()
            }
        except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputFileError(
                "bench.bad_grammar",
                f"{path} cannot be read as a grammar: {error!r}.",
                "It needs context: with expressions: and slots: in it.",
            ) from error
        return cls(expressions, slots)

    def understand(self, text: str) -> Intent | None:
        """The intent and the slots, their values in the grammar's own words."""
        words = _words(text)
        intent = self._intent(words)
        if intent is None:
            words = _words(repair(" ".join(words), self.phrases))
            intent = self._intent(words)
        found = self._found(words)
        if intent is None:
            # No whole expression: the intent that has all the slots.
            kinds = found.keys()
            fitting = [name for name, names in self._names.items() if kinds <= names.keys()]
            if not found or not fitting:
                return None
            intent = fitting[0]
        names = self._names[intent]
        slots = {names[kind]: value for kind, value in found.items() if kind in names}
        return Intent(intent, slots)

    def _intent(self, words: Sequence[str]) -> str | None:
        """The intent of which the words are an expression."""
        return next((name for name, net in self._networks.items() if net.takes(words)), None)

    def _found(self, words: Sequence[str]) -> dict[str, Any]:
        """By type, the first phrase that is there; longer ones before shorter ones."""
        found: dict[str, Any] = {}
        at = 0
        while at < len(words):
            for phrase in self._slots:
                if tuple(words[at : at + len(phrase.words)]) == phrase.words:
                    found.setdefault(phrase.kind, phrase.value)
                    at += len(phrase.words)
                    break
            else:
                at += 1
        return found


def _template(expression: str) -> str:
    """The expression as a template of ``Sentences``."""
    marked = _MAYBE.sub(r"<\1>", expression)
    marked = _CHOICE.sub(lambda m: "(" + "|".join(p.strip() for p in m[1].split(",")) + ")", marked)
    return _SLOT.sub(r"{\1}", marked).replace("<", "[").replace(">", "]")


def _plain(template: str) -> str:
    """The template in the words of ``normalize``; brackets and list names as they are."""
    return " ".join(
        part if part[:1] in "()[]|{" else normalize(part)
        for part in re.findall(r"[()\[\]|]|\{[^{}]*\}|[^()\[\]|{}]+", template)
    )


def _words(text: str) -> list[str]:
    """As ``normalize`` writes them, small numbers in words."""
    return [_WORDS.get(word, word) for word in normalize(text.replace("-", " ")).split()]
