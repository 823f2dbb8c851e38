"""Time, date and day of the week."""

from __future__ import annotations

from datetime import timedelta

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.skills import spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.state import State

_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}


class ClockSkill(Skill):
    name = "clock"
    abilities = ("tell the time and the date",)
    phrases = ("what time is it", "what is the date", "what day is it")

    def __init__(self, cfg: Config, state: State) -> None:
        self._twenty_four = cfg.skills.clock.twenty_four_hour

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        now = turn.now()
        if intent.name == "clock.time":
            return Outcome(f"It's {spoken.time_of_day(now, self._twenty_four)}.")
        if intent.name == "clock.year":
            return Outcome(f"It's {now.year}.")
        day = intent.slots.get("day", "today")
        moment = now + timedelta(days=_DAYS[day])
        verb = "was" if day == "yesterday" else "is"
        what = f"{moment:%A}" if intent.name == "clock.weekday" else spoken.date(moment)
        return Outcome(f"{day.capitalize()} {verb} {what}.")
