"""The weather now and on the next days, when Home Assistant has one."""

from __future__ import annotations

from datetime import date, timedelta

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.weather.report import Reporter
from assistant.state import State

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SAME = {
    "day after tomorrow": "the day after tomorrow",
    **dict.fromkeys(("now", "later", "soon", "morning", "afternoon", "evening"), "today"),
    "tomorrow morning": "tomorrow",
    "tomorrow afternoon": "tomorrow",
    "tomorrow evening": "tomorrow",
    **dict.fromkeys(("the weekend", "weekend", "at the weekend"), "saturday"),
}
_DAYS = {"today": 0, "tonight": 0, "tomorrow": 1, "the day after tomorrow": 2}


class WeatherSkill(Skill):
    name = "weather"
    topics = ("weather", "rain", "forecast")
    examples = ("what is the weather tomorrow", "do I need an umbrella", "will it rain on friday")
    phrases = ("weather", "rain", "umbrella", "forecast", "tomorrow")

    def __init__(self, cfg: Config, state: State) -> None:
        """Nothing of its own is set or kept."""

    @property
    def abilities(self) -> tuple[str, ...]:  # type: ignore[override]
        home = self.home
        has = home is not None and any(e.domain == "weather" for e in home.snapshot().entities)
        return ("tell the weather",) if has else ()

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        report, now = Reporter(self.home), turn.now()
        said = _plain(str(intent.slots.get("day", "today")))
        day = _day(said, now.date())
        if said in _WEEKDAYS:
            said = f"on {said.capitalize()}"
        what = intent.name.removeprefix("weather.")
        place = str(intent.slots.get("place", ""))
        if place and what not in ("now", "temperature"):
            raise SkillError(
                "weather.place", f"I only know the forecast for here, not for {place}."
            )
        if what == "now" or place:
            return Outcome(report.now(place))
        if what == "temperature":
            return Outcome(report.temperature())
        if what == "forecast":
            return Outcome(report.forecast(day, said, now))
        return Outcome(report.rain(day, said, now, umbrella=what == "umbrella"))

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        """ "and tomorrow?"."""
        from assistant.intent.followup import followup

        read = followup(text)
        said = _plain(read.rest)
        if said not in (*_DAYS, *_WEEKDAYS) or (read.kind == "bare" and said == "today"):
            return None
        name = "weather.forecast" if last.name.endswith(("now", "temperature")) else last.name
        return Intent(name, {"day": said})


def _plain(said: str) -> str:
    """The day alone, from words that may be more: "on Friday", "day after tomorrow"."""
    words = said.casefold().strip(" .,!?")
    for lead in ("on ", "for ", "this ", "later "):
        words = words.removeprefix(lead)
    return _SAME.get(words, words)


def _day(said: str, today: date) -> date:
    if said in _WEEKDAYS:
        return today + timedelta(days=(_WEEKDAYS.index(said) - today.weekday()) % 7)
    if said not in _DAYS:
        raise SkillError("weather.day", f"I don't know the weather {said}.")
    return today + timedelta(days=_DAYS[said])
