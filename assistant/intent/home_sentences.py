"""The sentences of the home: Home Assistant's English ones and our own beside them.

Each template stands alone, with what any text that fits it must contain, so that a text
is tried on a few dozen of more than a thousand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from assistant.errors import IntentError, PackageError
from assistant.intent.home_facts import NAMED_LISTS, NUMBER_WORDS, FactFinder, Facts

OWN_FILE = Path(__file__).with_name("home_en.yaml")
_MOST_WORDS = 5000
_NUMBER = re.compile(r"\d|\b(?:" + "|".join(sorted(NUMBER_WORDS - {"and"})) + r")\b")


@dataclass(frozen=True, slots=True)
class Template:
    """One sentence of one intent.

    data: the library's block that holds this sentence only.
    lists: names of the lists of which every text that fits has a value.
    clauses: bits of the clauses (``Sentences.clauses``) that every text that fits has.
    domains: what a named device must be; None when it does not matter.
    """

    intent: str
    data: Any
    facts: Facts
    lists: frozenset[str]
    clauses: int
    domains: frozenset[str] | None


@dataclass(slots=True)
class Sentences:
    """All templates with the rules and lists that they share.

    clauses: groups of words, of which a text has one; the place of a group is its bit.
    hints: for each list of words the clauses of its values, None for a list of numbers;
        lists of free words and of the home's names are not there.
    """

    templates: list[Template] = field(default_factory=list)
    rules: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, Any] = field(default_factory=dict)
    clauses: dict[tuple[str, ...], int] = field(default_factory=dict)
    hints: dict[str, list[int] | None] = field(default_factory=dict)
    _known_words: dict[str, int] = field(default_factory=dict)

    def clauses_in(self, text: str) -> int:
        """The bits of the clauses of which ``text`` has a word."""
        had = 0
        for word in text.split():
            had |= self._bits_of(word)
        return had

    def lists_in(self, text: str, had: int) -> set[str]:
        """Names of the lists of words and numbers of which ``text`` may have a value.

        had: its clauses.
        """
        number = bool(_NUMBER.search(text))
        return {
            name
            for name, values in self.hints.items()
            if (number if values is None else any(value & had == value for value in values))
        }

    def _bits_of(self, word: str) -> int:
        """The clauses that a text with ``word`` has."""
        if word not in self._known_words:
            if len(self._known_words) >= _MOST_WORDS:
                self._known_words.clear()
            bits = 0
            for clause, bit in self.clauses.items():
                if any(part in word for part in clause):
                    bits |= bit
            self._known_words[word] = bits
        return self._known_words[word]

    def bits(self, clauses: Iterable[frozenset[str]]) -> int:
        """The clauses as bits, new ones are added."""
        bits = 0
        for clause in clauses:
            bits |= self.clauses.setdefault(tuple(sorted(clause)), 1 << len(self.clauses))
        return bits


def package() -> dict[str, Any]:
    """Home Assistant's English sentences. Raises PackageError."""
    try:
        import home_assistant_intents
    except ImportError as error:
        raise PackageError(
            "intent.package",
            "The package home-assistant-intents is not installed.",
            "Install the assistant's base requirements again.",
        ) from error
    content = home_assistant_intents.get_intents("en")
    if content is None:
        raise IntentError(
            "intent.home_sentences",
            "The package home-assistant-intents has no English sentences.",
            "Install the version that the assistant's requirements name.",
        )
    return dict(content)


def own(path: Path = OWN_FILE) -> dict[str, Any]:
    """Our own sentences, in the format of the package."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), loader)
    return content


def compile_sentences(contents: Iterable[Mapping[str, Any]]) -> Sentences:
    """Templates of ``contents``; rules and lists of a later one add to those before.

    The metadata of each says whether it is our ``own``: of any but the first.
    """
    from hassil.intents import Intents

    merged: dict[str, Any] = {"language": "en", "intents": {}, "lists": {}, "expansion_rules": {}}
    blocks: list[_Block] = []
    for place, content in enumerate(contents):
        _add_lists(merged["lists"], content.get("lists", {}))
        merged["expansion_rules"].update(content.get("expansion_rules", {}))
        for name, intent in content["intents"].items():
            blocks += [_Block(name, block, own=place > 0) for block in intent["data"]]
    shared = Intents.from_dict(merged)
    wild = {name for name, words in merged["lists"].items() if words.get("wildcard")}
    return _Compiler(Sentences(rules=shared.expansion_rules, lists=shared.slot_lists), wild).run(
        blocks
    )


class _Compiler:
    """Fills ``Sentences`` with templates and what is known of each beforehand."""

    def __init__(self, result: Sentences, wild: set[str]) -> None:
        """wild: names of the lists that take any words."""
        self._result = result
        self._wild = wild - NAMED_LISTS
        self._facts = FactFinder(result.rules, result.lists, self._wild)

    def run(self, blocks: Iterable[_Block]) -> Sentences:
        from hassil.expression import Sentence

        result = self._result
        for name, words in result.lists.items():
            values = getattr(words, "values", None)
            if name in NAMED_LISTS or name in self._wild:
                continue
            sentences = None if values is None else [Sentence(v.text_in) for v in values]
            result.hints[name] = sentences and [self._bits(sentence) for sentence in sentences]
        for block in blocks:
            slots = _fixed_slots(block.content)
            texts = block.content["sentences"]
            result.templates += [self._template(block, slots, text) for text in texts]
        return result

    def _template(self, block: _Block, slots: dict[str, Any], text: str) -> Template:
        from hassil.intents import IntentData
        from hassil.parse_expression import parse_sentence

        sentence = parse_sentence(text, keep_text=True)
        requires = block.content.get("requires_context", {})
        data = IntentData(
            sentence_texts=[text],
            slots=slots,
            response=block.content.get("response"),
            requires_context=requires,
            excludes_context=block.content.get("excludes_context", {}),
            metadata={"own": block.own},
            wildcard_list_names=self._wild,
        )
        data.__dict__["sentences"] = [sentence]
        facts = self._facts.of(sentence.expression)
        domains = requires.get("domain")
        if isinstance(domains, str):
            domains = [domains]
        return Template(
            intent=block.intent,
            data=data,
            facts=facts,
            lists=facts.lists - self._wild,
            clauses=self._bits(sentence),
            domains=frozenset(domains) if domains else None,
        )

    def _bits(self, sentence: Any) -> int:
        return self._result.bits(sentence.get_required_clauses(self._result.rules))


@dataclass(frozen=True, slots=True)
class _Block:
    """Sentences of one intent as the file has them."""

    intent: str
    content: Mapping[str, Any]
    own: bool


def _add_lists(lists: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Values of a list that is there already are added to it."""
    for name, words in more.items():
        if name in lists:
            words = {**lists[name], "values": [*lists[name]["values"], *words["values"]]}
        lists[name] = words


def _fixed_slots(block: Mapping[str, Any]) -> dict[str, Any]:
    """What a block means beside the words of its sentences."""
    slots = dict(block.get("slots", {}))
    if block.get("metadata", {}).get("slot_combination") == "domain_all":
        slots["everywhere"] = True
    return slots
