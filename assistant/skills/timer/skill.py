"""Timers by voice: set, ask, list, cancel, make longer or shorter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.slot_types import end, until
from assistant.skills import spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.timer import which
from assistant.skills.timer.scheduler import Scheduler, Timer
from assistant.state import State

MAX_SECONDS = 30 * 86_400
MAX_TIMERS = 100

_LEAD_INS = ("make it ", "make that ", "let us say ", "about ", "for ", "until ", "at ")
_READ_OUT = "You have"
"""How the reply that lists several begins."""
_UNITS = ("seconds", "minutes", "hours")


class TimerSkill(Skill):
    name = "timer"
    abilities = ("set, list and cancel timers and alarms",)
    phrases = ("timer", "set a timer for", "minutes", "hours", "seconds", "half an hour")

    def __init__(self, cfg: Config, state: State) -> None:
        self.scheduler = Scheduler(state, cfg.skills.timer.ring_max_s)
        self._twenty_four = cfg.skills.clock.twenty_four_hour
        self._actions: dict[str, Callable[[Intent, TurnContext], Outcome]] = {
            "timer.set": self._set,
            "timer.left": self._left,
            "timer.list": self._list,
            "timer.cancel": self._cancel,
            "timer.add": self._change,
            "timer.reduce": self._change,
        }

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        return self._actions[intent.name](intent, turn)

    def complete(
        self, expects: str, text: str, known: dict[str, Any], now: datetime
    ) -> Intent | None:
        if expects != "timer.set":
            slots = which.answer(text, self._all(known.get("kind", "timer")), now)
            return Intent(expects, {**known, **slots}) if slots is not None else None
        words = strip_courtesy(normalize(text))
        for lead_in in _LEAD_INS:
            words = words.removeprefix(lead_in)
        known = dict(known)
        number = known.pop("number", None)
        if number is not None and words in _UNITS:
            words = f"{number} {words}"
        found = until(words, now) if known.get("kind") == "alarm" else end(words, now)
        if found is None:
            return None
        return Intent(expects, {**known, **found}, asks="number" in found)

    def stop(self, turn: TurnContext) -> Outcome | None:
        stopped = self.scheduler.stop_ringing()
        if not stopped:
            return None
        return Outcome(action=_action("stop", stopped), control="stop")

    def notices(self, turn: TurnContext) -> list[str]:
        self.scheduler.mark_missed()
        return [self._missed(timer, turn.now()) for timer in self.scheduler.take_missed()]

    def vocabulary(self) -> list[str]:
        return [*(timer.name for timer in self._all() if timer.name), *self.phrases]

    def _set(self, intent: Intent, turn: TurnContext) -> Outcome:
        slots = intent.slots
        name, until = str(slots.get("name", "")), None
        kind = str(slots.get("kind", "timer"))
        seconds = slots.get("duration")
        if "until" in slots:
            until = datetime.fromisoformat(slots["until"])
            seconds = round((until - turn.now()).total_seconds())
            if seconds <= 0:
                raise SkillError("timer.past", "That time has already passed.")
        if seconds is None:
            question = "For what time?" if kind == "alarm" else "For how long?"
            if number := slots.get("number"):
                question = f"{number} {spoken.listing(_UNITS, 'or')}?"
            return Outcome(question, question=True, expects=intent.name, known=slots)
        if seconds < 1:
            raise SkillError("timer.short", "A timer needs at least one second.")
        if seconds > MAX_SECONDS:
            raise SkillError("timer.long", "I can set timers for up to 30 days.")
        if len(self._all()) >= MAX_TIMERS:
            raise SkillError("timer.many", f"There are already {MAX_TIMERS} timers.")
        what = f"{name} {kind}".strip()
        length = spoken.length(seconds)
        if until is not None:
            until = until.astimezone(turn.now().tzinfo)
            length = f"{self._at(until, turn.now())}, in {spoken.about(seconds)}"
            # nobody said its length, so it goes by its time
            name = name or spoken.time_of_day(until, self._twenty_four)
        if kind == "alarm":
            name = (name or spoken.length(seconds)) + which.ALARM
        timer = self.scheduler.add(name, seconds, until)
        return Outcome(f"{what[:1].upper()}{what[1:]} set for {length}.", _action("set", [timer]))

    def _left(self, intent: Intent, turn: TurnContext) -> Outcome:
        timers = which.pick(self._counted("timer", turn), intent.slots)
        return Outcome(" ".join(self._status(t, turn.now()) for t in timers))

    def _list(self, intent: Intent, turn: TurnContext) -> Outcome:
        missed = self.notices(turn)
        kind = intent.slots.get("kind", "timer")
        timers = self._all(kind)
        if not timers:
            return Outcome(" ".join([*missed, f"No {kind}s are set."]))
        if len(timers) > 1:
            missed.append(f"{_READ_OUT} {len(timers)} {kind}s.")
        return Outcome(" ".join([*missed, *(self._status(t, turn.now()) for t in timers)]))

    def _cancel(self, intent: Intent, turn: TurnContext) -> Outcome:
        slots = intent.slots
        kind = slots.get("kind", "timer")
        # what rings is meant, whatever it is called
        bare = not set(slots) - {"kind"}
        ringing_now = self.scheduler.timers("ringing") if bare else []
        timers = which.pick(ringing_now or self._counted(kind, turn), slots)
        ringing = all(t.status == "ringing" for t in timers)
        if len(timers) > 1 and slots.get("which") != "all" and not ringing:
            return self._ask(intent, timers)
        cancelled = self.scheduler.remove(timers)
        stop = "stop" if any(t.status == "ringing" for t in cancelled) else ""
        what = which.title(timers[0]) if len(timers) == 1 else f"{len(timers)} {kind}s"
        reply = f"{what[:1].upper()}{what[1:]} {'stopped' if ringing else 'cancelled'}."
        return Outcome(reply, _action("cancel", cancelled), control=stop)

    def _change(self, intent: Intent, turn: TurnContext) -> Outcome:
        adds = intent.name == "timer.add"
        amount = intent.slots["amount"]
        timers = [t for t in self._counted("timer", turn) if t.status == "pending"]
        timers = which.pick(timers, intent.slots)
        if len(timers) > 1:
            return self._ask(intent, timers)
        (timer,) = timers
        if not adds and timer.left - amount < 1:
            left = spoken.about(timer.left)
            raise SkillError("timer.short", f"The {which.title(timer)} has only {left} left.")
        if adds and timer.left + amount > MAX_SECONDS:
            raise SkillError("timer.long", "I can set timers for up to 30 days.")
        changed = self.scheduler.change(timer, amount if adds else -amount)
        verb = "added to" if adds else "taken off"
        reply = f"{spoken.length(amount)} {verb} {which.describe(changed)}."
        action = {**_action("add" if adds else "reduce", [changed]), "amount": amount}
        return Outcome(f"{reply} {spoken.about(changed.left)} left.", action)

    def _ask(self, intent: Intent, timers: list[Timer]) -> Outcome:
        asked = {timer.id for timer in timers}
        timers = [t for t in self._all() if t.id in asked]  # as the answer counts them
        choice = spoken.listing((which.describe(t, timers) for t in timers), "or")
        return Outcome(
            f"Which one: {choice}?", question=True, expects=intent.name, known=intent.slots
        )

    def _all(self, kind: str = "") -> list[Timer]:
        """Those that ring and those that run, in the order in which they end.

        kind: "timer" or "alarm"; "" for both.
        """
        timers = [*self.scheduler.timers("ringing"), *self.scheduler.timers()]
        return [t for t in timers if not kind or which.is_alarm(t) == (kind == "alarm")]

    def _counted(self, kind: str, turn: TurnContext) -> list[Timer]:
        """In the order in which "the second timer" counts: as just read out, else as set."""
        timers = self._all(kind)
        return timers if _READ_OUT in turn.last_reply else sorted(timers, key=lambda t: t.id)

    def _status(self, timer: Timer, now: datetime) -> str:
        title = which.title(timer)
        if timer.status == "ringing" or timer.left <= 0:
            return f"The {title} is up."
        if which.is_alarm(timer):
            day = spoken.day(timer.ends.astimezone(now.tzinfo), now)
            return f"The {title} rings {day}, in {spoken.about(timer.left)}."
        return f"The {title} has {spoken.about(timer.left)} left."

    def _missed(self, timer: Timer, now: datetime) -> str:
        ended = self._at(timer.ends.astimezone(now.tzinfo), now)
        return f"You missed the {which.title(timer)}: it ended at {ended}."

    def _at(self, moment: datetime, now: datetime) -> str:
        clock = spoken.time_of_day(moment, self._twenty_four)
        return clock if moment.date() == now.date() else f"{clock} {spoken.day(moment, now)}"


def _action(do: str, timers: list[Timer]) -> dict[str, Any]:
    """One timer's fields stand in the action itself, several in a list."""
    fields = [
        {
            "id": timer.id,
            "name": timer.name,
            "seconds": int(timer.seconds) if timer.seconds == int(timer.seconds) else timer.seconds,
            "due": timer.ends.isoformat(timespec="seconds"),
        }
        for timer in timers
    ]
    head: dict[str, Any] = {"skill": "timer", "do": do}
    return {**head, **fields[0]} if len(fields) == 1 else {**head, "timers": fields}
