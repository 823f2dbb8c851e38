"""Places in a row: "the third", "the last one", "second to last", "the next one"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.number import match_number
from assistant.intent.values.ordinal import match_ordinal
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Place:
    """number: 1 is the first from the start; from the end 0 is the last and -1 the one
    before; from the current one -1 is the previous, 0 this one, 1 the next."""

    number: int
    of: Literal["start", "end", "current"] = "start"


Hit = tuple[Place, int]

_CURRENT = {
    "next": 1,
    "following": 1,
    "subsequent": 1,
    "current": 0,
    "present": 0,
    "previous": -1,
    "preceding": -1,
    "prior": -1,
}
_END = {
    "last": 0,
    "final": 0,
    "ultimate": 0,
    "penultimate": -1,
    "penult": -1,
    "antepenultimate": -2,
}
_PERIODS = ("night", "week", "month", "year")
_TO_LAST = ("to last", "to the last", "from last", "from the end", "from the last")


def parse_place(text: str) -> Place | None:
    """The place that the whole text names, or None."""
    tokens = tokenize(text)
    start = 1 if word_at(tokens, 0) == "the" else 0
    hit = match_place(tokens, 0) or match_place(tokens, start)
    return hit[0] if hit and hit[1] == len(tokens) else None


def find_places(text: str) -> list[Span[Place]]:
    """All places in a sentence, from left to right; parts of fractions are left out."""
    tokens = tokenize(text)
    spans: list[Span[Place]] = []
    i = 0
    while i < len(tokens):
        hit, number = match_place(tokens, i), match_number(tokens, i)
        if hit is not None and (number is None or hit[1] >= number.end):
            spans.append(Span(tokens[i].start, tokens[hit[1] - 1].end, hit[0]))
            i = hit[1]
        else:
            i = number.end if number else i + 1
    return spans


def match_place(tokens: Tokens, i: int) -> Hit | None:
    """The longest place that begins at token i; "the" only where it belongs to it."""
    before = _match_before_last(tokens, i)
    if before is not None:
        return before
    at = i + 1 if word_at(tokens, i) == "the" else i
    place = match_ordinal(tokens, at)
    word = word_at(tokens, at)
    end = place.end if place else at + 1
    steps = int(place.value) if place else 2 if word == "next" else 0
    after = _to_last_end(tokens, end)
    if word_at(tokens, end) == "last" and word_at(tokens, end + 1) not in _PERIODS:
        after = end + 1  # "the second last"
    if after > end and steps > 1:
        return Place(1 - steps, "end"), after
    if at > i:
        return None
    if place is not None:
        return Place(int(place.value)), place.end
    if [token.text for token in tokens[at : at + 3]] == ["last", "but", "one"]:
        return Place(-1, "end"), at + 3
    for names, of in ((_CURRENT, "current"), (_END, "end")):
        if word in names:
            lone = word_at(tokens, end) == "one" and not match_place(tokens, end + 1)
            return Place(names[word], of), end + lone  # type: ignore[arg-type]
    return None


def _to_last_end(tokens: Tokens, i: int) -> int:
    for words in _TO_LAST:
        length = len(words.split())
        if " ".join(token.text for token in tokens[i : i + length]) == words:
            return i + length
    return i


def _match_before_last(tokens: Tokens, i: int) -> Hit | None:
    """Reads "the one before the last one", "the one before last"."""
    at = i + 1 if word_at(tokens, i) == "the" else i
    if word_at(tokens, at) != "one" or word_at(tokens, at + 1) != "before":
        return None
    at += 2
    at += word_at(tokens, at) == "the"
    if word_at(tokens, at) != "last":
        return None
    return Place(-1, "end"), at + 2 if word_at(tokens, at + 1) == "one" else at + 1
