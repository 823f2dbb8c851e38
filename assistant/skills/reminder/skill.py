"""Reminders by voice: set, list, cancel and move; they ring shortly and say their text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.skills import free_slots, spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.reminder import answers
from assistant.skills.timer import which, wording
from assistant.skills.timer.answers import first_of, with_time_of
from assistant.skills.timer.recurrence import Recurrence
from assistant.skills.timer.scheduler import Scheduler
from assistant.skills.timer.table import REMINDER, Snapshot, Timer
from assistant.state import State

MAX_SECONDS = 5 * 366 * 86_400
MAX_REMINDERS = 100

WHAT, WHEN = "What should I remind you of?", "When should I remind you?"
AT_WHAT_TIME = "At what time?"


class ReminderSkill(Skill):
    name = "reminder"
    abilities = ("remind you of things",)
    topics = ("reminders",)
    examples = (
        "remind me at five to call mum",
        "remind me every friday at eight to take out the bins",
        "what are my reminders",
        "cancel the reminder about the bins",
    )
    phrases = ("remind me to", "reminder", "reminders")

    def __init__(self, cfg: Config, state: State) -> None:
        self.scheduler = Scheduler(state, cfg.skills.timer.ring_max_s)
        self._twenty_four = cfg.skills.clock.twenty_four_hour
        self._last_id = 0
        self._actions: dict[str, Callable[[Intent, TurnContext], Outcome]] = {
            "reminder.set": self._set,
            "reminder.list": self._list,
            "reminder.cancel": self._cancel,
            "reminder.change": self._change,
        }

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        intent = free_slots.read(intent, turn.now(), {"task": "text"})
        return self._actions[intent.name](intent, turn)

    def complete(
        self, expects: str, text: str, known: dict[str, Any], now: datetime
    ) -> Intent | None:
        if expects == "reminder.set":
            return answers.completed(text, known, now)
        slots = which.answer(text, self.scheduler.timers(kind=REMINDER), now)
        if slots is not None and "name" in slots:
            slots["text"] = slots.pop("name")
        return Intent(expects, {**known, **slots}) if slots is not None else None

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        timers = self.scheduler.timers(kind=REMINDER)
        timer = next((t for t in timers if t.id == self._last_id), None)
        return answers.revised(last, text, timer, turn.now())

    def overrides(self, last: Intent, new: Intent) -> bool:
        return "id" in new.slots

    def stop(self, turn: TurnContext) -> Outcome | None:
        stopped = self.scheduler.stop_ringing()
        if not stopped:
            return None
        return Outcome(action=wording.action("stop", stopped, self.name), control="stop")

    def noun(self, last: Intent) -> str:
        return REMINDER

    def notices(self, turn: TurnContext) -> list[str]:
        self.scheduler.mark_missed()
        missed = self.scheduler.take_missed((REMINDER,))
        return [self._missed(timer, turn.now()) for timer in missed]

    def _set(self, intent: Intent, turn: TurnContext) -> Outcome:
        slots, now = intent.slots, turn.now()
        if not slots.get("text"):
            return Outcome(WHAT, question=True, expects=intent.name, known=slots)
        seconds, until = self._when(slots, turn)
        if seconds is None:
            when = AT_WHAT_TIME if {"day", "repeat"} & slots.keys() else WHEN
            return Outcome(when, question=True, expects=intent.name, known=slots)
        if len(self.scheduler.timers(kind=REMINDER)) >= MAX_REMINDERS:
            raise SkillError("reminder.many", f"There are already {MAX_REMINDERS} reminders.")
        repeat = None
        if until is not None and slots.get("repeat"):
            repeat = Recurrence.starting(slots["repeat"], until)
        timer = self.scheduler.add(str(slots["text"]), seconds, until, kind=REMINDER, repeat=repeat)
        timers, whens = [timer], [self._said(timer, until, now)]
        for more in slots.get("also", ()):
            seconds, until = self._when(more, turn)
            assert seconds is not None, f"no time in {more}"
            again = more.get("repeat")
            repeat = Recurrence.starting(again, until) if again and until else None
            timers.append(
                self.scheduler.add(timer.name, seconds, until, kind=REMINDER, repeat=repeat)
            )
            whens.append(self._said(timers[-1], until, now))
        reply = f"I'll remind you {spoken.listing(whens)}: {timer.name}."
        return self._done("set", timers, reply, Snapshot(tuple(t.id for t in timers), ()))

    def _list(self, intent: Intent, turn: TurnContext) -> Outcome:
        now = turn.now()
        parts = self.notices(turn)
        timers = self.scheduler.timers(kind=REMINDER)
        on = ""
        if "day" in intent.slots:
            day = date.fromisoformat(intent.slots["day"])
            timers = [t for t in timers if _comes_on(t, day, now)]
            on = f" {spoken.day(datetime.combine(day, now.time(), now.tzinfo), now)}"
        if text := intent.slots.get("text"):
            timers = which.named(timers, text)
            on = f" about {text}"
        if not timers:
            return Outcome(" ".join([*parts, f"You have no reminders{on}."]))
        count = "1 reminder" if len(timers) == 1 else f"{len(timers)} reminders"
        parts.append(f"You have {count}{on}.")
        for timer in timers:
            when = self._said(timer, timer.ends.astimezone(now.tzinfo), now, brief=True)
            parts.append(f"{wording.capital(when)}: {timer.name}.")
        return Outcome(" ".join(parts))

    def _cancel(self, intent: Intent, turn: TurnContext) -> Outcome:
        ringing = self.scheduler.timers("ringing", REMINDER)
        timers = self._pick(intent, among=ringing if not intent.slots else [])
        if len(timers) > 1 and intent.slots.get("which") != "all":
            return self._ask(intent, timers)
        before = self.scheduler.snapshot(timers)
        cancelled = self.scheduler.remove(timers)
        if len(timers) > 1:
            return self._done("cancel", cancelled, f"{len(timers)} reminders cancelled.", before)
        stop = "stop" if timers[0].status == "ringing" else ""
        reply = f"Reminder cancelled: {timers[0].name}."
        if stop:
            action = wording.action("cancel", cancelled, self.name)
            return Outcome(reply, action, control=stop)
        return self._done("cancel", cancelled, reply, before)

    def _change(self, intent: Intent, turn: TurnContext) -> Outcome:
        """Another moment for one that is set."""
        slots, now = intent.slots, turn.now()
        timers = self._pick(intent)
        if len(timers) > 1:
            return self._ask(intent, timers)
        (timer,) = timers
        new = with_time_of(timer, slots, turn.utterance.rpartition(" to ")[2], now)
        seconds, until = self._when(new, turn)
        if seconds is None:
            known = {**slots, "id": timer.id}
            return Outcome(AT_WHAT_TIME, question=True, expects=intent.name, known=known)
        repeat = None
        if until is not None and new.get("repeat"):
            repeat = Recurrence.starting(new["repeat"], until)
        before = self.scheduler.snapshot([timer])
        changed = self.scheduler.replace(
            timer, name=timer.name, seconds=seconds, until=until, repeat=repeat
        )
        reply = f"I'll remind you {self._said(changed, until, now)}: {timer.name}."
        return self._done("change", [changed], reply, before)

    def _when(
        self, slots: dict[str, Any], turn: TurnContext
    ) -> tuple[float | None, datetime | None]:
        """Length in seconds and, where a time was said, that time. Raises SkillError."""
        now = turn.now()
        seconds, until = slots.get("duration"), None
        if "until" in slots:
            until = datetime.fromisoformat(slots["until"]).astimezone(now.tzinfo)
            if slots.get("repeat"):
                until = first_of(slots["repeat"], until, turn.utterance, now)
            seconds = round((until.astimezone(UTC) - now.astimezone(UTC)).total_seconds())
        if seconds is None:
            return None, None
        if seconds < 1:
            raise SkillError("reminder.past", "That time has already passed.")
        if seconds > MAX_SECONDS:
            raise SkillError("reminder.long", "That is too far away for a reminder.")
        return float(seconds), until

    def _said(
        self, timer: Timer, until: datetime | None, now: datetime, *, brief: bool = False
    ) -> str:
        """ "in 10 minutes", "at 5 PM tomorrow, in 27 hours", "every Friday at 8 AM, next …"."""
        if until is None:
            return f"in {spoken.length(timer.seconds)}"
        clock = spoken.time_of_day(until, self._twenty_four)
        day = spoken.day(until, now)
        if timer.repeat is not None:
            often = timer.repeat.words()
            if timer.repeat.unit in ("second", "minute", "hour"):
                return f"{often}, next at {clock}"
            return f"{often} at {clock}, next {day}"
        at = f"at {clock}" if day == "today" and not brief else f"at {clock} {day}"
        return at if brief else f"{at}, in {spoken.away(until, now)}"

    def _missed(self, timer: Timer, now: datetime) -> str:
        was = wording.at(timer.ends.astimezone(now.tzinfo), now, self._twenty_four)
        return f"You missed a reminder at {was}: {timer.name}."

    def _pick(self, intent: Intent, among: list[Timer] | None = None) -> list[Timer]:
        """The reminders that are meant. Raises SkillError that says what is not known."""
        slots = intent.slots
        timers = among or self.scheduler.timers(kind=REMINDER)
        if not timers:
            raise SkillError("reminder.none", "You have no reminders.")
        if "id" in slots:
            return [t for t in timers if t.id == slots["id"]] or _unknown("it", timers)
        if text := slots.get("text"):
            return which.named(timers, text) or _unknown(text, timers)
        place = slots.get("which")
        if isinstance(place, int):
            if place > len(timers):
                _unknown(f"number {place}", timers)
            return [timers[place - 1]]
        return timers[-1:] if place == "last" else timers

    def _ask(self, intent: Intent, timers: list[Timer]) -> Outcome:
        choice = spoken.listing((timer.name for timer in timers), "or")
        return Outcome(
            f"Which one: {choice}?", question=True, expects=intent.name, known=intent.slots
        )

    def _done(self, do: str, timers: list[Timer], reply: str, before: Snapshot) -> Outcome:
        """An outcome that can be taken back: the rows as they were before."""
        if len(timers) == 1:
            self._last_id = timers[0].id

        def undo() -> Outcome:
            self.scheduler.restore(before)
            what = f"Reminder: {timers[0].name}" if len(timers) == 1 else f"{len(timers)} reminders"
            done = {"set": "cancelled", "cancel": "set again"}.get(do, "as it was")
            separator = ", " if len(timers) == 1 else " "
            action = wording.action("undo", timers, self.name)
            return Outcome(f"{what}{separator}{done}.", action)

        return Outcome(reply, wording.action(do, timers, self.name), undo=undo)


def _comes_on(timer: Timer, day: date, now: datetime) -> bool:
    if timer.ends.astimezone(now.tzinfo).date() == day:
        return True
    return timer.repeat is not None and day > now.date() and timer.repeat.comes_on(day)


def _unknown(said: str, timers: list[Timer]) -> list[Timer]:
    have = spoken.listing(timer.name for timer in timers)
    raise SkillError("reminder.unknown", f"There is no reminder about {said}. I have: {have}.")
