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

OWN_FILE = Path(__file__).with_name("home_en.yaml")
NAMED_LISTS = frozenset(["name", "area", "floor", "zone"])
"""Lists whose values come from the home."""

_NUMBER = re.compile(
    r"\d|\b(?:zero|half|one|two|three|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)(?:teen|ty)|four|twenty|hundred|thousand)"
)


@dataclass(frozen=True, slots=True)
class Template:
    """One sentence of one intent.

    data: the library's block that holds this sentence only.
    lists: names of the lists of which every text that fits has a value.
    clauses: every text that fits contains a word of each.
    domains: what a named device must be; None when it does not matter.
    names_only: it may consist of a name alone ("bedroom lamp").
    """

    intent: str
    data: Any
    lists: frozenset[str]
    clauses: tuple[tuple[str, ...], ...]
    domains: frozenset[str] | None
    names_only: bool


@dataclass(slots=True)
class Sentences:
    """All templates with the rules and lists that they share.

    hints: for each list of words, what a text with one of its values contains; a list of
        numbers has None, free words are not there.
    """

    templates: list[Template] = field(default_factory=list)
    rules: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, list[tuple[tuple[str, ...], ...]] | None] = field(default_factory=dict)

    def lists_in(self, text: str) -> set[str]:
        """Names of the lists of words and numbers of which ``text`` may have a value."""
        number = bool(_NUMBER.search(text))
        return {
            name
            for name, values in self.hints.items()
            if (number if values is None else any(has_all(text, value) for value in values))
        }


def has_all(text: str, clauses: Iterable[tuple[str, ...]]) -> bool:
    """Whether ``text`` contains a word of every clause."""
    return all(any(word in text for word in clause) for clause in clauses)


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
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def compile_sentences(
    contents: Iterable[Mapping[str, Any]], only: Iterable[str] | None = None
) -> Sentences:
    """Templates of ``contents``; rules and lists of a later one add to those before.

    only: names of the intents to take; all without it.
    """
    from hassil.intents import IntentData, Intents
    from hassil.parse_expression import parse_sentence

    merged: dict[str, Any] = {"language": "en", "intents": {}, "lists": {}, "expansion_rules": {}}
    blocks: list[tuple[str, Mapping[str, Any]]] = []
    for content in contents:
        merged["lists"].update(content.get("lists", {}))
        merged["expansion_rules"].update(content.get("expansion_rules", {}))
        for name, intent in content["intents"].items():
            blocks += [(name, block) for block in intent["data"]]
    shared = Intents.from_dict(merged)
    wild = {name for name, words in merged["lists"].items() if words.get("wildcard")}
    result = Sentences(rules=shared.expansion_rules, lists=shared.slot_lists)
    for name, words in result.lists.items():
        if name not in wild and name not in NAMED_LISTS:
            result.hints[name] = _hints(words, result.rules)
    wanted = None if only is None else set(only)
    for name, block in blocks:
        if wanted is not None and name not in wanted:
            continue
        for text in block["sentences"]:
            sentence = parse_sentence(text, keep_text=True)
            data = IntentData(
                sentence_texts=[text],
                slots=block.get("slots", {}),
                response=block.get("response"),
                requires_context=block.get("requires_context", {}),
                excludes_context=block.get("excludes_context", {}),
                wildcard_list_names=wild,
            )
            data.__dict__["sentences"] = [sentence]
            result.templates.append(_template(name, data, sentence, result.rules, wild))
    return result


def _template(name: str, data: Any, sentence: Any, rules: Any, wild: set[str]) -> Template:
    domains = data.requires_context.get("domain")
    if isinstance(domains, str):
        domains = [domains]
    clauses = _clauses(sentence, rules)
    lists = needed_lists(sentence.expression, rules)
    return Template(
        intent=name,
        data=data,
        lists=frozenset(lists - wild) | (lists & NAMED_LISTS),
        clauses=clauses,
        domains=frozenset(domains) if domains else None,
        names_only=not clauses and lists == {"name"},
    )


def _clauses(sentence: Any, rules: Any) -> tuple[tuple[str, ...], ...]:
    clauses = sentence.get_required_clauses(rules)
    return tuple(sorted((tuple(sorted(clause)) for clause in clauses), key=len))


def _hints(words: Any, rules: Any) -> list[tuple[tuple[str, ...], ...]] | None:
    """For each value what a text with it contains; None for a list of numbers."""
    from hassil.expression import Sentence

    values = getattr(words, "values", None)
    if values is None:
        return None
    return [_clauses(Sentence(value.text_in), rules) for value in values]


def needed_lists(part: Any, rules: Mapping[str, Any]) -> set[str]:
    """Names of the lists of which every text that fits ``part`` has a value."""
    from hassil.expression import Alternative, Group, ListReference, RuleReference

    if isinstance(part, ListReference):
        return {part.list_name}
    if isinstance(part, RuleReference):
        return needed_lists(rules[part.rule_name].expression, rules)
    if not isinstance(part, Group) or not part.items:
        return set()
    each = [needed_lists(item, rules) for item in part.items]
    return set.intersection(*each) if isinstance(part, Alternative) else set.union(*each)
