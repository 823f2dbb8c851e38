"""Dates and years: "1/1/2023", "2023-05-04", "May 5th, 2024", "in 1999", "the 1990s".

A date in figures with slashes is read the American way, month first, unless its
first figure cannot be a month; with dots it is read day first.
"""

from __future__ import annotations

import re

from assistant.tts.spoken.numbers import cardinal, ordinal, plural, year

MONTHS = (
    "January February March April May June July August September October November December"
).split()

_SHORT = {m[:3]: m for m in MONTHS} | {"Sept": "September"}
_DAYS = {
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday",
    "Thu": "Thursday",
    "Thur": "Thursday",
    "Thurs": "Thursday",
    "Fri": "Friday",
    "Sat": "Saturday",
    "Sun": "Sunday",
}
_MONTH = r"(?P<month>" + "|".join([*MONTHS, "Sept", *_SHORT]) + r")\b\.?"
_YEAR = r"[12]\d{3}"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"

_ISO = re.compile(
    rf"(?<![\w.,/-])(?P<y>{_YEAR})[-/](?P<m>0[1-9]|1[0-2])[-/](?P<d>0[1-9]|[12]\d|3[01])"
    r"(?![\w/-]*[/-]\d)(?:[T ](?P<time>[0-2]\d:[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?(?!\d)|(?!\w))"
)
_FIGURES = re.compile(
    r"(?<![\w.,/-])(?P<a>\d{1,2})(?P<sep>[/.-])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4}|\d\d)(?![\w/-]|\.\d)"
)
_WEEKDAY = re.compile(
    rf"\b(?P<day>{'|'.join(_DAYS)})\b\.?(?=,? (?:{'|'.join([*MONTHS, *_SHORT])})\b|,? \d)"
)
_DAY_RANGE = re.compile(
    rf"\b(?P<a>{'|'.join(_DAYS)})\.?\s?[-–]\s?(?P<b>{'|'.join(_DAYS)})\b"
    r"(?:\.(?=[,;]?\s?[a-z\d]))?(?!\w)"
)
_MONTH_RANGE = re.compile(
    rf"\b(?P<a>{'|'.join(_SHORT)})\.?\s?[-–]\s?(?P<b>{'|'.join(_SHORT)})\b"
    r"(?:\.(?=[,;]?\s?[a-z]))?(?!\w|\.?\s?\d)"
)
_MONTH_DAY = re.compile(
    rf"\b{_MONTH} (?P<d>{_DAY})(?:st|nd|rd|th)?(?![\w/:%°$€£]|[.,]\d)"
    rf"(?:\s?[-–]\s?(?P<d2>{_DAY})(?:st|nd|rd|th)?(?![\w/:%]|[.,]\d))?"
    rf"(?P<comma>,)?(?: (?P<y>{_YEAR})(?![\w%]|[,.:/]\d))?"
)
_DAY_MONTH = re.compile(
    rf"(?<![\w.,/:$-])(?P<the>[Tt]he )?(?P<d>{_DAY})(?:st|nd|rd|th)?(?: of)? {_MONTH}"
    rf"(?:,? (?P<y>{_YEAR})(?![\w%]|[,.:/]\d))?"
)
_MONTH_YEAR = re.compile(rf"\b{_MONTH},? (?P<y>{_YEAR})(?![\w%]|[,.:/]\d)")
_LONE_MONTH = re.compile(r"\b(Jan|Feb|Aug|Sept|Oct|Nov|Dec)\.(?=[ ,])")

_DECADE = re.compile(r"(?<![\w.,])(?P<y>[12]\d{2}0)'?s\b")
_SHORT_DECADE = re.compile(r"(?<!\w)'?(?P<d>[2-9]0)'?s\b")
_SHORT_YEAR = re.compile(r"(?<!\w)'(?P<y>\d\d)(?![\w'])")
_YEAR_RANGE = re.compile(
    r"(?<![\w.,/$-])(?P<a>1[1-9]\d\d|20\d\d)\s?[-–/]\s?(?P<b>1[1-9]\d\d|20\d\d|\d\d)"
    r"(?![\w,%/-]|\.\d)"
)
_ERA = re.compile(
    rf"(?<![\w.,])(?P<y>[1-9]\d{{2,3}})(?= (?:BC|AD|BCE|CE|B\.C\.|A\.D\.)(?!\w))"
    rf"|(?<=\bAD )(?P<y2>{_YEAR})(?!\d)"
)
_CUE = (
    r"in|since|of|year|years|until|till|before|after|around|circa|by|from|to|and|late|early|mid|"
    r"spring|summer|autumn|fall|winter|during|through|between|class|copyright"
)
_CUED = re.compile(
    rf"\b(?P<cue>{_CUE})(?P<gap>[ -])(?P<y>1[1-9]\d\d|20\d\d)"
    r"(?![\w%°]|[,.:/]\d|-\d| (?:of|to|or) )",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?<![\w.,:/$€£#-])(?P<y>19\d\d|20\d\d)(?![\w%°]|[,.:/-]\d)"
    r"(?P<noun> (?:[a-z]+s|people|men|women|children)\b)?"
)
_NOT_PLURAL = frozenset("was is has as this its us across besides always perhaps sees does".split())


def dates(text: str) -> str:
    """Dates as words; run before times, which takes what is left of the colons."""
    text = _DECADE.sub(lambda m: _decade(int(m["y"])), text)
    text = _SHORT_DECADE.sub(lambda m: plural(cardinal(int(m["d"]))), text)
    text = _ISO.sub(_iso, text)
    text = _FIGURES.sub(_figures, text)
    text = _DAY_RANGE.sub(lambda m: f"{_DAYS[m['a']]} to {_DAYS[m['b']]}", text)
    text = _MONTH_RANGE.sub(lambda m: f"{_name(m['a'])} to {_name(m['b'])}", text)
    text = _WEEKDAY.sub(lambda m: _DAYS[m["day"]], text)
    text = _MONTH_DAY.sub(_month_day, text)
    text = _DAY_MONTH.sub(_day_month, text)
    text = _MONTH_YEAR.sub(lambda m: f"{_name(m['month'])} {year(int(m['y']))}", text)
    return _LONE_MONTH.sub(lambda m: _name(m[1]), text)


def years(text: str) -> str:
    """Years as words; run when quantities have been taken out."""
    text = _SHORT_YEAR.sub(lambda m: _two_figures(int(m["y"])), text)
    text = _YEAR_RANGE.sub(_range, text)
    text = _ERA.sub(lambda m: year(int(m["y"] or m["y2"])), text)
    text = _CUED.sub(lambda m: f"{m['cue']}{m['gap']}{year(int(m['y']))}", text)
    return _BARE.sub(_bare, text)


def _name(month: str) -> str:
    return _SHORT.get(month, month)


def _date(month: int, day: int, full_year: int) -> str:
    return f"{MONTHS[month - 1]} {ordinal(day)}, {year(full_year)}"


def _iso(match: re.Match[str]) -> str:
    said = _date(int(match["m"]), int(match["d"]), int(match["y"]))
    if match["time"]:
        said += f" at {match['time']}"
    return said + (" UTC" if match["zone"] == "Z" else "")


def _figures(match: re.Match[str]) -> str:
    month, day = int(match["a"]), int(match["b"])
    if match["sep"] == "." or month > 12:
        month, day = day, month
    full_year = int(match["y"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return match[0]
    if len(match["y"]) == 2:
        if match["sep"] == ".":
            return match[0]
        full_year += 2000 if full_year < 70 else 1900
    return _date(month, day, full_year)


def _month_day(match: re.Match[str]) -> str:
    said = f"{_name(match['month'])} {ordinal(int(match['d']))}"
    if match["d2"]:
        said += f" to {ordinal(int(match['d2']))}"
    if match["y"]:
        return f"{said}, {year(int(match['y']))}"
    return said + (match["comma"] or "")


def _day_month(match: re.Match[str]) -> str:
    the = match["the"] or "the "
    said = f"{the}{ordinal(int(match['d']))} of {_name(match['month'])}"
    return f"{said}, {year(int(match['y']))}" if match["y"] else said


def _decade(value: int) -> str:
    """1990 -> "nineteen nineties", 2000 -> "two thousands", 1900 -> "nineteen hundreds"."""
    return plural(year(value))


def _two_figures(value: int) -> str:
    return f"oh {cardinal(value)}" if value < 10 else cardinal(value)


def _range(match: re.Match[str]) -> str:
    start, end = int(match["a"]), match["b"]
    last = year(int(end)) if len(end) == 4 else _two_figures(int(end))
    return f"{year(start)} to {last}"


def _bare(match: re.Match[str]) -> str:
    noun = match["noun"] or ""
    # "2024 people" counts, "2024 was" dates; a plural after the figure decides.
    if noun and noun.strip() not in _NOT_PLURAL:
        return match[0]
    return year(int(match["y"])) + noun
