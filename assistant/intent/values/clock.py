"""Times of day: "half past seven", "seven thirty p m", "836 pm", "22:00", "ten to midnight".

"half seven" is British: 7:30. A time with a leading zero ("07:30") or above twelve is
on the 24-hour clock; without am, pm or a part of the day the others may be either half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from assistant.intent.values.cardinal import (
    TEENS,
    TENS,
    UNITS,
    ZEROS,
    Tokens,
    digits_at,
    match_below_hundred,
    match_integer,
    word_at,
)


@dataclass(frozen=True, slots=True)
class Clock:
    """hour: 0 to 24 (24 only as 24:00); exact: False when am or pm is still open."""

    hour: int
    minute: int = 0
    second: int = 0
    exact: bool = True

    def readings(self) -> tuple[Clock, ...]:
        """The exact times it may mean, the earlier first."""
        if self.exact:
            return (self,)
        first = replace(self, hour=self.hour % 12, exact=True)
        return first, replace(first, hour=first.hour + 12)

    def shifted(self, minutes: int) -> Clock:
        """So many minutes later (or earlier), wrapping at midnight."""
        cycle = 24 * 60 if self.exact else 12 * 60
        total = (self.hour * 60 + self.minute + minutes) % cycle
        hour = total // 60
        return replace(self, hour=hour if self.exact else hour or 12, minute=total % 60)


class ClockHit(NamedTuple):
    """bare: nothing but an hour, which is a time only after "at" and the like.

    loose: without a mark of a time, so that what follows may show it to be a count
    ("seven thirty", "ten to seven").
    """

    clock: Clock
    end: int
    bare: bool = False
    loose: bool = False


_NAMED = {
    "noon": 12,
    "midday": 12,
    "midnight": 0,
    "noonish": 12,
    "noontime": 12,
    "midmorning": 10,
    "midafternoon": 14,
}
_ENDS_OF_DAY = ("end of day", "end of the day", "eod")
_PAST = ("past", "after", "passed", "pass")
"""The last two are how recognisers mishear the first."""
_TO = ("to", "till", "til", "before", "until")
_TO_NAMED = ("before", "until")
"""Of these, the ones that need the word for minutes before them."""
_MINUTE_WORDS = ("minute", "minutes", "min", "mins")
_BEFORE_H = ("at", "by", "@", "before", "until", "till")
"""Before "7h" these make it an hour; else it is a length."""
_HALF_DAYS = {"am": 0, "pm": 12, "a": 0, "p": 12}


def match_clock(tokens: Tokens, i: int) -> ClockHit | None:
    """The longest time of day that begins at token i."""
    hits = (_match_named(tokens, i), _match_offset(tokens, i), _match_hour(tokens, i))
    return max(filter(None, hits), key=lambda hit: hit.end, default=None)


def _match_named(tokens: Tokens, i: int) -> ClockHit | None:
    """noon, midnight, "mid-day", "12 noon", "end of day"."""
    at = i + 1 if word_at(tokens, i) == "the" else i
    for name in _ENDS_OF_DAY:
        words = name.split()
        if [token.text for token in tokens[at : at + len(words)]] == words:
            return ClockHit(Clock(23, 59, 59), at + len(words))
    if word_at(tokens, i) in ("12", "twelve"):
        o_clock = word_at(tokens, i + 1) == "o'clock"
        even = [token.text for token in tokens[i + 1 : i + 3]] == [":", "00"]
        i += 3 if even else 2 if o_clock else 1
        i += word_at(tokens, i) == "at"  # "12 o'clock at midnight"
    word, end = word_at(tokens, i), i + 1
    if word == "mid" and word_at(tokens, i + 1) in ("-", "day", "night", "morning", "afternoon"):
        end = i + 3 if word_at(tokens, i + 1) == "-" else i + 2
        word = "mid" + word_at(tokens, end - 1)
    if word not in _NAMED:
        return None
    return ClockHit(Clock(_NAMED[word]), end)


def _match_offset(tokens: Tokens, i: int) -> ClockHit | None:
    """Reads "quarter past seven", "twenty-five minutes to 8 pm", "half seven"."""
    at = i + 1 if word_at(tokens, i) == "a" and word_at(tokens, i + 1) == "quarter" else i
    named = False
    if word_at(tokens, at) in ("quarter", "half"):
        minutes = 15 if tokens[at].text == "quarter" else 30
        named, at = True, at + 1
    else:
        count = _match_count(tokens, at, 59)
        if count is None or count[0] == 0:
            return None
        minutes, at = count
        if word_at(tokens, at) in _MINUTE_WORDS:
            named, at = True, at + 1
    at = _after_hyphen(tokens, at)
    word = word_at(tokens, at)
    if word in _PAST:
        sign = 1
    elif (word in _TO and (named or word not in _TO_NAMED)) or (
        word == "of" and minutes == 15 and named
    ):
        sign = -1
    elif minutes == 30 and word_at(tokens, i) == "half":
        # British "half seven"; only a plain hour may follow
        hour = _match_count(tokens, at, 12)
        if hour is None or hour[0] == 0 or word_at(tokens, hour[1]) in (*_MINUTE_WORDS, ":"):
            return None
        base = _with_half_day(tokens, ClockHit(Clock(hour[0], 0, 0, exact=False), hour[1], True))
        return base and ClockHit(replace(base.clock, minute=30), base.end, loose=True)
    else:
        return None
    if minutes == 30 and sign < 0 and word_at(tokens, i) == "half":
        return None
    at = _after_hyphen(tokens, at + 1)
    if word == "of" and len(word_at(tokens, at)) > 2 and word_at(tokens, at).isdecimal():
        return None  # "the first quarter of 2013"
    named_hour = _match_named(tokens, at)
    hour_hit = named_hour or _match_hour(tokens, at)
    if hour_hit is None or word_at(tokens, hour_hit.end) in _MINUTE_WORDS:
        return None
    odd = not named and minutes % 5 != 0
    # "from seven to eight" and "two to four" are ranges
    if sign < 0 and not named and (word_at(tokens, i - 1) == "from" or (odd and minutes < 13)):
        return None
    clock = hour_hit.clock.shifted(sign * minutes)
    bare = odd and word != "past" and not named_hour
    return ClockHit(clock, hour_hit.end, bare, not (named or bare or named_hour))


def _after_hyphen(tokens: Tokens, i: int) -> int:
    """Steps over the hyphen of "half-past"."""
    return i + 1 if word_at(tokens, i) == "-" and tokens[i].glued else i


def _match_count(tokens: Tokens, i: int, most: int) -> tuple[int, int] | None:
    """A whole number from 0 to ``most`` in words or digits, and the index after it."""
    digits = digits_at(tokens, i)
    if digits is not None:
        fits = tokens[i].text.isdecimal() and digits <= most
        return (int(digits), i + 1) if fits else None
    if word_at(tokens, i) in ZEROS:
        return 0, i + 1
    words = match_below_hundred(tokens, i)
    return (int(words.value), words.end) if words and words.value <= most else None


def _match_hour(tokens: Tokens, i: int) -> ClockHit | None:
    """An hour with what may follow: minutes, seconds, o'clock, am and pm."""
    if i >= len(tokens):
        return None
    hit = _match_digits(tokens, i) or _match_words(tokens, i)
    if hit is None:
        return None
    clock, end, bare, loose = hit
    if word_at(tokens, end) in ("o'clock", "oclock") and clock.minute == 0:
        bare, end = False, end + 1
    elif word_at(tokens, end) == "o" and word_at(tokens, end + 1) in ("clock", "'"):
        bare, end = False, end + (2 if tokens[end + 1].text == "clock" else 3)
    if word_at(tokens, end) == "-" and word_at(tokens, end + 1) == "ish":
        end += 1  # "11-ish"
    if word_at(tokens, end) in ("ish", "sharp"):
        end, bare, loose = end + 1, False, False
    return _with_half_day(tokens, ClockHit(clock, end, bare, loose))


def _with_half_day(tokens: Tokens, hit: ClockHit) -> ClockHit | None:
    """Takes am or pm in; None when it contradicts the hour ("13 am")."""
    clock, at = hit.clock, hit.end
    word, end = word_at(tokens, at), at + 1
    if (
        word == "in"
        and word_at(tokens, at + 1) == "the"
        and word_at(tokens, at + 2) in ("am", "pm")
    ):
        word, end = word_at(tokens, at + 2), at + 3
    if word == "ampm":
        return ClockHit(clock, end)
    if word in ("a", "p") and word_at(tokens, at + 1) == "m":
        end = at + 2
    elif word in ("a", "p") and word_at(tokens, at + 1) == "." and word_at(tokens, at + 2) == "m":
        end = at + 4 if word_at(tokens, at + 3) == "." else at + 3
    elif word == "p" and not hit.bare and word_at(tokens, at + 1) in ("", "."):
        pass  # "9:15 p"
    elif word not in ("am", "pm") and not (word in ("a", "p") and tokens[at].glued):
        return hit
    if end < len(tokens) and tokens[end].glued and (tokens[end].is_number or tokens[end].is_word):
        return None  # "3am3ioYc" in an address
    shift = _HALF_DAYS[word]
    if clock.exact and (clock.hour > 12 or clock.hour == 0):
        fits = (clock.hour >= 12) == (shift == 12)
        return ClockHit(clock, end) if fits else None
    exact = replace(clock, hour=clock.hour % 12 + shift, exact=True)
    return ClockHit(exact, end)


def _clock(hour: int, minute: int, second: int = 0, *, padded: bool = False) -> Clock | None:
    if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute or second)):
        return None
    return Clock(hour, minute, second, exact=padded or not 1 <= hour <= 12)


def _hit(
    clock: Clock | None, end: int, *, bare: bool = False, loose: bool = False
) -> ClockHit | None:
    return ClockHit(clock, end, bare, loose) if clock else None


def _match_digits(tokens: Tokens, i: int) -> ClockHit | None:
    """7, 7:30, 7:30:15, 07:30, 7.30, 730, 0730, 7h30, 19h, "7 30", "7 oh 5"."""
    text = tokens[i].text
    if not tokens[i].is_number or "," in text:
        return None
    if word_at(tokens, i + 1) == ":":
        return _match_colons(tokens, i)
    if "." in text:
        hour, _, minute = text.partition(".")
        if len(minute) != 2 or len(hour) > 2:
            return None
        clock = _clock(int(hour), int(minute), padded=hour[0] == "0")
        return _hit(clock, i + 1, bare=True)
    if len(text) in (3, 4):
        clock = _clock(int(text[:-2]), int(text[-2:]), padded=text[0] == "0")
        end = i + 1
        if word_at(tokens, end) == "hours" and len(text) == 4:
            return _hit(clock and replace(clock, exact=True), end + 1)
        return _hit(clock, end, bare=True)
    if len(text) > 2:
        return None
    if word_at(tokens, i + 1) == "h" and tokens[i + 1].glued:
        if word_at(tokens, i - 1) in _BEFORE_H and not _glued_after(tokens, i + 1):
            clock = _clock(int(text), 0, padded=text[0] == "0")
            return _hit(clock and replace(clock, exact=True), i + 2)  # "at 19h"
        minutes = _match_count(tokens, i + 2, 59)
        if minutes is not None and len(tokens[i + 2].text) == 2 and tokens[i + 2].glued:
            clock = _clock(int(text), minutes[0])
            return _hit(clock, i + 3, bare=word_at(tokens, i + 3) in ("m", "s"))
    clock = _clock(int(text), 0, padded=len(text) == 2 and text[0] == "0")
    return _with_minutes(tokens, ClockHit(clock, i + 1, bare=True)) if clock else None


def _glued_after(tokens: Tokens, i: int) -> bool:
    return i + 1 < len(tokens) and tokens[i + 1].glued and tokens[i + 1].is_number


def _match_colons(tokens: Tokens, i: int) -> ClockHit | None:
    numbers, at = [tokens[i].text], i + 1
    while (
        word_at(tokens, at) == ":"
        and tokens[at].glued
        and at + 1 < len(tokens)
        and tokens[at + 1].text.isdecimal()
        and len(tokens[at + 1].text) == 2
        and len(numbers) < 3
    ):
        numbers.append(tokens[at + 1].text)
        at += 2
    if len(numbers) == 1 or len(numbers[0]) > 2:
        return None
    parts = [int(number) for number in numbers]
    clock = _clock(*parts, padded=numbers[0][0] == "0")
    return _hit(clock, at)


def _match_words(tokens: Tokens, i: int) -> ClockHit | None:
    """Reads "seven", "seven thirty", "seven oh five", "twenty two hundred hours", and
    "six hundred and forty five", which is 645 as some recognisers spell it out."""
    whole = match_integer(tokens, i) if tokens[i].is_word and tokens[i].text != "a" else None
    if whole is not None and 100 <= whole.value < 2400 and word_at(tokens, whole.end) != "hours":
        spelled = _clock(int(whole.value) // 100, int(whole.value) % 100)
        return _hit(spelled, whole.end, bare=True)
    vague = tokens[i].text.removesuffix("ish")
    if vague != tokens[i].text and vague in UNITS | TEENS and (UNITS | TEENS)[vague] <= 12:
        return _hit(_clock((UNITS | TEENS)[vague], 0), i + 1)  # "sevenish"
    hour = _match_count(tokens, i, 24)
    if hour is None or not tokens[i].is_word:
        return None
    clock = _clock(hour[0], 0)
    return _with_minutes(tokens, ClockHit(clock, hour[1], bare=True)) if clock else None


def _with_minutes(tokens: Tokens, hit: ClockHit) -> ClockHit:
    """Adds minutes that follow an hour with nothing between: 10 to 59, or "oh five"."""
    clock, at = hit.clock, hit.end
    if tokens[at - 1].is_word:
        at = _after_hyphen(tokens, at)
    word = word_at(tokens, at)
    if word == "hundred" and word_at(tokens, at + 1) == "hours":
        return ClockHit(replace(clock, exact=True), at + 2)
    if word in ("oh", "o", "zero"):
        unit = _match_count(tokens, at + 1, 9)
        if unit is not None and unit[0] and unit[1] == at + 2:
            return ClockHit(replace(clock, minute=unit[0]), at + 2, loose=True)
    if word == "h" and digits_at(tokens, at + 1) is not None:
        at += 1
    minutes = _match_count(tokens, at, 59)
    if minutes is None:
        return hit
    value, end = minutes
    if word_at(tokens, hit.end - 2) == "at" and word_at(tokens, end) in ("minute", "minutes"):
        end += 1  # "at six forty-three minutes"
    two_digits = tokens[at].is_number and len(tokens[at].text) == 2
    # "eleven five" is a time only where nothing that is counted can follow
    at_end = word_at(tokens, end) in ("", ".", ",", "am", "pm")
    if two_digits or word in TEENS or word in TENS or (tokens[at].is_word and value and at_end):
        # "one two" may be anything
        return ClockHit(replace(clock, minute=value), end, bare=value < 10, loose=value >= 10)
    return hit
