"""Words that look like a moment and surely are none: ends of ranges, counts, sums."""

from __future__ import annotations

from collections.abc import Callable

from assistant.intent.values.calendar_day import DayHit
from assistant.intent.values.cardinal import Tokens, digits_at, match_below_hundred, word_at
from assistant.intent.values.clock import ClockHit
from assistant.intent.values.duration import LengthHit
from assistant.intent.values.ordinal import ORDINALS
from assistant.intent.values.weekday import weekday_at

THROUGH = ("to", "till", "until", "through", "thru", "-")
CUES = ("at", "by", "for", "until", "till", "around", "about", "before", "from", "@", "after")
LINKS = ("at", "on", "in", "for", "by", "the", ",", "@", "around", "about", "-")

_SUMS = frozenset(
    """divide divided dividing multiply multiplied times plus minus subtract subtracting deduct
    increase decrease raise lower reduce up down louder quieter brighter dimmer percent
    volume brightness level speed""".split()
)
"""After these "by 3", "from 8" and "at 20" name no hour."""
_MEASURED = frozenset("volume brightness level speed thermostat temperature degrees".split())
_WORDS_TOO = frozenset(("sun", "sat", "wed"))
_LABELLED = frozenset(
    """building bldg room suite floor page chapter apartment apt flat gate platform terminal
    channel bus tram route number all these those""".split()
)
_BEFORE_SHORT = frozenset(
    ("", "on", "next", "this", "last", "every", "by", "until", "till", "for", "from", "before")
) | {",", "or", "after", "past", "coming"}


def is_cue(tokens: Tokens, i: int) -> bool:
    """Whether token i makes a bare number after it an hour: "at 7", not "volume at 7"."""
    word = word_at(tokens, i)
    if word not in CUES:
        return False
    before = [token.text for token in tokens[max(0, i - 5) : i]]
    if word in ("by", "from"):
        # "divided by 3", "2 by 2", "4 from 8"
        number = digits_at(tokens, i - 1) is not None or match_below_hundred(tokens, i - 1)
        return not _SUMS.intersection(before) and not number
    if word == "at":
        return not _MEASURED.intersection(before)
    if word == "for":
        return word_at(tokens, i + 2) != "at"  # "a table for 2 at the harbour"
    return word != "@" or not tokens[i].glued


def is_labelled(tokens: Tokens, i: int) -> bool:
    """Whether a bare number at token i is no hour: "room 4 this afternoon", "all four"."""
    return word_at(tokens, i - 1) in _LABELLED


class Doubts:
    """What speaks against a moment that was read in a text.

    clock_at, day_at, length_at: what begins at a token.
    """

    def __init__(
        self,
        tokens: Tokens,
        clock_at: Callable[[int], ClockHit | None],
        day_at: Callable[[int], DayHit | None],
        length_at: Callable[[int], LengthHit | None],
    ) -> None:
        self._tokens = tokens
        self._clock_at, self._day_at, self._length_at = clock_at, day_at, length_at

    def about(self, start: int, end: int) -> bool:
        """True when the words from start to end may well name no moment."""
        return (
            self._is_counted(start, end)
            or self._follows_days(start)
            or self._ends_days(start, end)
            or self._ends_hours(start, end)
        )

    def _is_counted(self, start: int, end: int) -> bool:
        """True for "the first sunday", "in the past hour", "two hundred and seventh",
        and for "sun" in the sky."""
        tokens = self._tokens
        before = word_at(tokens, start - 1)
        counted = weekday_at(tokens, start) or word_at(tokens, start) in ORDINALS
        number = start - 2 if before == "and" else start - 1
        if counted and _is_count(tokens, number):
            return before != "and" or word_at(tokens, start) in ORDINALS
        if before in ("past", "pass", "passed", "turning", "turns"):
            return True
        short = end == start + 1 and word_at(tokens, start) in _WORDS_TOO
        beside = word_at(tokens, end) == "next" and word_at(tokens, end + 1) == "to"
        return short and (beside or before not in _BEFORE_SHORT)

    def _ends_hours(self, start: int, end: int) -> bool:
        """True for one end of "from 7 to 8", "between 7 and 8"."""
        before, after = word_at(self._tokens, start - 1), word_at(self._tokens, end)
        if after in (*THROUGH, "and") and self._clock_at(end + 1):
            return after != "and" or before == "between"
        if before not in (*THROUGH, "and"):
            return False
        return any(
            (hit := self._clock_at(i)) is not None
            and hit.end == start - 1
            and (before != "and" or word_at(self._tokens, i - 1) == "between")
            for i in range(max(0, start - 6), start - 1)
        )

    def _ends_days(self, start: int, end: int) -> bool:
        """True for one end of "between the 3rd and the 5th", "from monday to friday"."""
        tokens = self._tokens
        before, after = word_at(tokens, start - 1), word_at(tokens, end)
        if before == "the":
            start, before = start - 1, word_at(tokens, start - 2)
        if before in ("between", "from") and after in (*THROUGH, "and"):
            return bool(self._day_at(end + 1)) and (after != "and" or before == "between")
        if after in ("through", "thru") and self._day_at(end + 1):
            return True
        if before not in (*THROUGH, "and"):
            return False
        openers = {"and": ("between",), "-": ("from",)}.get(before, ())
        return any(
            (not openers or word_at(tokens, i - 1) in openers)
            and (hit := self._day_at(i)) is not None
            and hit.end == start - 1
            for i in range(max(1, start - 8), start - 1)
        )

    def _follows_days(self, start: int) -> bool:
        """True for the rest of a distance that was misheard: "and three days at five pm"."""
        end = start
        while word_at(self._tokens, end - 1) in LINKS:
            end -= 1
        if end == start:
            return False
        lengths = (self._length_at(i) for i in range(max(0, end - 5), end))
        return any(hit and hit.end == end and not hit.length.seconds for hit in lengths)


def _is_count(tokens: Tokens, i: int) -> bool:
    if word_at(tokens, i) in ORDINALS or match_below_hundred(tokens, i):
        return True
    return digits_at(tokens, i) is not None
