"""The weather in sentences, from a weather entity of Home Assistant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from assistant.errors import SkillError
from assistant.home.base import Entity, Home
from assistant.intent.sound_alike import best_match
from assistant.skills.home.act import GONE
from assistant.skills.home.words import number

NONE = "Sorry, I can't tell the weather: no weather service is connected."
LIKELY, POSSIBLE = 50.0, 25.0
"""Per cent of probability from which rain is expected, and from which it is said."""

_CONDITIONS = {
    "clear-night": "clear",
    "cloudy": "cloudy",
    "exceptional": "unusual",
    "fog": "foggy",
    "hail": "hailing",
    "lightning": "stormy",
    "lightning-rainy": "stormy with rain",
    "partlycloudy": "partly cloudy",
    "pouring": "pouring",
    "rainy": "rainy",
    "snowy": "snowy",
    "snowy-rainy": "sleety",
    "sunny": "sunny",
    "windy": "windy",
    "windy-variant": "windy and cloudy",
    "clear": "clear",
}
_WET = frozenset(["hail", "lightning-rainy", "pouring", "rainy", "snowy-rainy"])
_SNOW = frozenset(["snowy", "snowy-rainy"])


class Reporter:
    """Each method raises SkillError when nothing can be told."""

    def __init__(self, home: Home | None) -> None:
        self._home = home

    def now(self, name: str = "") -> str:
        """name: of a place that has a weather of its own, "" for the one at home."""
        entity = self._entity(name)
        where = f" in {entity.name}" if name else ""
        condition = _CONDITIONS.get(entity.state, entity.state.replace("_", " "))
        warm = _number(entity.attributes.get("temperature"))
        if warm is None:
            return f"It's {condition}{where}."
        return f"It's {condition} and {_degrees(warm)}{where}."

    def temperature(self) -> str:
        """How warm it is outside."""
        warm = _number(self._entity("").attributes.get("temperature"))
        if warm is None:
            raise SkillError("weather.unknown", "I don't know how warm it is outside.")
        return f"It's {_degrees(warm)} outside."

    def forecast(self, day: date, said: str, now: datetime) -> str:
        """said: the day as the user calls it, such as "tomorrow"."""
        row = self._row(day, said, now)
        condition = _CONDITIONS.get(str(row.get("condition")), "")
        high, low = _number(row.get("temperature")), _number(row.get("templow"))
        parts = [condition] if condition else []
        if high is not None and low is not None:
            parts.append(f"{number(round(low))} to {_degrees(high)}")
        elif high is not None:
            parts.append(f"up to {_degrees(high)}")
        chance = _number(row.get("precipitation_probability"))
        if chance is not None and chance >= POSSIBLE:
            parts.append(f"with {_a(round(chance))} percent chance of {_what_falls(row)}")
        if not parts:
            raise SkillError("weather.unknown", f"I have no forecast for {said}.")
        return f"{said[:1].upper()}{said[1:]}: {', '.join(parts)}."

    def rain(self, day: date, said: str, now: datetime, *, umbrella: bool = False) -> str:
        """Whether it will rain on that day; umbrella: whether one is needed."""
        row = self._row(day, said, now)
        chance = _number(row.get("precipitation_probability"))
        amount = _number(row.get("precipitation")) or 0.0
        wet = str(row.get("condition")) in _WET | _SNOW or amount >= 0.5
        falls = _what_falls(row)
        if chance is None:
            expected, told = wet, ""
        else:
            expected = chance >= LIKELY or (wet and chance >= POSSIBLE)
            told = f", with a chance of {round(chance)} percent"
        take = "take an umbrella" if umbrella else ""
        if expected:
            start = f"Yes, {take}: " if take else "Yes, "
            return f"{start}{falls} is expected {said}{told}."
        if chance is not None and chance >= POSSIBLE:
            return f"Perhaps: there is a chance of {falls} of {round(chance)} percent {said}."
        return f"No, no {falls} is expected {said}."

    def _row(self, day: date, said: str, now: datetime) -> Mapping[str, Any]:
        entity = self._entity("")
        for kind in ("daily", "twice_daily"):
            for row in self._rows(entity, kind):
                moment = _moment(row.get("datetime"), now)
                if moment is not None and moment.date() == day:
                    return row
        told = said.removeprefix("on ")
        raise SkillError("weather.no_forecast", f"I have no forecast for {told}.")

    def _rows(self, entity: Entity, kind: str) -> list[Mapping[str, Any]]:
        assert self._home is not None
        try:
            answer = self._home.ask("weather", "get_forecasts", [entity.id], {"type": kind})
        except SkillError as error:
            if error.code in ("home.refused", "home.no_answer"):
                return []  # this weather has no such forecast
            raise
        told = answer.get(entity.id)
        rows = told.get("forecast") if isinstance(told, Mapping) else None
        return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []

    def _entity(self, name: str) -> Entity:
        """The weather of a place; without a name that of the home."""
        if self._home is None:
            raise SkillError("weather.none", NONE)
        known = [e for e in self._home.snapshot().entities if e.domain == "weather"]
        if not known:
            trouble = self._home.trouble()
            raise SkillError("weather.none", trouble or NONE)
        found = next((e for e in known if "home" in f"{e.id} {e.name}".casefold()), known[0])
        if name:
            near = best_match(name, [entity.name for entity in known])
            if near is None:
                raise SkillError("weather.place", f"I have no weather for {name}.")
            found = next(entity for entity in known if entity.name == near)
        if found.state in (*GONE, "unknown"):
            raise SkillError("weather.gone", "The weather is not available right now.")
        return found


def _moment(value: Any, now: datetime) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment.astimezone(now.tzinfo) if moment.tzinfo is not None else moment


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _degrees(value: float) -> str:
    rounded = round(value)
    return f"{rounded} degree{'' if abs(rounded) == 1 else 's'}"


def _a(count: int) -> str:
    """ "an 80", "a 30"."""
    return f"an {count}" if count in (8, 11, 18) or 80 <= count < 90 else f"a {count}"


def _what_falls(row: Mapping[str, Any]) -> str:
    return "snow" if str(row.get("condition")) in _SNOW else "rain"
