"""Times of day: "12:01 am", "7:30pm", "22:00", "9 a.m.", "7-9 pm"."""

from __future__ import annotations

import re

from assistant.tts.spoken.numbers import cardinal

_CLOCK = r"(?:[01]?\d|2[0-4])(?::[0-5]\d){1,2}"
_HALF = r"(?P<half>[apAP])\.?\s?[mM](?![A-Za-z])(?P<dot>\.)?"

_TWELVE = re.compile(
    rf"(?<![\w.,:/])(?P<low>{_CLOCK}|1?\d\.[0-5]\d|[012]?\d)"
    rf"(?:\s?(?P<half1>[ap])\.?m\.?)?"
    rf"(?:\s?(?P<link>[-–]|to|and|or)\s?(?P<high>{_CLOCK}|[012]?\d))?\s?{_HALF}",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"(?<![\w.,:/])(?P<low>{_CLOCK})\s?[-–]\s?(?P<high>{_CLOCK})(?![\w:])")
_PLAIN = re.compile(rf"(?<![\w.,:/])(?P<time>{_CLOCK})(?![\d:])(?:\s?(?P<h>h|hrs|Uhr)\b)?")
_RATIO = re.compile(r"(?<![\w.,:/])(\d{1,4}):(\d{1,4})(?![\w:])")


def times(text: str) -> str:
    """Times of day as words."""
    text = _TWELVE.sub(_with_half, text)
    text = _RANGE.sub(lambda m: f"{_clock(m['low'])} to {_clock(m['high'])}", text)
    text = _PLAIN.sub(lambda m: _clock(m["time"]), text)
    return _RATIO.sub(lambda m: f"{cardinal(int(m[1]))} to {cardinal(int(m[2]))}", text)


def _with_half(match: re.Match[str]) -> str:
    # "a.m." with its dots: a voice reads a lone "a" as the article.
    said = _hour_minute(match["low"])
    if match["high"]:
        if match["half1"]:
            said += f" {match['half1'].lower()}.m."
        link = "to" if match["link"] in "-–" else match["link"].lower()
        said += f" {link} {_hour_minute(match['high'])}"
    elif match["half1"]:
        return match[0]
    return f"{said} {match['half'].lower()}.m."


def _hour_minute(text: str) -> str:
    """ "7:30" -> "seven thirty", "7:00" -> "seven", "7:05" -> "seven oh five"."""
    hour, *rest = (int(part) for part in re.split("[:.]", text))
    said = cardinal(hour)
    if rest and (rest[0] or rest[1:]):
        said += f" {_minutes(rest[0])}"
    return said + _seconds(rest[1:])


def _clock(text: str) -> str:
    """A time without a.m. or p.m.: "9:00" -> "nine o'clock", "22:00" -> "twenty-two hundred"."""
    hour, minute, *rest = (int(part) for part in text.split(":"))
    if rest and not rest[0]:  # "1:30:00" is a length or a full minute
        rest = []
    if not minute and not rest:
        if hour in (0, 24):
            return "midnight"
        return f"{cardinal(hour)} hundred" if hour > 12 else f"{cardinal(hour)} o'clock"
    return f"{cardinal(hour)} {_minutes(minute)}{_seconds(rest)}"


def _minutes(minute: int) -> str:
    if minute == 0:
        return "hundred"
    return f"oh {cardinal(minute)}" if minute < 10 else cardinal(minute)


def _seconds(rest: list[int]) -> str:
    if not rest:
        return ""
    return f" and {cardinal(rest[0])} second{'' if rest[0] == 1 else 's'}"
