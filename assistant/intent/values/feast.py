"""Named days of the year: "christmas eve", "easter monday", "thanksgiving 2027"."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Callable
from datetime import date, timedelta

from assistant.intent.values.calendar_day import LAST, NEXT, DayHit, year_at
from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.moon_feast import (
    chinese_new_year,
    diwali,
    hanukkah,
    islamic,
    passover,
    rosh_hashanah,
)

DayOfYear = Callable[[int], date]


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (the "anonymous" computation of 1876)."""
    century, in_century = divmod(year, 100)
    leap_skipped, moon_shift = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    golden = year % 19
    moon = (19 * golden + century - leap_skipped - correction + 15) % 30
    quarter, rest = divmod(in_century, 4)
    weekday = (32 + 2 * moon_shift + 2 * quarter - moon - rest) % 7
    late = (golden + 11 * moon + 22 * weekday) // 451
    month, day = divmod(moon + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _fixed(month: int, day: int) -> DayOfYear:
    return lambda year: date(year, month, day)


def _after_easter(days: int) -> DayOfYear:
    return lambda year: easter(year) + timedelta(days)


def _nth(month: int, weekday: int, place: int, later: int = 0) -> DayOfYear:
    """The place-th weekday (Monday = 0) of a month, and so many days later."""

    def day(year: int) -> date:
        first = date(year, month, 1)
        ahead = (weekday - first.weekday()) % 7 + 7 * (place - 1) + later
        return first + timedelta(ahead)

    return day


def _last(month: int, weekday: int) -> DayOfYear:
    """The last such weekday of a month."""

    def day(year: int) -> date:
        end = date(year, month, monthrange(year, month)[1])
        return end - timedelta((end.weekday() - weekday) % 7)

    return day


def _advent(sunday: int) -> DayOfYear:
    """One of the four Sundays before christmas."""

    def day(year: int) -> date:
        eve = date(year, 12, 24)
        return eve - timedelta((eve.weekday() + 1) % 7 + 7 * (4 - sunday))

    return day


def _leap_day(year: int) -> date:
    """The 29th of February of this year or of the next one that has it."""
    while not isleap(year):
        year += 1
    return date(year, 2, 29)


def _islamic(month: int, day: int) -> DayOfYear:
    return lambda year: islamic(month, day, year)


_FEASTS: dict[str, DayOfYear] = {
    "christmas": _fixed(12, 25),
    "xmas": _fixed(12, 25),
    "christmas day": _fixed(12, 25),
    "christmas eve": _fixed(12, 24),
    "boxing day": _fixed(12, 26),
    "xmas day": _fixed(12, 25),
    "xmas eve": _fixed(12, 24),
    "yuandan": _fixed(1, 1),
    "new years": _fixed(1, 1),
    "new year": _fixed(1, 1),
    "new year day": _fixed(1, 1),
    "new years day": _fixed(1, 1),
    "new years eve": _fixed(12, 31),
    "new year eve": _fixed(12, 31),
    "valentines day": _fixed(2, 14),
    "valentine day": _fixed(2, 14),
    "saint patricks day": _fixed(3, 17),
    "saint patrick day": _fixed(3, 17),
    "saint davids day": _fixed(3, 1),
    "saint georges day": _fixed(4, 23),
    "saint andrews day": _fixed(11, 30),
    "inauguration day": _fixed(1, 20),
    "australia day": _fixed(1, 26),
    "anzac day": _fixed(4, 25),
    "pi day": _fixed(3, 14),
    "arbor day": _last(4, 4),
    "youth day": _fixed(5, 4),
    "childrens day": _fixed(6, 1),
    "flag day": _fixed(6, 14),
    "us independence day": _fixed(7, 4),
    "united nations day": _fixed(10, 24),
    "halloween day": _fixed(10, 31),
    "halloween night": _fixed(10, 31),
    "all hallows day": _fixed(11, 1),
    "guy fawkes day": _fixed(11, 5),
    "armistice day": _fixed(11, 11),
    "singles day": _fixed(11, 11),
    "election day": _nth(11, 0, 1, later=1),
    "groundhog day": _fixed(2, 2),
    "womens day": _fixed(3, 8),
    "international womens day": _fixed(3, 8),
    "international womans day": _fixed(3, 8),
    "womans day": _fixed(3, 8),
    "april fools": _fixed(4, 1),
    "april fools day": _fixed(4, 1),
    "april fool day": _fixed(4, 1),
    "earth day": _fixed(4, 22),
    "earthday": _fixed(4, 22),
    "may day": _fixed(5, 1),
    "workers day": _fixed(5, 1),
    "international workers day": _fixed(5, 1),
    "international labour day": _fixed(5, 1),
    "international labor day": _fixed(5, 1),
    "cinco de mayo": _fixed(5, 5),
    "juneteenth": _fixed(6, 19),
    "canada day": _fixed(7, 1),
    "independence day": _fixed(7, 4),
    "bastille day": _fixed(7, 14),
    "halloween": _fixed(10, 31),
    "all hallows eve": _fixed(10, 31),
    "all saints day": _fixed(11, 1),
    "all souls day": _fixed(11, 2),
    "guy fawkes night": _fixed(11, 5),
    "bonfire night": _fixed(11, 5),
    "veterans day": _fixed(11, 11),
    "remembrance day": _fixed(11, 11),
    "saint nicholas day": _fixed(12, 6),
    "epiphany": _fixed(1, 6),
    "twelfth night": _fixed(1, 5),
    "martin luther king day": _nth(1, 0, 3),
    "martin luther king jr day": _nth(1, 0, 3),
    "martin luther king junior day": _nth(1, 0, 3),
    "martin luther king birthday": _nth(1, 0, 3),
    "mlk day": _nth(1, 0, 3),
    "presidents day": _nth(2, 0, 3),
    "president day": _nth(2, 0, 3),
    "washington birthday": _nth(2, 0, 3),
    "washingtons birthday": _nth(2, 0, 3),
    "mardi gras": _after_easter(-47),
    "shrove tuesday": _after_easter(-47),
    "pancake day": _after_easter(-47),
    "fat tuesday": _after_easter(-47),
    "ash wednesday": _after_easter(-46),
    "palm sunday": _after_easter(-7),
    "maundy thursday": _after_easter(-3),
    "holy saturday": _after_easter(-1),
    "ascension day": _after_easter(39),
    "pentecost": _after_easter(49),
    "whit sunday": _after_easter(49),
    "whit monday": _after_easter(50),
    "corpus christi": _after_easter(60),
    "mothers day": _nth(5, 6, 2),
    "mother day": _nth(5, 6, 2),
    "father day": _nth(6, 6, 3),
    "memorial day": _last(5, 0),
    "labor day": _nth(9, 0, 1),
    "labour day": _nth(9, 0, 1),
    "canadian thanksgiving": _nth(10, 0, 2),
    "columbus day": _nth(10, 0, 2),
    "indigenous peoples day": _nth(10, 0, 2),
    "cyber monday": _nth(11, 3, 4, later=4),
    "giving tuesday": _nth(11, 3, 4, later=5),
    "easter": _after_easter(0),
    "easter sunday": _after_easter(0),
    "easter monday": _after_easter(1),
    "good friday": _after_easter(-2),
    "fathers day": _nth(6, 6, 3),
    "thanksgiving": _nth(11, 3, 4),
    "thanksgiving day": _nth(11, 3, 4),
    "black friday": _nth(11, 3, 4, later=1),
    "easter saturday": _after_easter(-1),
    "easter eve": _after_easter(-1),
    "clean monday": _after_easter(-48),
    "ascension thursday": _after_easter(39),
    "ascension": _after_easter(39),
    "whitsun": _after_easter(49),
    "pentecost monday": _after_easter(50),
    "trinity sunday": _after_easter(56),
    "first advent": _advent(1),
    "first sunday of advent": _advent(1),
    "second advent": _advent(2),
    "third advent": _advent(3),
    "fourth advent": _advent(4),
    "candlemas": _fixed(2, 2),
    "lovers day": _fixed(2, 14),
    "leap day": _leap_day,
    "girls day": _fixed(3, 7),
    "arbour day": _last(4, 4),
    "tree planting day": _fixed(3, 12),
    "white day": _fixed(3, 14),
    "white lover day": _fixed(3, 14),
    "saint jean baptiste day": _fixed(6, 24),
    "baptiste day": _fixed(6, 24),
    "midsummer day": _fixed(6, 24),
    "midsummers day": _fixed(6, 24),
    "midsummer": _fixed(6, 24),
    "assumption day": _fixed(8, 15),
    "teachers day": _fixed(9, 10),
    "michaelmas": _fixed(9, 29),
    "german unity day": _fixed(10, 3),
    "reformation day": _fixed(10, 31),
    "day of the dead": _fixed(11, 2),
    "saint martins day": _fixed(11, 11),
    "barbados national day": _fixed(11, 30),
    "saint lucy day": _fixed(12, 13),
    "saint lucys day": _fixed(12, 13),
    "saint stephens day": _fixed(12, 26),
    "second christmas day": _fixed(12, 26),
    "kwanzaa": _fixed(12, 26),
    "three kings day": _fixed(1, 6),
    "burns night": _fixed(1, 25),
    "saint swithins day": _fixed(7, 15),
    "victoria day": lambda year: date(year, 5, 25) - timedelta(date(year, 5, 25).weekday() or 7),
    "early may bank holiday": _nth(5, 0, 1),
    "spring bank holiday": _last(5, 0),
    "august bank holiday": _last(8, 0),
    "summer bank holiday": _last(8, 0),
    "family day": _nth(2, 0, 3),
    "canadian thanksgiving day": _nth(10, 0, 2),
    "grandparents day": _nth(9, 6, 1, later=7),
    "super bowl sunday": _nth(2, 6, 2),
    **dict.fromkeys(("ramadan", "ramadhan", "ramazan", "ramzan", "ramathan"), _islamic(9, 1)),
    **dict.fromkeys(("eid al fitr", "eid ul fitr", "eid", "end of ramadan"), _islamic(10, 1)),
    **dict.fromkeys(("eid al adha", "eid ul adha", "sacrifice feast"), _islamic(12, 10)),
    **dict.fromkeys(("islamic new year", "muslim new year", "hijri new year"), _islamic(1, 1)),
    "ashura": _islamic(1, 10),
    "mawlid": _islamic(3, 12),
    **dict.fromkeys(("rosh hashanah", "rosh hashana", "jewish new year"), rosh_hashanah),
    "yom kippur": lambda year: rosh_hashanah(year) + timedelta(9),
    "sukkot": lambda year: rosh_hashanah(year) + timedelta(14),
    **dict.fromkeys(("passover", "pesach"), passover),
    "shavuot": lambda year: passover(year) + timedelta(50),
    "purim": lambda year: passover(year) - timedelta(30),
    **dict.fromkeys(("hanukkah", "chanukah", "hanukah"), hanukkah),
    **dict.fromkeys(("chinese new year", "lunar new year"), chinese_new_year),
    "lantern festival": lambda year: chinese_new_year(year) + timedelta(14),
    **dict.fromkeys(("diwali", "deepavali"), diwali),
}
"""By name without apostrophes and dots."""
_FIRST_WORDS = frozenset(name.split()[0] for name in _FEASTS)
FEAST_BEGINS = (
    _FIRST_WORDS | {"st"} | {f"{word[:-1]}'s" for word in _FIRST_WORDS if word.endswith("s")}
)
"""The words that a name may begin with, with and without the apostrophe."""
_LONGEST = 5


def match_feast(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """A named day of a year, of the coming one when no year is said."""
    before = word_at(tokens, i)
    i += before in (*NEXT, *LAST, "this", "the")
    owned = word_at(tokens, i) == "year's"
    found = _feast_at(tokens, i + owned)
    if found is None:
        return None
    day, length = found
    if owned:  # "last year's easter"
        on = today.year + (before in NEXT) - (before in LAST)
        return DayHit((day(on),), i + 1 + length) if before != "the" else None
    if word_at(tokens, i + length) in ("observed", "holiday"):
        length += 1
        day = _observed(day) if word_at(tokens, i + length - 1) == "observed" else day
    wished = word_at(tokens, i - 1) in ("happy", "a", "good", "great")
    if wished and [token.text for token in tokens[i : i + length]] == ["new", "year"]:
        return None
    year = year_at(tokens, i + length, today)
    if year is not None:
        return DayHit((day(year[0]),), year[1])
    days = [day(today.year + later) for later in range(-1, 3)]
    if before in LAST:
        return DayHit((max(on for on in days if on < today),), i + length)
    if before == "this":
        return DayHit((day(today.year),), i + length)
    return DayHit(tuple(on for on in days if on >= today)[:2], i + length)


def _observed(day: DayOfYear) -> DayOfYear:
    """The day on which offices close for it: of a Saturday the Friday, of a Sunday the Monday."""

    def observed(year: int) -> date:
        on = day(year)
        return on + timedelta({5: -1, 6: 1}.get(on.weekday(), 0))

    return observed


def _feast_at(tokens: Tokens, i: int) -> tuple[DayOfYear, int] | None:
    """The feast with the longest name from token i on, and how many tokens name it."""
    found, name = None, ""
    for length, token in enumerate(tokens[i : i + _LONGEST], start=1):
        if token.is_word:
            word = "saint" if token.text == "st" else token.text.replace("'", "")
            name = f"{name} {word}".strip()
            if name in _FEASTS:
                found = _FEASTS[name], length
        elif token.text not in ("'", ".", "-"):
            break
    return found
