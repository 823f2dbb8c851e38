"""Time and date, here and elsewhere, now and on other days; how long until and since."""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.intent.followup import followup
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.slot_types import until
from assistant.intent.time_slots import day as parse_day
from assistant.intent.time_slots import somewhere, zone
from assistant.intent.values.zone import parse_zone
from assistant.skills import free_slots, spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.clock import days
from assistant.skills.clock.places import difference, title, zone_of
from assistant.state import State

_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_AT = re.compile(r"^(?:in|at|on|for|is it|about) (?:the )?")

_PLACE, _DAY = "which place you mean", "which day you mean"
_NEEDED = {
    "clock.convert": (("to", _PLACE),),
    "clock.set_zone": (("place", _PLACE),),
    "clock.difference": (("b", _PLACE),),
    "clock.until": (("date|until", _DAY),),
    "clock.since": (("date", _DAY),),
    "clock.between": (("from", _DAY), ("to", _DAY)),
}
"""Slots without which there is no answer (one of those with a bar between), and what they are.

The grammar always fills them; free phrasing may leave one out."""

_HOW_MANY = re.compile(
    r"how many (?P<period>second|minute|hour|day|week|month|year)s (?:is|are) (?:that|it|there)"
    r"(?: (?:away|from now|until then|to go|left|till then|from today))?"
)
_TILL = re.compile(r"^(?:until|till|til|to) ")
NO_SUN = "Sorry, I don't know when the sun rises or sets here."


class ClockSkill(Skill):
    name = "clock"
    abilities = ("tell the time and the date",)
    topics = ("time", "date", "time zones", "the calendar")
    examples = (
        "what time is it in tokyo",
        "what day is the 24th",
        "how many days until christmas",
        "what is the time difference between london and new york",
    )
    phrases = ("what time is it", "what is the date", "what day is it", "how many days until")

    def __init__(self, cfg: Config, state: State) -> None:
        self._twenty_four = cfg.skills.clock.twenty_four_hour
        parse_zone("utc")  # reads the list of zones, so that the first question need not
        self._answers: dict[str, Callable[[dict[str, Any], datetime], str]] = {
            "clock.time": self._time,
            "clock.convert": self._convert,
            "clock.difference": self._difference,
            "clock.zone": self._zone,
            "clock.set_zone": self._set_zone,
            "clock.date": self._date,
            "clock.weekday": self._weekday,
            "clock.year": _year,
            "clock.week": lambda slots, now: f"It's week {now.isocalendar().week}.",
            "clock.until": self._until,
            "clock.since": self._since,
            "clock.between": self._between,
            "clock.sun": lambda slots, now: NO_SUN,
        }

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        slots = dict(free_slots.read(intent, turn.now(), {"zone": "place", "day": "date"}).slots)
        if intent.name == "clock.between" and intent.source != "grammar":
            said = {end: normalize(str(slots.pop(end, ""))) for end in ("from", "to")}
            ends = {end: parse_day(words, turn.now()) for end, words in said.items()}
            slots |= {end: day for end, day in ends.items() if day}
        for slot, missing in _NEEDED.get(intent.name, ()):
            if slots.keys().isdisjoint(slot.split("|")):
                raise SkillError("clock.missing", f"I didn't catch {missing}.")
        return Outcome(self._answers[intent.name](slots, turn.now()))

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        """ "And in tokyo?", "what about tomorrow?" """
        if asked := _HOW_MANY.fullmatch(strip_courtesy(normalize(text))):
            there = {k: v for k, v in last.slots.items() if k in ("date", "until")}
            return Intent("clock.until", {"period": asked["period"], **there}) if there else None
        follow = followup(text)
        if follow.kind not in ("also", "correct"):
            return None
        words, now = _AT.sub("", follow.rest), turn.now()
        if last.name in ("clock.time", "clock.zone"):
            known = zone(words, now) or (somewhere(words, now) if follow.rest != words else None)
            return Intent(last.name, {"place": known}) if known else None
        if last.name == "clock.difference":
            return Intent(last.name, {**last.slots, "b": words}) if zone(words, now) else None
        if last.name in ("clock.date", "clock.weekday", "clock.until", "clock.since"):
            on = parse_day(words, now)
            kept = {
                k: v for k, v in last.slots.items() if k not in ("day", "date", "until", "weekday")
            }
            if on:
                return Intent(last.name, {**kept, "date": on})
            at = until(_TILL.sub("", words), now) if last.name == "clock.until" else None
            return Intent(last.name, {**kept, **at}) if at and "until" in at else None
        return None

    def _time(self, slots: dict[str, Any], now: datetime) -> str:
        if "place" in slots:
            there = now.astimezone(zone_of(slots["place"]))
            return f"It's {self._there(there, now)} in {title(slots['place'])}."
        if "after" in slots or "before" in slots:
            seconds = slots["after"] if "after" in slots else -slots["before"]
            moment = (now.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(now.tzinfo)
            verb = "will be" if "after" in slots else "was"
            return f"It {verb} {self._there(moment, now)}."
        return f"It's {self._clock(now)}."

    def _convert(self, slots: dict[str, Any], now: datetime) -> str:
        here = now.astimezone(zone_of(slots["from"])) if "from" in slots else now
        start = here
        if "until" in slots:
            wall = datetime.fromisoformat(slots["until"])
            start = datetime.combine(here.date(), wall.time(), here.tzinfo)
        there = start.astimezone(UTC).astimezone(zone_of(slots["to"]))
        shift = (there.date() - start.date()).days
        day = {1: " the next day", -1: " the day before"}.get(shift, "")
        place = f" in {title(slots['from'])}" if "from" in slots else ""
        return (
            f"When it's {self._clock(start)}{place}, "
            f"it's {self._clock(there)}{day} in {title(slots['to'])}."
        )

    def _set_zone(self, slots: dict[str, Any], now: datetime) -> str:
        """The zone belongs to the system; what can be done is to tell the time there."""
        return f"I can't change the time zone of this device. {self._time(slots, now)}"

    def _difference(self, slots: dict[str, Any], now: datetime) -> str:
        first = now.astimezone(zone_of(slots["a"])) if "a" in slots else now
        apart = difference(first, now.astimezone(zone_of(slots["b"])))
        other, here = title(slots["b"]), title(slots["a"]) if "a" in slots else "here"
        if not apart:
            return f"It's the same time in {other} and {'in ' if 'a' in slots else ''}{here}."
        return f"{other[:1].upper()}{other[1:]} is {apart} {here}."

    def _zone(self, slots: dict[str, Any], now: datetime) -> str:
        there = now.astimezone(zone_of(slots["place"])) if "place" in slots else now
        apart = difference(now.astimezone(UTC), there).replace("ahead of", "ahead of UTC")
        offset = apart.replace("behind", "behind UTC") or "the same as UTC"
        where = title(slots["place"]) if "place" in slots else "The time here"
        where = f"{where[:1].upper()}{where[1:]}"
        return (
            f"{where} is {offset}; it's {self._there(there, now)} there now."
            if ("place" in slots)
            else f"{where} is {offset}."
        )

    def _date(self, slots: dict[str, Any], now: datetime) -> str:
        day, verb = _asked(slots, now)
        if "date" not in slots:
            name = slots.get("day", "today").capitalize()
            return f"{name} {verb} {spoken.date(_noon(day))}."
        said = spoken.date(_noon(day), year=day.year != now.year)
        away = days.distance(min(now.date(), day), max(now.date(), day))
        if day == now.date():
            return f"That's today, {said}."
        return f"That {verb} {said}, {f'in {away}' if day > now.date() else f'{away} ago'}."

    def _weekday(self, slots: dict[str, Any], now: datetime) -> str:
        day, verb = _asked(slots, now)
        sure = f"{day:%A}".casefold() == slots.get("weekday")
        answer = ("Yes, " if sure else "No, ") if "weekday" in slots else ""
        if "date" not in slots:
            name = slots.get("day", "today")
            return f"{answer}{name if answer else name.capitalize()} {verb} {day:%A}."
        said = f"{day:%B} {spoken.ordinal(day.day)}"
        if day.year != now.year:
            said = f"{said}, {day.year},"
        return f"{answer}{said} {verb} a {day:%A}."

    def _until(self, slots: dict[str, Any], now: datetime) -> str:
        unit = slots.get("period", "")
        if "date" not in slots:
            moment = datetime.fromisoformat(slots["until"]).astimezone(now.tzinfo)
            # the next midnight needs no day, and "midnight tomorrow" would be the one after
            soon = moment.time() == time() and (
                moment.astimezone(UTC) - now.astimezone(UTC)
            ) <= timedelta(days=1)
            at = self._clock(moment) if soon else self._at(moment, now)
            return f"{days.remaining(now, moment, unit)} until {at}."
        day = date.fromisoformat(slots["date"])
        if day == now.date():
            return f"That's today, {spoken.date(_noon(day))}."
        if day < now.date():
            return f"That was {days.distance(day, now.date(), unit)} ago."
        if unit in ("hour", "minute", "second") or ((day - now.date()).days == 1 and not unit):
            midnight = datetime.combine(day, time(), now.tzinfo)
            return f"{days.remaining(now, midnight, unit)} until {spoken.date(midnight)}."
        said = spoken.date(_noon(day), year=day.year != now.year)
        verb = "is" if (away := days.distance(now.date(), day, unit)).startswith("1 ") else "are"
        return f"There {verb} {away} until {said}."

    def _since(self, slots: dict[str, Any], now: datetime) -> str:
        day = days.past(date.fromisoformat(slots["date"]), now.date())
        said = spoken.date(_noon(day), year=day.year != now.year)
        return f"{said} was {days.distance(day, now.date(), slots.get('unit', ''))} ago."

    def _between(self, slots: dict[str, Any], now: datetime) -> str:
        first, second = date.fromisoformat(slots["from"]), date.fromisoformat(slots["to"])
        if first > second:
            # "from the 3rd of march to the 20th of may", of which the first is over this year
            before = days.past(first, second)
            first = before if (second - before).days < 366 else first
        first, second = sorted((first, second))
        ends = [spoken.date(_noon(day), year=day.year != now.year) for day in (first, second)]
        return f"{days.distance(first, second, slots.get('unit', ''))} from {ends[0]} to {ends[1]}."

    def _clock(self, moment: datetime) -> str:
        return spoken.time_of_day(moment, self._twenty_four)

    def _there(self, moment: datetime, now: datetime) -> str:
        """The time of day, with the day where it is not today here."""
        if moment.date() == now.date():
            return self._clock(moment)
        return f"{self._clock(moment)} {spoken.day(moment, now)}"

    def _at(self, moment: datetime, now: datetime) -> str:
        return self._there(moment, now)


def _year(slots: dict[str, Any], now: datetime) -> str:
    if not slots.get("leap"):
        return f"It's {now.year}."
    if isleap(now.year):
        return f"Yes, {now.year} is a leap year."
    coming = next(year for year in range(now.year, now.year + 9) if isleap(year))
    return f"No, {now.year} is not a leap year. The next one is {coming}."


def _asked(slots: dict[str, Any], now: datetime) -> tuple[date, str]:
    """The day and the verb that goes with it."""
    if "date" in slots:
        day = date.fromisoformat(slots["date"])
        return day, "is" if day >= now.date() else "was"
    name = slots.get("day", "today")
    return now.date() + timedelta(_DAYS[name]), "was" if name == "yesterday" else "is"


def _noon(day: date) -> datetime:
    """A moment of that day, to be spoken."""
    return datetime.combine(day, time(12), UTC)
