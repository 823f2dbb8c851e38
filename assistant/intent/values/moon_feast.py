"""Feasts of calendars that follow the moon, as days of the year that the clock shows.

Islamic feasts, which depend on who sees the moon where, may be a day later; ones follow the
fixed calendar, the Chinese new year and Diwali the new moon itself.
Days that begin in the evening before are given by their daylight.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from functools import lru_cache

_ISLAMIC_EPOCH = date(622, 7, 19).toordinal()
_HEBREW_EPOCH = -1_373_427
"""Day number of the first of Tishri of the year 1, where date.toordinal counts 1 for 1-1-1."""
_MOON = 29.530588861
_MOON_2000 = 5.09766
"""The mean new moon of January 2000, in days from its first noon (terrestrial time)."""


def islamic(month: int, day: int, year: int) -> date:
    """The first such day of the Islamic calendar in a year of ours: a month begins on the day
    after the first sunset at Mecca that follows a new moon."""
    hijri = int((year - 622) * 33 / 32) - 1
    while True:
        elapsed = (hijri - 1) * 354 + (3 + 11 * hijri) // 30 + math.ceil(29.5 * (month - 1))
        about = date.fromordinal(_ISLAMIC_EPOCH + elapsed)
        number = round(((about - date(2000, 1, 1)).days - 1.5 - _MOON_2000) / _MOON)
        on = _day(_new_moon(number) + 10 / 24) + timedelta(day)
        if on.year >= year:
            return on
        hijri += 1


def rosh_hashanah(year: int) -> date:
    """The Jewish new year in a year of ours."""
    return date.fromordinal(_tishri(year + 3761))


def passover(year: int) -> date:
    return rosh_hashanah(year) - timedelta(163)


def hanukkah(year: int) -> date:
    """Its first day; the second month has 30 days in the long years."""
    length = _tishri(year + 3762) - _tishri(year + 3761)
    return rosh_hashanah(year) + timedelta(84 if length in (355, 385) else 83)


def _tishri(hebrew: int) -> int:
    """Day number of the first day of a Jewish year."""
    months = (235 * hebrew - 234) // 19
    parts = 12_084 + 13_753 * months
    day = 29 * months + parts // 25_920
    if 3 * (day + 1) % 7 < 3:
        day += 1
    before, after = _delay(hebrew - 1), _delay(hebrew + 1)
    here = _delay(hebrew)
    if after - here == 356:
        day += 2
    elif here - before == 382:
        day += 1
    return _HEBREW_EPOCH + day


@lru_cache(maxsize=64)
def _delay(hebrew: int) -> int:
    months = (235 * hebrew - 234) // 19
    parts = 12_084 + 13_753 * months
    day = 29 * months + parts // 25_920
    return day + 1 if 3 * (day + 1) % 7 < 3 else day


def chinese_new_year(year: int) -> date:
    """The new moon between the 21st of January and the 20th of February, in Beijing."""
    first = date(year, 1, 21)
    number = _lunation(first)
    while True:
        on = _day(_new_moon(number) + 8 / 24)
        if on >= first:
            return on
        number += 1


def diwali(year: int) -> date:
    """The evening at which the moon between mid-October and mid-November is gone."""
    number = _lunation(date(year, 10, 17))
    while _day(_new_moon(number)) < date(year, 10, 17):
        number += 1
    return _day(_new_moon(number) - 13 / 24)


def _lunation(day: date) -> int:
    """The number of the last new moon that surely comes before the day."""
    return math.floor(((day - date(2000, 1, 1)).days - 1.5 - _MOON_2000) / _MOON)


def _day(moment: float) -> date:
    """Of days since noon of 2000-01-01."""
    return date(2000, 1, 1) + timedelta(math.floor(moment + 0.5))


def _new_moon(number: int) -> float:
    """Days from noon of 2000-01-01 to the number-th new moon, right to a quarter of an hour
    (the main terms of Meeus, Astronomical Algorithms, chapter 49)."""
    century = number / 1236.85
    mean = _MOON_2000 + _MOON * number + 0.00015437 * century**2
    sun = math.radians(2.5534 + 29.10535670 * number)
    moon = math.radians(201.5643 + 385.81693528 * number)
    node = math.radians(160.7108 + 390.67050284 * number)
    return (
        mean
        - 0.40720 * math.sin(moon)
        + 0.17241 * math.sin(sun)
        + 0.01608 * math.sin(2 * moon)
        + 0.01039 * math.sin(2 * node)
        + 0.00739 * math.sin(moon - sun)
        - 0.00514 * math.sin(moon + sun)
        + 0.00208 * math.sin(2 * sun)
        - 0.0008  # terrestrial time is about 70 s ahead
    )
