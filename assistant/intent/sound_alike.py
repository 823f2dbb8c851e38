"""How alike two names are by sound and spelling, for what was misheard or mistyped.

``similarity("espresso", "expresso")`` is near 1, that of strangers near 0. Numbers are
never matched loosely: "lamp 1" and "lamp 3" are 0 to each other, "lamp one" and "lamp 1"
are 1. Every word of one name must sound like a part of the other: "TV" is not "TV mute",
"front door" is not "back door".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from assistant.intent.sound_key import confusion, loss, sound_key
from assistant.intent.values.cardinal import word_at
from assistant.intent.values.number import match_number, plain
from assistant.intent.values.ordinal import match_ordinal
from assistant.intent.values.tokens import tokenize

LEAST = 0.8
"""Below this two names are not taken for each other."""
MARGIN = 0.05
"""A second name that is this near leaves open which was meant."""

_ARTICLES = ("the", "a", "an", "my", "our")
_HOMOPHONES = {"to": "2", "too": "2", "for": "4", "fore": "4", "won": "1", "ate": "8"}
_PARTS = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1))
"""How many words of either name may stand for each other: "bedroom" for "bed room"."""


class Match(NamedTuple):
    name: str
    score: float


def best_match(
    said: str, names: Iterable[str], *, least: float = LEAST, margin: float = MARGIN
) -> str | None:
    """The one of ``names`` that was said, or None when there is none or it is not sure.

    A name that was said exactly (but for case, articles, and digits for words) is taken
    before any that only sounds like it; of those that sound alike, the best must lead by
    ``margin``.
    """
    found = matches(said, names, least=least)
    if not found or found[0].score == 1.0:
        return found[0].name if found else None
    if len(found) > 1 and found[0].score - found[1].score < margin:
        return None
    return found[0].name


def matches(said: str, names: Iterable[str], *, least: float = LEAST) -> list[Match]:
    """All names at least so alike, the best first; the first named leads among equals."""
    scored = (Match(name, similarity(said, name)) for name in names)
    return sorted((m for m in scored if m.score >= least), key=lambda m: -m.score)


def similarity(one: str, other: str) -> float:
    """0 to 1; 1.0 only for the same words (but for case, articles and number words)."""
    first, second = _read(one), _read(other)
    if first == second:
        return 1.0 if first.words or first.numbers else 0.0
    if first.numbers != second.numbers:
        first, second = _sounding(first, second), _sounding(second, first)
        if first.numbers != second.numbers:
            return 0.0
        return min(_words_alike(first.words, second.words), _NEARLY)
    return min(_words_alike(first.words, second.words), _NEARLY)


_NEARLY = 0.99


class _Name(NamedTuple):
    words: tuple[str, ...]
    numbers: tuple[str, ...]


@lru_cache(maxsize=4096)
def _read(text: str) -> _Name:
    """Words and numbers of a name apart; a letter at the end counts as a number does:
    "plug a" is not "plug b"."""
    tokens = tokenize(text)
    words: list[str] = []
    numbers: list[str] = []
    i = 0
    while i < len(tokens):
        place, number = match_ordinal(tokens, i), match_number(tokens, i)
        if place is not None and (number is None or place.end >= number.end):
            numbers.append(f"{int(place.value)}.")
            i = place.end
        elif number is not None:
            numbers.append(str(plain(number.value)))
            i = number.end
        else:
            word = word_at(tokens, i).replace("'", "")
            if words and len(word) == 1 == len(word_at(tokens, i - 1)):
                words[-1] += word  # "t v"
            elif tokens[i].is_word and (words or word not in _ARTICLES) and word != "and":
                words.append(word)
            i += 1
    if len(words) > 1 and len(words[-1]) == 1:
        numbers.append(words.pop())
    return _Name(tuple(words), tuple(numbers))


def _sounding(name: _Name, other: _Name) -> _Name:
    """The name with a last word that sounds like the other's number read as it: "lamp to"."""
    number = _HOMOPHONES.get(name.words[-1]) if len(name.words) > 1 else None
    if number is None or name.numbers or other.numbers != (number,):
        return name
    return _Name(name.words[:-1], (number,))


def _words_alike(one: Sequence[str], other: Sequence[str]) -> float:
    """Half by the mean of all words and half by the one that fits worst."""
    if not one or not other:
        return 1.0 if not one and not other else 0.0
    if "".join(one) == "".join(other):
        return 1.0
    if len(one) == 1 == len(other):
        return _alike(one[0], other[0])
    best = _aligned(tuple(one), tuple(other))
    if len(one) == len(other) and best < LEAST:
        # the border between words heard at another place: "kitten slight"
        left, right = "".join(one), "".join(other)
        if _shared_letters(left, right) >= LEAST:
            best = max(best, _alike(left, right) * _BORDER_MOVED)
    return best


_BORDER_MOVED = 0.9


def _shared_letters(one: str, other: str) -> float:
    """The share of the longer text's letters that the other has too, in any order."""
    shared = sum(min(one.count(letter), other.count(letter)) for letter in set(one))
    return shared / max(len(one), len(other))


def _aligned(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    total, worst, weight = _alignment(one, other, 0, 0, {})
    return (total / weight + worst) / 2 if weight else 0.0


_Aligned = tuple[float, float, int]
"""The sum of likenesses by length, the worst likeness, and the sum of lengths."""
_IMPOSSIBLE: _Aligned = (0.0, 0.0, 0)


def _alignment(
    one: tuple[str, ...],
    other: tuple[str, ...],
    i: int,
    j: int,
    known: dict[tuple[int, int], _Aligned],
) -> _Aligned:
    """The best way to pair the words from i and j on."""
    if i == len(one) and j == len(other):
        return 0.0, 1.0, 0
    if (i, j) in known:
        return known[i, j]
    best = _IMPOSSIBLE
    for here, there in _PARTS if len(one) != len(other) else _PARTS[:1]:
        if i + here > len(one) or j + there > len(other):
            continue
        rest = _alignment(one, other, i + here, j + there, known)
        if rest is _IMPOSSIBLE:
            continue
        like, length = _group_alike(one[i : i + here], other[j : j + there])
        option = (rest[0] + like * length, min(rest[1], like), rest[2] + length)
        if best is _IMPOSSIBLE or sum(_shares(option)) > sum(_shares(best)):
            best = option
    known[i, j] = best
    return best


def _group_alike(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[float, int]:
    """The likeness of words that stand for each other, and the longer one's length.

    A word that is like a part of the others leaves a word over: "conditioner" is not "air
    conditioner".
    """
    left, right = "".join(one), "".join(other)
    like, length = _alike(left, right), max(len(left), len(right))
    if len(one) != len(other) and left != right:
        word, parts = (left, other) if len(one) == 1 else (right, one)
        if any(_alike(word, part) >= LEAST for part in parts):
            like = min(like, _WORD_LEFT_OVER)
    return like, length


_WORD_LEFT_OVER = 0.5


def _shares(aligned: _Aligned) -> tuple[float, float]:
    total, worst, weight = aligned
    return total / weight, worst


@lru_cache(maxsize=32768)
def _alike(one: str, other: str) -> float:
    """0 to 1 for two words: mostly by the better of sound and spelling."""
    if one == other:
        return 1.0
    if len(one) == 1 or len(other) == 1:
        return 0.0
    by_spelling = _spelled_alike(one, other)
    first, second = sound_key(one), sound_key(other)
    longest = max(len(first), len(second), 1)
    by_sound = max(0.0, 1 - _sound_distance(first, second) / longest)
    return 0.7 * max(by_sound, by_spelling) + 0.3 * min(by_sound, by_spelling)


def _sound_distance(one: str, other: str) -> float:
    row = [0.0]
    for sound in other:
        row.append(row[-1] + loss(sound))
    for sound in one:
        above, row = row, [row[0] + loss(sound)]
        for j, heard in enumerate(other):
            row.append(
                min(
                    above[j] + confusion(sound, heard),
                    above[j + 1] + loss(sound),
                    row[j] + loss(heard),
                )
            )
    return row[-1]


def _spelled_alike(one: str, other: str) -> float:
    """1 less the share of letters that are changed, left out, added or swapped."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        above, row = row, [i + 1]
        for j, read in enumerate(other):
            cost = min(above[j] + (letter != read), above[j + 1] + 1, row[j] + 1)
            if i and j and letter == other[j - 1] and one[i - 1] == read:
                cost = min(cost, before[j - 1] + 1)
            row.append(cost)
        before = above
    return 1 - row[-1] / max(len(one), len(other))
