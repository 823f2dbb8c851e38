"""What things of the home are called, and which of them a text names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assistant.home.base import Entity, Snapshot
from assistant.intent.normalize import normalize

ZONES = ("home", "away", "not home", "work", "school", "the office", "out")
"""Where people may be, beside the zones of the home."""

_HYPHEN = re.compile(r"(?<=\w)[-–—_/](?=[^\W\d_])")
_SIGNS = re.compile(r"[^\w\s'%°.&+/-]")
_DIGITS = re.compile(r"(?<![\w.])(?:\d|1\d|20)(?![\w.])")
_ROOM = re.compile(r"(?<=[a-z])(room|way)(?!\w)")
_LAST_NUMBER = re.compile(r"(?<=[a-z])(?=\d+$)")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
).split()

# The last word of a name that may be left out or stand in the other number.
_NOUNS = {
    "light": ("light", "lamp", "bulb", "lights", "lamps", "bulbs"),
    "switch": ("switch", "plug", "socket", "outlet"),
    "fan": ("fan", "fans"),
    "cover": (
        "door", "doors", "blind", "blinds", "curtain", "curtains", "shade", "shades", "shutter",
        "shutters", "gate", "window", "awning", "cover",
    ),
    "lock": ("lock", "door", "doors"),
    "valve": ("valve",),
    "vacuum": ("vacuum", "robot", "cleaner"),
    "lawn_mower": ("mower",),
    "media_player": ("speaker", "speakers", "player"),
    "climate": ("thermostat", "heater", "heating"),
    "binary_sensor": ("sensor", "door", "window"),
    "sensor": ("sensor",),
    "scene": ("scene",),
    "script": ("script",),
}  # fmt: skip
_PLURALS = {"light", "lamp", "bulb", "fan", "door", "blind", "curtain", "shade", "shutter"}


@dataclass(frozen=True, slots=True)
class Value:
    """One way to say a name.

    said: as ``plain`` writes it.
    name: as the home writes it.
    domain: of an entity, "" for rooms and floors.
    exact: said as the home has it, as name or alias.
    """

    said: str
    name: str
    domain: str = ""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text; start, end: character offsets."""

    value: Value
    kind: str
    start: int
    end: int


def plain(text: str) -> str:
    """Text or name as both are compared: normalised, hyphens as spaces."""
    spaced = _HYPHEN.sub(" ", normalize(text)).replace("colour", "color")
    return " ".join(_SIGNS.sub(" ", spaced).split())


class Names:
    """All names of one snapshot by the list that they fill."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.values: dict[str, list[Value]] = {
            "name": _entities(snapshot),
            "area": _places((a.name, *a.aliases) for a in snapshot.areas),
            "floor": _places((f.name, *f.aliases) for f in snapshot.floors),
            "zone": _zones(snapshot),
        }
        self._by_said: dict[str, list[tuple[str, Value]]] = {}
        for kind, values in self.values.items():
            for value in values:
                self._by_said.setdefault(value.said, []).append((kind, value))

    def mentions(self, text: str) -> Iterator[Mention]:
        """Every name in ``text``, overlapping ones too; ``text`` as ``plain`` gives it."""
        padded = f" {text} "
        for said, values in self._by_said.items():
            start = padded.find(f" {said} ")
            while start >= 0:
                for kind, value in values:
                    yield Mention(value, kind, start, start + len(said))
                start = padded.find(f" {said} ", start + 1)


def _entities(snapshot: Snapshot) -> list[Value]:
    exact: dict[tuple[str, str, str], Value] = {}
    for entity in snapshot.entities:
        for name in (entity.name, *entity.aliases):
            for said in _spellings(name):
                value = Value(said, entity.name, entity.domain)
                exact.setdefault((said, entity.name, entity.domain), value)
    places = [name for area in snapshot.areas for name in (area.name, *area.aliases)]
    places += [name for floor in snapshot.floors for name in (floor.name, *floor.aliases)]
    taken = {said for said, _, _ in exact} | {said for name in places for said in _spellings(name)}
    loose: dict[tuple[str, str], set[Value]] = {}
    for entity in snapshot.entities:
        for said in _loose(entity, taken):
            key = said, entity.domain
            loose.setdefault(key, set()).add(Value(said, entity.name, entity.domain, exact=False))
    # a short form that two devices share names neither
    return [*exact.values(), *(v for values in loose.values() if len(values) == 1 for v in values)]


def _loose(entity: Entity, taken: set[str]) -> Iterator[str]:
    """Short and plural forms that are nobody's own name."""
    nouns = _NOUNS.get(entity.domain, ())
    for name in (entity.name, *entity.aliases):
        for said in _spellings(name):
            *rest, last = said.split() or [""]
            if last not in nouns:
                continue
            forms = [*rest] and [" ".join(rest)]
            if last in _PLURALS:
                forms.append(" ".join([*rest, last + "s"]))
            elif last.removesuffix("s") in _PLURALS:
                forms.append(" ".join([*rest, last.removesuffix("s")]))
            yield from (form for form in forms if form not in taken and len(form) > 2)


def _places(names: Iterable[tuple[str, ...]]) -> list[Value]:
    values: dict[str, Value] = {}
    places = [(first, _spellings(name)) for first, *others in names for name in (first, *others)]
    for first, spellings in places:
        for said in spellings:
            values.setdefault(said, Value(said, first))
    for first, spellings in places:
        for said in spellings:
            values.setdefault(f"{said}'s", Value(f"{said}'s", first, exact=False))
    return list(values.values())


def _zones(snapshot: Snapshot) -> list[Value]:
    states = [e.state for e in snapshot.entities if e.domain == "person"]
    names = [e.name for e in snapshot.entities if e.domain == "zone"]
    known = (name for name in (*names, *states) if name not in ("unknown", "unavailable"))
    return [Value(plain(zone), plain(zone)) for zone in dict.fromkeys((*known, *ZONES))]


def _spellings(name: str) -> list[str]:
    """How a name is said or written by a recogniser, the plain one first."""
    first = plain(name)
    forms = [first, first.replace("'", ""), first.replace("&", "and")]
    forms += [_ROOM.sub(r" \1", first), first.replace(" room", "room")]
    forms += [_LAST_NUMBER.sub(" ", form) for form in forms]
    forms += [_DIGITS.sub(_word, form) for form in forms]
    forms += [" ".join(form.replace(".", " ").split()) for form in forms]
    return [form for form in dict.fromkeys(forms) if form]


def _word(number: re.Match[str]) -> str:
    return _NUMBER_WORDS[int(number.group())]
