"""Several commands in one sentence: "turn off the lamp and the fan"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from assistant.intent.base import Intent
from assistant.intent.home_names import Mention

MAX_PARTS = 6
MAX_VERB = 4
MAX_END = 3
_JOINT = re.compile(r"(?: and| as well as| plus)?(?: also)?(?: the| my| our)? ")
_AND = re.compile(r" and (?:then |also )?")

Understand = Callable[[str], Intent | None]


def several(text: str, mentions: Sequence[Mention], understand: Understand) -> Intent | None:
    """One intent of all commands in ``text``; None unless every part is one.

    text: as ``home_names.plain`` writes it; mentions: the names in it.
    understand: the intent of one command, of which a name alone is none.
    """
    if not _AND.search(text):
        return None
    row = _by_names(text, mentions)
    parts = row or _AND.split(text)
    if not 1 < len(parts) <= MAX_PARTS:
        return None
    intents = [understand(part) for part in parts] if row else _each(parts, understand)
    if not all(intent and intent.name.startswith("home.") for intent in intents):
        return None
    commands = [{"intent": intent.name, "slots": intent.slots} for intent in intents if intent]
    return Intent("home.several", {"commands": commands})


def _each(parts: Sequence[str], understand: Understand) -> list[Intent | None]:
    """Each part by itself, else with the verb of the first or the end of the last."""
    first, last = parts[0].split(), parts[-1].split()
    begun = [" ".join(first[:count]) for count in range(1, min(len(first), MAX_VERB))]
    ended = [" ".join(last[-count:]) for count in range(1, min(len(last), MAX_END))]
    intents: list[Intent | None] = []
    for part in parts:
        ways = [part]
        if part is not parts[0]:
            ways += [f"{verb} {part}" for verb in begun]
        if part is not parts[-1]:
            ways += [f"{part} {end}" for end in ended]
        intents.append(next((intent for way in ways if (intent := understand(way))), None))
        if intents[-1] is None:
            break
    return intents


def _by_names(text: str, mentions: Sequence[Mention]) -> list[str]:
    """A sentence for each of the names that stand in one row; none without such a row."""
    row: list[Mention] = []
    for mention in longest(mentions):
        joint = text[row[-1].end : mention.start] if row else ""
        if row and not _JOINT.fullmatch(joint):
            if len(row) > 1:
                break
            row = []
        row.append(mention)
    if len(row) < 2 or " and " not in text[row[0].end : row[-1].start]:
        return []
    before, after = text[: row[0].start], text[row[-1].end :]
    return [f"{before}{mention.value.said}{after}" for mention in row]


def longest(mentions: Iterable[Mention]) -> list[Mention]:
    """The mentions that are not within another, one for each place, in order."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if mention.kind != "zone" and (not kept or mention.start >= kept[-1].end):
            kept.append(mention)
    return kept
