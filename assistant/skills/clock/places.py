"""What time it is elsewhere, and how far the clocks of two places are apart."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from assistant.errors import SkillError
from assistant.intent.values.zone import parse_zone

_UPPER = frozenset("uk us usa uae est edt cst cdt mst mdt pst pdt utc gmt bst cet cest ist".split())
_WITH_THE = frozenset("uk us usa uae netherlands philippines bahamas maldives".split())
_LOWER = frozenset("of the and in".split())


def zone_of(place: str) -> ZoneInfo:
    """Raises SkillError that names a place that is not known."""
    name = parse_zone(place)
    if name is None:
        raise SkillError("clock.place", f"I don't know what time it is in {title(place)}.")
    return ZoneInfo(name)


def title(place: str) -> str:
    """As it is written: "new york" -> "New York", "uk" -> "the UK"."""
    words = place.removesuffix(" time").split()
    if words[0] in _WITH_THE or words[0] == "united":
        words = ["the", *words]
    return " ".join(
        word.upper() if word in _UPPER else word if word in _LOWER else word[:1].upper() + word[1:]
        for word in words
    )


def difference(a: datetime, b: datetime) -> str:
    """How far b's clock is from a's: "5 hours behind", "5 and a half hours ahead of"; "" for none.

    a, b: the same moment in two zones.
    """
    offset_a, offset_b = a.utcoffset(), b.utcoffset()
    assert offset_a is not None
    assert offset_b is not None
    apart = offset_b - offset_a
    if not apart:
        return ""
    hours, minutes = divmod(round(abs(apart) / timedelta(minutes=1)), 60)
    half = {0: "", 15: " and a quarter", 30: " and a half", 45: " and three quarters"}.get(minutes)
    amount = f"{hours} hours {minutes} minutes" if half is None else f"{hours}{half} hours"
    if (hours, minutes) == (1, 0):
        amount = "1 hour"
    return f"{amount} {'ahead of' if apart > timedelta(0) else 'behind'}"
