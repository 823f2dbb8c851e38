"""Timers and alarms by voice: set, ask, list, cancel, change, pause, snooze, skip."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.skills import free_slots, spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.timer import answers, moments, which, wording
from assistant.skills.timer.moments import MAX_SECONDS
from assistant.skills.timer.recurrence import Recurrence
from assistant.skills.timer.scheduler import Scheduler
from assistant.skills.timer.table import ALARM, TIMER, Snapshot, Timer
from assistant.state import State

MAX_TIMERS = 100

_OF_ALARMS = re.compile(
    r"\b(?:alarms?|wake|woken|waking|wake-up|out of bed|get (?:me|us) up|get up|oversleep|up by)\b",
    re.IGNORECASE,
)
"""Free phrasing is about an alarm, not a timer, where these words are."""

_READ_OUT = "You have"
"""How the reply that lists several begins."""


class TimerSkill(Skill):
    name = "timer"
    abilities = ("set timers and alarms",)
    topics = ("timers", "alarms")
    examples = (
        "set a pasta timer for ten minutes",
        "how much time is left",
        "pause the pasta timer",
        "wake me at seven on weekdays",
        "skip tomorrow's alarm",
    )
    phrases = ("timer", "set a timer for", "minutes", "hours", "seconds", "half an hour", "snooze")

    def __init__(self, cfg: Config, state: State) -> None:
        self.scheduler = Scheduler(state, cfg.skills.timer.ring_max_s)
        self._snooze_seconds = cfg.skills.timer.snooze_min * 60
        self._twenty_four = cfg.skills.clock.twenty_four_hour
        self._last_id = 0
        """The timer that was dealt with last, which "make it twenty" means."""
        self._actions: dict[str, Callable[[Intent, TurnContext], Outcome]] = {
            "timer.set": self._set,
            "timer.left": self._left,
            "timer.when": self._when,
            "timer.list": self._list,
            "timer.cancel": self._cancel,
            "timer.add": self._lengthen,
            "timer.reduce": self._lengthen,
            "timer.change": self._change,
            "timer.rename": self._rename,
            "timer.pause": self._pause,
            "timer.resume": self._pause,
            "timer.snooze": self._snooze,
            "timer.skip": self._skip,
        }

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        intent = free_slots.read(intent, turn.now(), {"label": "name"})
        if intent.source != "grammar" and _OF_ALARMS.search(turn.utterance):
            intent = replace(intent, slots={"kind": ALARM, **intent.slots})
        if intent.name in ("timer.add", "timer.reduce") and "amount" not in intent.slots:
            slots = {k: v for k, v in intent.slots.items() if k != "duration"}
            if "duration" not in intent.slots:
                raise SkillError("timer.amount", "I didn't catch how much time.")
            intent = replace(intent, slots={**slots, "amount": intent.slots["duration"]})
        return self._actions[intent.name](intent, turn)

    def complete(
        self, expects: str, text: str, known: dict[str, Any], now: datetime
    ) -> Intent | None:
        if expects not in ("timer.set", "timer.change"):
            slots = which.answer(text, self._all(known.get("kind", TIMER)), now)
            return Intent(expects, {**known, **slots}) if slots is not None else None
        if expects == "timer.change" and "to" in known:
            slots = which.answer(text, self._all(known.get("kind", TIMER)), now)
            return Intent(expects, {**known, **slots}) if slots is not None else None
        return answers.how_long(expects, text, known, now)

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        timer = next((t for t in self._all() if t.id == self._last_id), None)
        return answers.revised(last, text, timer, self._all(), turn.now())

    def overrides(self, last: Intent, new: Intent) -> bool:
        return "id" in new.slots

    def stop(self, turn: TurnContext) -> Outcome | None:
        stopped = self.scheduler.stop_ringing()
        if not stopped:
            return None
        return Outcome(action=wording.action("stop", stopped), control="stop")

    def notices(self, turn: TurnContext) -> list[str]:
        self.scheduler.mark_missed()
        missed = self.scheduler.take_missed((TIMER, ALARM))
        return [wording.missed(timer, turn.now(), self._twenty_four) for timer in missed]

    def nouns(self) -> dict[str, str]:
        return {t.name: t.kind for t in self._all() if t.name and not t.name[0].isdigit()}

    def noun(self, last: Intent) -> str:
        return str(last.slots.get("kind", TIMER))

    def vocabulary(self) -> list[str]:
        return [*(timer.name for timer in self._all() if timer.name), *self.phrases]

    def _set(self, intent: Intent, turn: TurnContext) -> Outcome:
        slots, now = intent.slots, turn.now()
        kind = str(slots.get("kind", TIMER))
        seconds, until = moments.length(slots, turn.utterance, now)
        if seconds is None:
            return self._ask_when(intent)
        if len(self._all()) >= MAX_TIMERS:
            raise SkillError("timer.many", f"There are already {MAX_TIMERS} timers.")
        timer = self._add(slots, seconds, until)
        if slots.get("also"):
            return self._add_more(timer, slots, turn)
        what = wording.capital(f"{slots.get('name', '')} {kind}".strip())
        reply = f"{what} set for {moments.words(timer, until, now, self._twenty_four)}."
        return self._done("set", [timer], reply, Snapshot((timer.id,), ()))

    def _add(self, slots: dict[str, Any], seconds: float, until: datetime | None) -> Timer:
        kind, said = str(slots.get("kind", TIMER)), str(slots.get("name", ""))
        repeat = None
        if until is not None and slots.get("repeat"):
            repeat = Recurrence.starting(slots["repeat"], until)
        wall = until and moments.on_the_wall(until, repeat)
        name = moments.name(kind, said, seconds, wall, self._twenty_four)
        return self.scheduler.add(name, seconds, until, kind=kind, repeat=repeat)

    def _add_more(self, first: Timer, slots: dict[str, Any], turn: TurnContext) -> Outcome:
        """The others of "one for two and one for three" and of "5 and 10 minutes"."""
        timers, now = [first], turn.now()
        for more in slots["also"]:
            seconds, until = moments.length({**more, "kind": first.kind}, turn.utterance, now)
            assert seconds is not None, f"no time in {more}"
            timers.append(self._add({**more, "kind": first.kind}, seconds, until))
        times = (moments.told(t, now, self._twenty_four) for t in timers)
        reply = f"{len(timers)} {first.kind}s set: {spoken.listing(times)}."
        return self._done("set", timers, reply, Snapshot(tuple(t.id for t in timers), ()))

    def _ask_when(self, intent: Intent) -> Outcome:
        question = moments.question(intent.slots)
        return Outcome(question, question=True, expects=intent.name, known=intent.slots)

    def _left(self, intent: Intent, turn: TurnContext) -> Outcome:
        timers = which.pick(self._counted(TIMER, turn), intent.slots)
        self._last_id = timers[0].id if len(timers) == 1 else 0
        return Outcome(" ".join(self._status(t, turn) for t in timers))

    def _when(self, intent: Intent, turn: TurnContext) -> Outcome:
        """The time of day at which it ends."""
        (timer,) = which.pick(self._all(), intent.slots)
        now = turn.now()
        self._last_id = timer.id
        at = wording.at(timer.ends.astimezone(now.tzinfo), now, self._twenty_four)
        ends = "rings" if timer.kind == ALARM else "ends"
        return Outcome(f"{wording.capital(which.describe(timer))} {ends} at {at}.")

    def _list(self, intent: Intent, turn: TurnContext) -> Outcome:
        missed = self.notices(turn)
        kind = intent.slots.get("kind", TIMER)
        timers, on = self._all(kind), ""
        if "day" in intent.slots:
            timers = moments.of_day(timers, intent.slots["day"], turn.now())
            on = f" for {moments.day_name(intent.slots['day'], turn.now())}"
        if name := intent.slots.get("name"):
            timers = which.pick(timers, {"kind": kind, "name": name})
        if not timers:
            return Outcome(" ".join([*missed, f"No {kind}s are set{on}."]))
        self._last_id = timers[0].id if len(timers) == 1 else 0
        if len(timers) > 1:
            missed.append(f"{_READ_OUT} {len(timers)} {kind}s.")
        return Outcome(" ".join([*missed, *(self._status(t, turn) for t in timers)]))

    def _cancel(self, intent: Intent, turn: TurnContext) -> Outcome:
        slots = intent.slots
        kind = slots.get("kind", TIMER)
        # what rings is meant, whatever it is called
        bare = not set(slots) - {"kind"}
        ringing_now = self.scheduler.timers("ringing") if bare else []
        counted = ringing_now or self._counted(kind, turn)
        if "day" in slots and counted:
            counted = moments.of_day(counted, slots["day"], turn.now())
            if not counted:
                on = moments.day_name(slots["day"], turn.now())
                raise SkillError("timer.none", f"No {kind}s are set for {on}.")
        timers = which.pick(counted, slots)
        ringing = all(t.status == "ringing" for t in timers)
        if len(timers) > 1 and slots.get("which") not in ("all", "both") and not ringing:
            return self._ask(intent, timers)
        before = self.scheduler.snapshot(timers)
        cancelled = self.scheduler.remove(timers)
        what = which.title(timers[0]) if len(timers) == 1 else f"{len(timers)} {kind}s"
        reply = f"{wording.capital(what)} {'stopped' if ringing else 'cancelled'}."
        if any(t.status == "ringing" for t in cancelled):
            return Outcome(reply, wording.action("cancel", cancelled), control="stop")
        return self._done("cancel", cancelled, reply, before)

    def _lengthen(self, intent: Intent, turn: TurnContext) -> Outcome:
        adds = intent.name == "timer.add"
        amount = intent.slots["amount"]
        if adds and not set(intent.slots) - {"amount"} and self.scheduler.timers("ringing"):
            # "five more minutes" while it rings
            return self._snooze(Intent("timer.snooze", {"duration": amount}), turn)
        timers = self._pending(intent, turn)
        if len(timers) > 1:
            return self._ask(intent, timers)
        (timer,) = timers
        if not adds and timer.left - amount < 1:
            left = spoken.about(timer.left)
            raise SkillError("timer.short", f"The {which.title(timer)} has only {left} left.")
        if adds and timer.left + amount > MAX_SECONDS:
            raise SkillError("timer.long", "I can set timers for up to 30 days.")
        if timer.kind == ALARM:
            by = amount if adds else -amount
            until = (timer.ends.astimezone(UTC) + timedelta(seconds=by)).astimezone(
                turn.now().tzinfo
            )
            repeat = timer.repeat and Recurrence.starting(timer.repeat.said(), until)
            return self._reset(replace(timer, repeat=repeat), timer.left + by, until, turn)
        before = self.scheduler.snapshot([timer])
        changed = self.scheduler.change(timer, amount if adds else -amount)
        verb = "added to" if adds else "taken off"
        reply = f"{spoken.length(amount)} {verb} {which.describe(changed)}."
        reply = f"{reply} {spoken.about(changed.left)} left."
        return self._done("add" if adds else "reduce", [changed], reply, before, amount=amount)

    def _change(self, intent: Intent, turn: TurnContext) -> Outcome:
        """Another length or time for one that is set; what is not said stays as it is."""
        slots, now = intent.slots, turn.now()
        timers = self._pending(intent, turn)
        if len(timers) > 1:
            return self._ask(intent, timers)
        (timer,) = timers
        if not slots.get("to"):
            return self._ask_when(Intent(intent.name, {**slots, "id": timer.id}))
        said = turn.utterance.rpartition(" to ")[2]
        new = answers.with_time_of(timer, slots["to"], said, now)
        seconds, until = moments.length({**new, "kind": timer.kind}, turn.utterance, now)
        if seconds is None:
            return self._ask_when(intent)
        repeat = timer.repeat
        if until is not None and "repeat" in new:
            repeat = Recurrence.starting(new["repeat"], until) if new["repeat"] else None
        return self._reset(replace(timer, repeat=repeat), seconds, until, turn)

    def _reset(
        self, timer: Timer, seconds: float, until: datetime | None, turn: TurnContext
    ) -> Outcome:
        """Another end; a name that tells the old one goes with it."""
        now = turn.now()
        ends = timer.ends.astimezone(now.tzinfo)
        timed = timer.name in (
            spoken.time_of_day(ends, self._twenty_four),
            spoken.length(timer.seconds),
        )
        said = "" if timed else timer.name
        before = self.scheduler.snapshot([timer])
        changed = self.scheduler.replace(
            timer,
            name=moments.name(timer.kind, said, seconds, until, self._twenty_four),
            seconds=seconds,
            until=until,
            repeat=timer.repeat,
        )
        what = wording.capital(f"{said} {timer.kind}".strip())
        reply = f"{what} changed to {moments.words(changed, until, now, self._twenty_four)}."
        return self._done("change", [changed], reply, before)

    def _rename(self, intent: Intent, turn: TurnContext) -> Outcome:
        timers = self._pending(intent, turn)
        if len(timers) > 1:
            return self._ask(intent, timers)
        (timer,) = timers
        before = self.scheduler.snapshot([timer])
        if not (new_name := str(intent.slots.get("new_name", ""))):
            raise SkillError("timer.name", "I didn't catch the new name.")
        changed = self.scheduler.rename(timer, new_name)
        reply = f"The {which.title(timer)} is now the {which.title(changed)}."
        return self._done("rename", [changed], reply, before)

    def _pause(self, intent: Intent, turn: TurnContext) -> Outcome:
        pauses = intent.name == "timer.pause"
        timers = self._pending(intent, turn)
        fitting = [t for t in timers if t.paused != pauses]
        if not fitting:
            state = "is already paused" if pauses else "is not paused"
            raise SkillError(
                "timer.paused", f"{wording.capital(which.describe(timers[0]))} {state}."
            )
        if len(fitting) > 1 and intent.slots.get("which") != "all":
            return self._ask(intent, fitting)
        before = self.scheduler.snapshot(fitting)
        change = self.scheduler.pause if pauses else self.scheduler.resume
        changed = [change(timer) for timer in fitting]
        what = which.title(changed[0]) if len(changed) == 1 else f"{len(changed)} timers"
        verb = "paused with" if pauses else "goes on with"
        reply = f"{wording.capital(what)} {'paused' if pauses else 'resumed'}."
        if len(changed) == 1:
            reply = f"{wording.capital(what)} {verb} {spoken.about(changed[0].left)} left."
        return self._done("pause" if pauses else "resume", changed, reply, before)

    def _snooze(self, intent: Intent, turn: TurnContext) -> Outcome:
        seconds = intent.slots.get("duration") or self._snooze_seconds
        if not self.scheduler.may_snooze():
            raise SkillError("timer.quiet", "Nothing is ringing.")
        if not 1 <= seconds <= MAX_SECONDS:
            raise SkillError("timer.long", "I can't snooze for that long.")
        snoozed = self.scheduler.snooze(seconds)
        reply = f"Snoozed for {spoken.length(seconds)}."
        return Outcome(reply, wording.action("snooze", snoozed), control="stop")

    def _skip(self, intent: Intent, turn: TurnContext) -> Outcome:
        """One occurrence less: the next one, or that of the day that was said."""
        now = turn.now()
        slots = {"kind": ALARM, **intent.slots}
        timers = which.pick(self._counted(ALARM, turn), slots)
        day = date.fromisoformat(slots["day"]) if "day" in slots else None
        if day is not None:
            timers = moments.of_day(timers, slots["day"], now)
            if not timers:
                said = spoken.day(datetime.combine(day, now.time(), now.tzinfo), now)
                raise SkillError("timer.none", f"No alarm rings {said}.")
        if len(timers) > 1:
            return self._ask(Intent(intent.name, slots), timers)
        (timer,) = timers
        before = self.scheduler.snapshot([timer])
        if timer.repeat is None:
            cancelled = self.scheduler.remove([timer])
            reply = f"{wording.capital(which.title(timer))} cancelled."
            return self._done("cancel", cancelled, reply, before)
        day = day or timer.ends.astimezone(now.tzinfo).date()
        left_out = spoken.day(datetime.combine(day, timer.repeat.at, tzinfo=now.tzinfo), now)
        rest = self.scheduler.skip(timer, day)
        reply = f"The {which.title(timer)} skips {left_out.removeprefix('on ')}."
        if rest is not None:
            coming = spoken.day(rest.ends.astimezone(now.tzinfo), now)
            reply = f"{reply} It rings next {coming}."
        return self._done("skip", [rest or timer], reply, before)

    def _pending(self, intent: Intent, turn: TurnContext) -> list[Timer]:
        kind = intent.slots.get("kind", TIMER)
        timers = [t for t in self._counted(kind, turn) if t.status == "pending"]
        return which.pick(timers, intent.slots)

    def _done(
        self, do: str, timers: list[Timer], reply: str, before: Snapshot, **more: Any
    ) -> Outcome:
        """An outcome that can be taken back: the rows as they were before."""
        if len(timers) == 1:
            self._last_id = timers[0].id

        def undo() -> Outcome:
            self.scheduler.restore(before)
            return Outcome(wording.undone(do, timers), wording.action("undo", timers))

        return Outcome(reply, {**wording.action(do, timers), **more}, undo=undo)

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
        return [t for t in timers if t.kind in ((kind,) if kind else (TIMER, ALARM))]

    def _counted(self, kind: str, turn: TurnContext) -> list[Timer]:
        """In the order in which "the second timer" counts: as just read out, else as set."""
        timers = self._all(kind)
        return timers if _READ_OUT in turn.last_reply else sorted(timers, key=lambda t: t.id)

    def _status(self, timer: Timer, turn: TurnContext) -> str:
        return wording.status(timer, turn.now(), self._twenty_four)
