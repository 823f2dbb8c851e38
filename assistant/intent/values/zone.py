"""Time zones by what people call them: "tokyo", "new york city", "pacific time", "utc plus 2".

The result is a name of the IANA database as the system has it. A place that is not known,
or of which there are several without a large one ("georgia"), is None.
"""

from __future__ import annotations

import re
import unicodedata
import zoneinfo
from functools import cache

from assistant.intent.values.number import parse_number
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import fold
from assistant.intent.values.zone_names import NAMES_BY_ZONE, REGIONS

_AREAS = ("Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
_NOT_PLACES = frozenset(("easter", "midway", "center", "act", "west", "north", "south", "yap"))
_NOISE = re.compile(r"[^\w\s'+-]+")
_ENDS = re.compile(
    r"(?: standard| local| daylight(?: savings?)?)? (?:time(?: zone)?|timezone)$"
    r"| (?:right now|now|today)$"
)
_OFFSET = re.compile(r"^(?:utc|gmt) ?(\+|-|plus|minus) ?(.+)$")
_LONGEST_TOWN = 3
"""Words."""
_MOST_HOURS = {"+": 14, "-": 12}


def parse_zone(text: str) -> str | None:
    """The zone that the whole text names: "Tokyo time" -> "Asia/Tokyo"; else None.

    "paris france" is Paris: a known place may follow a known place, and a town that is not
    known is in the zone of its state or country ("punta gorda florida"). Names of the
    database ("Asia/Tokyo") are taken as they are.
    """
    if text in _known():
        return text
    said = " ".join(_NOISE.sub(" ", _plain(text)).split())
    while (shorter := _ENDS.sub("", said)) != said:
        said = shorter
    return _at_offset(said) or _named(said)


def find_zones(text: str) -> list[Span[str]]:
    """All zones in a sentence, by their name or offset: "new york time", "5 pm pst"."""
    words = [(match.group(), *match.span()) for match in _WORD.finditer(fold(text))]
    spans: list[Span[str]] = []
    i = 0
    while i < len(words):
        for length in range(min(_LONGEST_ZONE, len(words) - i), 0, -1):
            said = " ".join(word for word, _, _ in words[i : i + length])
            zone = _zone_of(said)
            if zone is not None:
                spans.append(Span(words[i][1], words[i + length - 1][2], zone))
                i += length - 1
                break
        i += 1
    return spans


_WORD = re.compile(r"(?:utc|gmt) ?[+-] ?\d{1,2}h?|[^\W\d_]+(?:'[^\W\d_]+)*")
_LONGEST_ZONE = 5
"""Words."""
_LETTERS = re.compile(
    r"(?:[ecmp](?:s|d|ds)?t|ak[sd]t|hst|[ac]est|aedt|cet|eet|wet|bst|ist|jst|msk|utc|gmt)$"
)


def _zone_of(said: str) -> str | None:
    """The zone when the words surely name one: not "paris" and not "time" alone."""
    offset = _at_offset(said.removesuffix("h"))
    marked = _ENDS.sub("", said) != said and " " in said
    if offset is not None or not (marked or _LETTERS.match(said)):
        return offset
    return _named(_SHORT_ZONES.get(said, "")) or parse_zone(said)


_SHORT_ZONES = {
    f"{letter}{middle}t": name
    for letter, name in (("p", "pacific"), ("e", "eastern"), ("c", "central"), ("m", "mountain"))
    for middle in ("", "ds")
}


def known_places() -> tuple[str, ...]:
    """The names that are understood, in lower case."""
    return tuple(_zones())


def _named(said: str) -> str | None:
    zones = _zones()
    said = said if said in zones else said.removeprefix("the ").removeprefix("in ")
    if said in zones:
        return zones[said]
    words = said.split()
    for cut in range(len(words) - 1, 0, -1):
        place, region = " ".join(words[:cut]), " ".join(words[cut:])
        if place in zones and region in zones:
            return zones[place]
    for cut in range(1, min(len(words), _LONGEST_TOWN + 1)):
        region = " ".join(words[cut:])
        if region in REGIONS and region in zones and all(word.isalpha() for word in words):
            return zones[region]  # "punta gorda florida"
    return None


def _at_offset(said: str) -> str | None:
    """Reads "utc plus two", "gmt-5": whole hours, which the database names the other way."""
    match = _OFFSET.match(said)
    if match is None:
        return None
    sign = "+" if match[1] in ("+", "plus") else "-"
    hours = parse_number(match[2].removesuffix(" hours").removesuffix(" hour"))
    if not isinstance(hours, int) or not 0 <= hours <= _MOST_HOURS[sign]:
        return None
    return f"Etc/GMT{'-' if sign == '+' else '+'}{hours}" if hours else "UTC"


@cache
def _known() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


@cache
def _zones() -> dict[str, str]:
    """Zone by name; the names of our own table win over those of the database."""
    known = _known()
    zones: dict[str, str] = {}
    for zone in sorted(known):
        area, _, place = zone.partition("/")
        name = _plain(place.replace("_", " "))
        if area in _AREAS and "/" not in place and name not in _NOT_PLACES:
            zones[name] = zone
    for zone, names in NAMES_BY_ZONE.items():
        if zone in known:
            zones.update(dict.fromkeys(names.split(", "), zone))
    return zones


def _plain(text: str) -> str:
    """Lower case without accents."""
    split = unicodedata.normalize("NFD", fold(text))
    return "".join(char for char in split if not unicodedata.combining(char))
