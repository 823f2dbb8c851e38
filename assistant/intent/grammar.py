"""Understands commands by sentence templates: exact, fast, and nothing is guessed."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from assistant.config import UnderstandConfig
from assistant.errors import IntentError, PackageError
from assistant.intent import sentence_file
from assistant.intent.base import Intent, Understander
from assistant.intent.first_words import prefixes
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.sentence_file import Block, SentenceFile
from assistant.intent.slot_types import PARSERS, parse_slot
from assistant.intent.spoken_forms import spoken

log = logging.getLogger(__name__)

COMMAND_INTENT = "commands.say"
"""The intent of ``understand.commands``; its slot "reply" is what is to be said."""

SUFFIXES = ("*.yaml", "*.yml")
EXAMPLES = "examples.yaml"
"""Beside the sentences of a skill: what teaches the heads, no templates."""

_VALUE = re.compile(r"(?<!\\)\{(?P<kind>\w+)(?::(?P<slot>\w+))?\}")
_SYNTAX = re.compile(r"[][()<>{}|]")
_MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")
_MAX_CHARACTERS = 2000
_FREE_NAMES = frozenset(["name", "new_name", "person", "text"])
"""Slots whose words come back in the user's own letters."""

_LITERAL_KINDS = frozenset(["both", "choices", "figure", "goods", "items", "measure", "sum"])
"""Kinds whose parser reads the words as they were said, commas and capitals included."""


@dataclass(frozen=True, slots=True)
class _Match:
    """wild: a slot took free words."""

    intent: Intent
    wild: bool


class Grammar(Understander):
    """The templates of the skills and of the user in one set."""

    def __init__(
        self,
        sources: Iterable[Path],
        cfg: UnderstandConfig | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC).astimezone(),
    ) -> None:
        """sources: folders whose YAML files name the intents there are."""
        self._sources = list(sources)
        self._cfg = cfg or UnderstandConfig()
        self._now = now
        self._needs: dict[str, list[list[str]]] = {}
        self._intents: Any = None
        self._templates: list[tuple[tuple[str, ...] | None, str, Any]] = []
        """How each sentence may begin, its intent, and a block of that sentence alone."""
        self._recognize: Callable[..., Iterable[Any]] | None = None

    def load(self) -> None:
        """Reads, checks and compiles all sentences. Raises IntentError, PackageError."""
        try:
            from hassil import recognize_all
            from hassil.intents import Intents, WildcardSlotList
        except ImportError as error:
            raise PackageError(
                "intent.package",
                "The package hassil is not installed.",
                "Install the assistant's base requirements again.",
            ) from error
        self._intents = Intents(
            language="en",
            intents={},
            slot_lists={kind: WildcardSlotList(name=kind) for kind in PARSERS},
        )
        self._recognize = recognize_all
        for path in _files(self._sources):
            self._add_file(path, sentence_file.read(path), own=False)
        for path in _files([Path(self._cfg.sentences).expanduser()] if self._cfg.sentences else []):
            self._add_file(path, sentence_file.read(path), own=True)
        self._add_commands()
        self._warm()

    def understand(self, text: str) -> Intent | None:
        """The intent of ``text``; None when no sentence takes all of it, values included."""
        whole = normalize(text[:_MAX_CHARACTERS])
        if not whole or len(text) > _MAX_CHARACTERS:
            return None
        bare = strip_courtesy(whole)
        exact = self._best(whole, text)
        # "please" may belong to a sentence, but must not end up in a name
        if exact is not None and (bare == whole or not exact.wild):
            return exact.intent
        match = (self._best(bare, text) if bare != whole else None) or exact
        if match is None and bare != whole and bare in whole:
            # "please remind me to say thank you"
            match = self._best(whole[whole.index(bare) :], text)
        return match.intent if match else None

    def spoken(self) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
        """Templates of what can be said, and their lists, as ``spoken_forms`` writes them."""
        return spoken(self._blocks(), PARSERS)

    def _best(self, text: str, original: str) -> _Match | None:
        assert self._recognize is not None, "load() comes before understand()"
        text = _MINUS.sub("minus ", text)
        results = self._recognize(text + " ", self._candidates(text))
        memo: dict[tuple[str, str], Any] = {}
        asking: _Match | None = None
        for result in sorted(results, key=_looseness):
            slots = self._slots(result, original, memo)
            if slots is None:
                continue
            groups = self._needs.get(result.intent.name, [])
            asks = any(slots.keys().isdisjoint(group) for group in groups)
            match = _Match(Intent(result.intent.name, slots, asks=asks), _free(result) > 0)
            if not asks:
                return match
            asking = asking or match
        return asking

    def _slots(
        self, result: Any, original: str, memo: dict[tuple[str, str], Any]
    ) -> dict[str, Any] | None:
        """The values of a result; None when one of them is none. memo: what was parsed before."""
        slots: dict[str, Any] = {}
        for entity in result.entities_list:
            if not entity.is_wildcard:
                slots[entity.name] = entity.value
                continue
            key = (entity.name, entity.text)
            if key not in memo:
                kind, slot = entity.name.split("/")
                literal = kind in _LITERAL_KINDS
                words = _said(entity.text, original) if literal else entity.text
                memo[key] = parse_slot(slot, kind, words, self._now())
            if memo[key] is None:
                return None
            slots.update(memo[key])
        for name in _FREE_NAMES & slots.keys() - (result.intent_data.slots or {}).keys():
            slots[name] = _as_said(slots[name], original)
        return slots

    def _add_file(self, path: Path, content: SentenceFile, *, own: bool) -> None:
        parts = _Parts(content)
        for name, meaning in content.intents.items():
            if own and name not in self._intents.intents:
                known = sorted(self._intents.intents)
                close = difflib.get_close_matches(name, known, n=1)
                hint = f'Did you mean "{close[0]}"?' if close else f"Known: {', '.join(known)}."
                line = sentence_file.line_of(path, name)
                raise sentence_file.mistake(path, f'no skill has the intent "{name}"', line, hint)
            if meaning.needs:
                self._needs[name] = _groups(meaning.needs)
            for block in meaning.data:
                for sentence in block.sentences if own else ():
                    self._warn_of_theft(sentence, name)
                try:
                    self._add_block(name, block, parts, own=own)
                except _TemplateError as error:
                    raise sentence_file.mistake(
                        path,
                        f'intents.{name}: the template "{error.template}" is wrong: {error}',
                        sentence_file.line_of(path, error.template),
                    ) from error

    def _add_commands(self) -> None:
        for reply, sentences in self._cfg.commands.items():
            # plain words: what would be syntax in a template is only punctuation here
            plain = [normalize(s) for s in sentences]
            for sentence in sentences:
                self._warn_of_theft(sentence, COMMAND_INTENT)
            # what comes in is also tried without its courtesy
            said = dict.fromkeys(plain + [strip_courtesy(s) for s in plain])
            block = Block(sentences=list(said), slots={"reply": reply})
            try:
                self._add_block(COMMAND_INTENT, block, _Parts(_PLAIN), own=True)
            except _TemplateError as error:
                raise IntentError(
                    "intent.commands",
                    f'understand.commands, "{reply}": "{error.template}" is wrong: {error}.',
                    "Write the sentence as it is spoken.",
                ) from error

    def _warn_of_theft(self, sentence: str, name: str) -> None:
        """Says so when a sentence of the user takes the place of one that is built in."""
        if _SYNTAX.search(sentence) and name != COMMAND_INTENT:
            return  # a template has too many readings
        intent = self.understand(sentence)
        if intent is not None and intent.name != name:
            log.warning(
                'your sentence "%s" takes the place of a built-in command (%s)',
                sentence,
                intent.name,
            )

    def _add_block(self, name: str, block: Block, parts: _Parts, *, own: bool) -> None:
        from hassil.intents import Intent as Meaning
        from hassil.intents import IntentData

        rules, lists = parts.rules, parts.lists
        data = IntentData(
            sentence_texts=block.sentences,
            slots=block.slots,
            expansion_rules=rules,
            slot_lists=lists,
            wildcard_list_names=set(PARSERS),
            metadata={"own": own},
        )
        # parsed here, because the library's own parsing knows nothing of our spelling
        data.__dict__["sentences"] = [_parse(text) for text in block.sentences]
        for sentence in data.sentences:
            self._check(sentence, rules, lists)
            single = replace(data, sentence_texts=[sentence.text])
            single.__dict__["sentences"] = [sentence]
            self._templates.append((prefixes(sentence, rules), name, single))
        self._intents.intents.setdefault(name, Meaning(name)).data.append(data)

    def _check(self, sentence: Any, rules: Any, lists: Any) -> None:
        for part in _walk(sentence.expression):
            rule = getattr(part, "rule_name", None)
            if rule is not None and rule not in rules:
                raise _TemplateError(sentence.text, f"there is no rule <{rule}>")
        for reference in sentence.expression.list_references(rules):
            if reference.list_name not in lists and reference.list_name not in PARSERS:
                problem = f"there is no list or value {{{reference.list_name}}}"
                raise _TemplateError(sentence.text, problem)

    def _candidates(self, text: str) -> Any:
        """The sentences that may begin as the text does: trying one costs far more than this."""
        from hassil.intents import Intent as Meaning

        chosen: dict[str, Any] = {}
        for starts, name, block in self._templates:
            if starts is None or text.startswith(starts):
                if name not in chosen:
                    chosen[name] = Meaning(name)
                chosen[name].data.append(block)
        return replace(self._intents, intents=chosen)

    def _blocks(self) -> list[Any]:
        return [data for intent in self._intents.intents.values() for data in intent.data]

    def _warm(self) -> None:
        """Builds the indexes of the library and the tables of the parsers beforehand."""
        for _, _, block in self._templates:
            for sentence in block.sentences:
                sentence.get_required_clauses(block.expansion_rules)
        for kind in PARSERS:  # some read a table at first
            parse_slot(kind, kind, "the kettle", self._now())
        self.understand("is the kettle on the boil yet")


class _TemplateError(Exception):
    def __init__(self, template: str, problem: str) -> None:
        super().__init__(problem)
        self.template = template


class _Parts:
    """The rules and lists of one file, parsed when they are first needed."""

    def __init__(self, content: SentenceFile) -> None:
        self._content = content

    @cached_property
    def rules(self) -> dict[str, Any]:
        rules = {rule: _parse(body) for rule, body in self._content.expansion_rules.items()}
        for name in rules:
            _refuse_circle(rules, name, ())
        return rules

    @cached_property
    def lists(self) -> dict[str, Any]:
        from hassil.intents import TextSlotList, TextSlotValue

        lists = {}
        for list_name, words in self._content.lists.items():
            values = [v if isinstance(v, dict) else {"in": v, "out": v} for v in words.values]
            lists[list_name] = TextSlotList(
                name=list_name,
                values=[
                    TextSlotValue(_parse(str(v.get("in"))).expression, v.get("out", v.get("in")))
                    for v in values
                ],
            )
        return lists


_PLAIN = SentenceFile.model_construct(expansion_rules={}, lists={})


def _groups(needs: list[str | list[str]]) -> list[list[str]]:
    """Groups of slots, one of each of which is needed."""
    single = [slot for slot in needs if isinstance(slot, str)]
    groups = [group for group in needs if not isinstance(group, str)]
    return [single, *groups] if single else groups


def _free(result: Any) -> int:
    """Characters that stand in the place of values."""
    return sum(len(entity.text) for entity in result.entities_list if entity.is_wildcard)


def _looseness(result: Any) -> tuple[int, bool]:
    """Low for sentences that the template names word for word, the user's own in front."""
    return _free(result), not result.intent_metadata["own"]


def _files(folders: Iterable[Path]) -> list[Path]:
    files = []
    for folder in folders:
        if not folder.is_dir():
            raise IntentError(
                "intent.no_folder",
                f"The folder {folder} with sentences does not exist.",
                "Check understand.sentences in config.yaml.",
            )
        found = sorted(path for pattern in SUFFIXES for path in folder.glob(pattern))
        files += [path for path in found if path.name != EXAMPLES]
    return files


def _parse(template: str) -> Any:
    """A template whose words are spelled as ``normalize`` spells what was heard."""
    from hassil.expression import TextChunk
    from hassil.parse_expression import parse_sentence
    from hassil.parser import ParseError

    if not template.strip():
        raise _TemplateError(template, "it is empty")
    try:
        sentence = parse_sentence(_VALUE.sub(_with_kind, template))
    except (ParseError, AssertionError, ValueError, RecursionError) as error:
        problem = str(error) or "brackets do not match"
        raise _TemplateError(template, problem.split("\n")[0]) from error
    sentence.text = template
    for part in _walk(sentence.expression):
        if isinstance(part, TextChunk):
            plain = normalize(part.text)
            lead = " " if part.text[:1].isspace() else ""
            tail = " " if part.text[-1:].isspace() and (plain or not lead) else ""
            part.text = part.original_text = f"{lead}{plain}{tail}"
    return sentence


def _refuse_circle(rules: dict[str, Any], name: str, above: tuple[str, ...]) -> None:
    """Raises _TemplateError for a rule that needs itself to be expanded."""
    if name in above:
        raise _TemplateError(rules[above[-1]].text, f"the rule <{name}> contains itself")
    for part in _walk(rules[name].expression) if name in rules else ():
        inner = getattr(part, "rule_name", None)
        if inner is not None:
            _refuse_circle(rules, inner, (*above, name))


def _with_kind(value: re.Match[str]) -> str:
    """{kind} or {kind:slot} as {kind:kind/slot}: the result names only what is after the colon."""
    kind, slot = value["kind"], value["slot"] or value["kind"]
    return f"{{{kind}:{kind}/{slot}}}" if kind in PARSERS else value.group()


def _walk(expression: Any) -> Iterable[Any]:
    """The expression and all parts of it."""
    yield expression
    for item in getattr(expression, "items", ()):
        yield from _walk(item)


def _as_said(name: str, original: str) -> str:
    """The name in the user's own letters: matching goes by words without accents."""
    return _said(name, original).casefold()


def _said(name: str, original: str) -> str:
    """The words of ``original`` that became ``name`` in matching; ``name`` when there are none."""
    words = original.split()
    plain = [_plain_word(word) for word in words]
    for start, first in enumerate(plain):
        if not first or not name.startswith(first):
            continue
        said = ""
        for end in range(start, len(words)):
            said = f"{said} {plain[end]}".strip()
            if said == name:
                return " ".join(words[start : end + 1]).strip(" \t\"'.,!?;:“”„")
            if not name.startswith(said):
                break
    return name


@lru_cache(maxsize=4096)
def _plain_word(word: str) -> str:
    return normalize(word)
