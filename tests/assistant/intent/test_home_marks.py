"""Words that a tagger marked, as values of the home."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.home.base import Snapshot
from assistant.intent.base import Intent
from assistant.intent.home_marks import read_marks


def read(home: Snapshot, name: str, slots: dict[str, Any], text: str = "") -> dict[str, Any] | None:
    found = read_marks(Intent(f"home.{name}", slots, source="heads"), text, home)
    return None if found is None else found.slots


@pytest.mark.parametrize(
    ("name", "said", "slots"),
    [
        ("HassTurnOn", {"name": "the desk lamp"}, {"name": "Desk Lamp"}),
        ("HassTurnOn", {"name": "standing lamp"}, {"name": "Floor Lamp"}),
        ("HassTurnOff", {"name": "desk lump"}, {"name": "Desk Lamp"}),
        ("HassTurnOff", {"name": "chandelier"}, {"name": "chandelier"}),
        ("HassLightSet", {"area": "lounge", "brightness": "thirty percent"},
         {"area": "Living Room", "brightness": 30, "domain": "light"}),
        ("HassSetPosition", {"device_class": "curtains", "position": "half"},
         {"device_class": "curtain", "position": 50, "domain": "cover"}),
        ("HassClimateSetTemperature", {"area": "study", "temperature": "twenty point five degrees"},
         {"area": "Study", "temperature": 20.5}),
        ("HassClimateSetTemperature", {"temperature": "21"}, {"temperature": 21, "here": True}),
        ("HassGetState", {"name": "kitchen window", "state": "open"},
         {"name": "Kitchen Window", "state": "on", "response": "one_yesno"}),
        ("HassGetState", {"name": "garage door", "state": "shut"},
         {"name": "Garage Door", "state": "closed", "response": "one_yesno"}),
        ("HassMediaSearchAndPlay", {"search_query": "some jazz", "area": "kitchen"},
         {"search_query": "some jazz", "area": "Kitchen"}),
    ],
)  # fmt: skip
def test_words_become_values(
    home: Snapshot, name: str, said: dict[str, str], slots: dict[str, Any]
) -> None:
    assert read(home, name, said) == slots


@pytest.mark.parametrize(
    ("name", "said", "text"),
    [
        ("HassSetPosition", {"name": "left curtain"}, "do something to the left curtain"),
        ("HassLightSet", {"name": "desk lamp"}, "the desk lamp is nice"),
        ("HassLightSet", {"name": "desk lamp", "brightness": "banana"}, "banana"),
        ("HassTurnOff", {}, "this should end"),
        ("HassTurnOff", {"area": "kitchen"}, "the kitchen is old"),
    ],
)
def test_without_what_it_needs_nothing_is_done(
    home: Snapshot, name: str, said: dict[str, str], text: str
) -> None:
    assert read(home, name, said, text) is None


def test_the_direction_of_a_step_is_in_the_words(home: Snapshot) -> None:
    slots = read(home, "HassLightSet", {"area": "kitchen"}, "the kitchen is too gloomy")
    assert slots == {"area": "Kitchen", "domain": "light", "brightness_step": 20}
    slots = read(home, "HassLightSet", {"name": "desk lamp"}, "take the desk lamp down a bit")
    assert slots == {"name": "Desk Lamp", "brightness_step": -20}
    slots = read(home, "HassSetVolumeRelative", {"name": "telly"}, "the telly is too quiet")
    assert slots == {"name": "TV", "volume_step": "up"}
    assert read(home, "HassSetVolumeRelative", {"name": "telly"}, "the telly is fine") is None


def test_what_the_grammar_understood_stays(home: Snapshot) -> None:
    intent = Intent("home.HassTurnOn", {"name": "Nobody's Lamp"})
    assert read_marks(intent, "", home) is intent


def test_what_is_too_much_is_made_less(home: Snapshot) -> None:
    slots = read(home, "HassLightSet", {"area": "study"}, "it's too bright in the study")
    assert slots == {"area": "Study", "domain": "light", "brightness_step": -20}
    slots = read(home, "HassLightSet", {"area": "study"}, "the light in the study is too dim")
    assert slots == {"area": "Study", "domain": "light", "brightness_step": 20}


def test_what_there_is_is_asked_of_the_whole_home_or_a_room(home: Snapshot) -> None:
    assert read(home, "ListRooms", {}, "do you know my rooms") == {}
    assert read(home, "ListDevices", {}, "what can be switched") == {}
    slots = read(home, "ListDevices", {"area": "den"}, "what lamps are in the den")
    assert slots == {"area": "Study", "domain": "light"}
    assert read(home, "ListDevices", {}, "are there fans and lights") == {}
