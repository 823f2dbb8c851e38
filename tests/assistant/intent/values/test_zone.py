"""Time zones as people call them."""

from __future__ import annotations

import zoneinfo

import pytest

from assistant.intent.values.zone import known_places, parse_zone
from assistant.intent.values.zone_names import NAMES_BY_ZONE, REGIONS


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("tokyo", "Asia/Tokyo"),
        ("New York", "America/New_York"),
        ("new york city", "America/New_York"),
        ("San Francisco", "America/Los_Angeles"),
        ("L.A.", "America/Los_Angeles"),
        ("beijing", "Asia/Shanghai"),
        ("são paulo", "America/Sao_Paulo"),
        ("Zürich", "Europe/Zurich"),
        ("the uk", "Europe/London"),
        ("the netherlands", "Europe/Amsterdam"),
        ("india", "Asia/Kolkata"),
        ("pacific time", "America/Los_Angeles"),
        ("eastern standard time", "America/New_York"),
        ("central european time", "Europe/Paris"),
        ("london time", "Europe/London"),
        ("sydney right now", "Australia/Sydney"),
        ("perth australia", "Australia/Perth"),
        ("paris, france", "Europe/Paris"),
        ("paris texas", "America/Chicago"),
        ("portland maine", "America/New_York"),
        ("east coast", "America/New_York"),
        ("the west coast time", "America/Los_Angeles"),
        ("eastern time zone", "America/New_York"),
        ("central timezone", "America/Chicago"),
        ("fort myers florida", "America/New_York"),
        ("little hampton, england", "Europe/London"),
        ("utc", "UTC"),
        ("gmt", "UTC"),
        ("utc plus two", "Etc/GMT-2"),
        ("GMT-5", "Etc/GMT+5"),
        ("utc plus zero", "UTC"),
        ("Asia/Tokyo", "Asia/Tokyo"),
    ],
)
def test_zones_by_name(text: str, zone: str) -> None:
    assert parse_zone(text) == zone


@pytest.mark.parametrize(
    "text",
    ["", "georgia", "the kitchen", "easter", "time", "now", "utc plus 30", "utc plus", "my mom"],
)
def test_what_is_no_place_that_is_sure(text: str) -> None:
    assert parse_zone(text) is None


def test_every_zone_of_the_table_exists_and_no_name_stands_twice() -> None:
    assert set(NAMES_BY_ZONE) <= zoneinfo.available_timezones()
    assert set(known_places()) >= REGIONS
    names = [n for line in NAMES_BY_ZONE.values() for n in line.split(", ")]
    assert len(names) == len(set(names))
    assert {"tokyo", "rio de janeiro"} <= set(known_places())
