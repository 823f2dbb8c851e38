"""The weather, from the forecast of a home behind a real connection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.intent.base import Intent
from tests.assistant.skills.house import House, furnish, living_in
from tests.home_server import HomeServer

DAILY = [
    {"datetime": "2026-03-10T12:00:00+00:00", "condition": "rainy", "temperature": 9.6,
     "templow": 4.2, "precipitation": 5, "precipitation_probability": 80},
    {"datetime": "2026-03-11T12:00:00+00:00", "condition": "windy", "temperature": 12,
     "templow": 0, "precipitation": 0, "precipitation_probability": 30},
    {"datetime": "2026-03-12T12:00:00+00:00", "condition": "sunny", "temperature": 15,
     "templow": 5, "precipitation": 0, "precipitation_probability": 0},
    {"datetime": "2026-03-13T12:00:00+00:00", "condition": "snowy", "temperature": 1,
     "precipitation": 3},
    "nonsense", {"datetime": "never"},
]  # fmt: skip


def furnished(server: HomeServer) -> None:
    furnish(server)
    server.answers["weather.get_forecasts"] = {"weather.home": {"forecast": DAILY}}


def calls(house: House) -> list[str]:
    return [name for name, _, _ in house.calls if name != "weather.get_forecasts"]


ANSWERS = """
what's the weather like|It's rainy and 8 degrees.
how cold is it outside|It's 8 degrees outside.
what's the forecast|Today: rainy, 4 to 10 degrees, with an 80 percent chance of rain.
what's the weather tomorrow|Tomorrow: windy, 0 to 12 degrees, with a 30 percent chance of rain.
what is the forecast for thursday|On Thursday: sunny, 5 to 15 degrees.
will it rain|Yes, rain is expected today, with a chance of 80 percent.
will it rain tomorrow|Perhaps: there is a chance of rain of 30 percent tomorrow.
is it going to rain on thursday|No, no rain is expected on Thursday.
will it snow on friday|Yes, snow is expected on Friday.
do i need an umbrella|Yes, take an umbrella: rain is expected today, with a chance of 80 percent.
do i need an umbrella on thursday|No, no rain is expected on Thursday.
what's the weather on sunday|I have no forecast for Sunday.
"""


def test_answers(tmp_path: Path) -> None:
    with living_in(tmp_path, furnished=furnished) as house:
        for line in ANSWERS.strip().splitlines():
            text, answer = line.split("|")
            assert (text, house.reply(text)) == (text, answer)
        assert calls(house) == []
        house.say("do i need an umbrella")
        assert house.revised("and tomorrow?").reply.startswith("Perhaps")
        house.say("what's the weather like")
        assert house.revised("what about thursday").reply.startswith("On Thursday: sunny")
        assert house.follows("the milk is sour") is None


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("on Thursday", "No, no rain is expected on Thursday."),
        ("later today", "Yes, rain is expected today, with a chance of 80 percent."),
        ("day after tomorrow", "No, no rain is expected the day after tomorrow."),
        ("in July", "I don't know the weather in july."),
    ],
)
def test_days_in_free_words(tmp_path: Path, said: str, answer: str) -> None:
    with living_in(tmp_path, furnished=furnished) as house:
        assert house.handle(Intent("weather.rain", {"day": said}, 0.9, "heads")).reply == answer


def test_a_place_by_name(tmp_path: Path) -> None:
    def two(server: HomeServer) -> None:
        furnished(server)
        server.entity("weather.oslo", "Oslo", "snowy", temperature=-1)

    with living_in(tmp_path, furnished=two) as house:
        said = Intent("home.HassGetWeather", {"name": "Oslo"})
        assert house.handle(said).reply == "It's snowy and -1 degree in Oslo."
        said = Intent("home.HassGetWeather", {"name": "Atlantis"})
        assert house.handle(said).reply == "I have no weather for Atlantis."


def test_the_weather_elsewhere_is_not_that_at_home(tmp_path: Path) -> None:
    with living_in(tmp_path, furnished=furnished) as house:
        for name in ("now", "temperature"):
            said = Intent(f"weather.{name}", {"place": "Rome"}, 0.9, "heads")
            assert house.handle(said).reply == "I have no weather for Rome."
        said = Intent("weather.rain", {"place": "Rome", "day": "tomorrow"}, 0.9, "heads")
        assert house.handle(said).reply == "I only know the forecast for here, not for Rome."


@pytest.mark.parametrize("answer", [None, {}, {"weather.home": None}, {"weather.home": {}}])
def test_without_a_forecast(tmp_path: Path, answer: dict[str, Any] | None) -> None:
    with living_in(tmp_path) as house:
        if answer is not None:
            house.server.answers["weather.get_forecasts"] = answer
        outcome = house.say("will it rain tomorrow")
        assert (outcome.ok, outcome.reply) == (False, "I have no forecast for tomorrow.")


def test_without_any_weather(tmp_path: Path) -> None:
    def bare(server: HomeServer) -> None:
        server.entity("light.one", "One")

    with living_in(tmp_path, "", bare) as house:
        outcome = house.say("what's the weather like")
        assert not outcome.ok
        assert outcome.reply == "Sorry, I can't tell the weather: no weather service is connected."
        for skill in house.registry.skills:
            skill.home = None
        assert "no weather" in house.reply("do i need an umbrella")
        assert "tell the weather" not in house.registry.abilities


def test_weather_that_cannot_be_reached(tmp_path: Path) -> None:
    with living_in(tmp_path, furnished=furnished) as house:
        house.server.set_state("weather.home", "unavailable")
        house.settle("weather.home", "unavailable")
        assert house.reply("what's the weather like") == "The weather is not available right now."
