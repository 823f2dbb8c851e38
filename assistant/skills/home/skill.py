"""Switches the home and answers questions about it, in the intents of Home Assistant."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from assistant.config import Config
from assistant.errors import SkillError
from assistant.home.base import Home, Snapshot
from assistant.intent.base import Intent
from assistant.intent.choice import choose
from assistant.intent.home_marks import read_marks
from assistant.intent.yes_no import yes_no
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.home import answer, confirm, inventory
from assistant.skills.home.act import Plan, Result, run
from assistant.skills.home.later import Later, Task
from assistant.skills.home.plans import NEEDS_ROOM, PLANNERS
from assistant.skills.home.resolve import Resolver, Unclear
from assistant.skills.home.restore import steps_back
from assistant.skills.home.revise import overrides, revise
from assistant.skills.home.say import told, why
from assistant.skills.home.words import the
from assistant.skills.media.players import MEDIA_INTENTS, Players
from assistant.skills.spoken import length
from assistant.skills.timer.wording import at as spoken_at
from assistant.skills.weather.report import Reporter
from assistant.state import State

log = logging.getLogger(__name__)

CONFIRM, WHICH, MEANT = "home.confirm", "home.which", "home.meant"
_BY_NAME_ALONE = ("home.HassTurnOn", "home.HassTurnOff", "home.HassToggle")
"""Intents that need no more than the name, when another one was meant."""

_RESPONSES = {
    "hello": "Hello! What can I do for you?",
    "listening": "Yes, I'm listening.",
    "data": "Nothing you say leaves this device.",
    "commands": "You can ask me to switch lights, blinds and other devices, or how they are.",
    "creator": "I'm an open voice assistant that runs wholly on this device.",
}


class HomeSkill(Skill):
    name = "home"
    topics = ("lights", "devices", "blinds", "heating", "home", "smart home")
    examples = (
        "turn on the kitchen light",
        "set the bedroom lamp to 20 percent",
        "which windows are open",
        "set the temperature to 21 degrees",
        "close the blinds",
    )
    phrases = ("turn on", "turn off", "lights", "open", "close", "brightness", "temperature")

    def __init__(self, cfg: Config, state: State) -> None:
        self._confirm = cfg.skills.home.confirm
        self._players = Players(cfg.skills.media)
        self._media = cfg.skills.media.enabled
        self._area = cfg.home.area
        self._state = state
        self._later = Later(state, self._do_later)
        if cfg.home.home_assistant.url or cfg.home.mqtt.host:
            self._later.start()

    @property
    def abilities(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("switch lights and other devices",) if self.home is not None else ()

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        known = read_marks(intent, turn.utterance, self._snapshot())
        if known is None:
            return Outcome("Sorry, I didn't get what I should do in the home.", ok=False)
        intent = known
        name = intent.name.removeprefix("home.")
        if name == "HassRespond":
            return Outcome(_RESPONSES.get(str(intent.slots.get("response")), "I'm here."))
        if name == "HassNevermind":
            return Outcome("Okay.")
        if name in PLANNERS and confirm.at_a_time(intent, turn.utterance, turn.now()):
            raise SkillError("home.time", confirm.NO_TIME)
        try:
            return self._handle(name, intent.slots, turn, guess=confirm.is_guess(intent))
        except Unclear as unclear:
            asked = {
                "intent": intent.name,
                "slots": intent.slots,
                "slot": unclear.slot,
                "options": unclear.options,
            }
            return Outcome(unclear.question, question=True, expects=WHICH, known=asked)

    def complete(
        self, expects: str, text: str, known: dict[str, Any], now: datetime
    ) -> Intent | None:
        slots = dict(known.get("slots", {}))
        if expects == CONFIRM and yes_no(text) is True:
            return Intent(known["intent"], {**slots, "confirmed": True})
        if expects == MEANT and yes_no(text) is True:
            return Intent(known["intent"], slots)
        if expects == WHICH:
            options = list(known["options"])
            chosen = choose(text, options)
            if chosen:
                picked = [options[i] for i in chosen]
                slots.pop("here", None)
                value = picked[0] if len(picked) == 1 else picked
                return Intent(known["intent"], {**slots, known["slot"]: value})
        return None

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        return revise(last, text, self._resolver(turn)) if self.home is not None else None

    def overrides(self, last: Intent, new: Intent) -> bool:
        return overrides(last, new)

    def notices(self, turn: TurnContext) -> list[str]:
        return self._later.take_told()

    def close(self) -> None:
        self._later.close()

    def vocabulary(self) -> list[str]:
        if self.home is None:
            return []
        home = self.home.snapshot()
        words: list[str] = []
        for name, aliases in (
            *((entity.name, entity.aliases) for entity in home.entities),
            *((area.name, area.aliases) for area in home.areas),
            *((floor.name, floor.aliases) for floor in home.floors),
        ):
            words += [name, *aliases]
        return [*words, *self.phrases]

    def _handle(
        self, name: str, slots: Mapping[str, Any], turn: TurnContext, *, guess: bool = False
    ) -> Outcome:
        if name in MEDIA_INTENTS and not self._media:
            raise SkillError("media.off", "Sorry, I can't do that here.")
        if name in MEDIA_INTENTS:
            return self._players.handle(name, slots, self.home, self._resolver(turn))
        home = self._home()
        if name == "HassGetWeather":
            return Outcome(Reporter(home).now(str(slots.get("name") or "")))
        if name == "ListRooms":
            return Outcome(inventory.rooms(self._resolver(turn)))
        if name == "ListDevices":
            return Outcome(inventory.devices(slots, self._resolver(turn)))
        if name == "unknown_name":
            return _unknown_name(slots)
        if name == "several":
            return self._several(slots["commands"], turn, bool(slots.get("confirmed")))
        if name == "HassStartTimer":
            return self._keep(slots, turn)
        resolver = self._resolver(turn)
        if name == "HassGetState":
            return Outcome(answer.state(slots, resolver, turn.utterance))
        if name == "HassClimateGetTemperature":
            return Outcome(answer.temperature(slots, resolver, turn.utterance))
        plan = self._plan(name, slots, resolver)
        question = "" if slots.get("confirmed") or not self._confirm else confirm.question(plan)
        if guess and not slots.get("confirmed"):
            question = question or confirm.doubt(plan)
        if question:
            return _ask(question, f"home.{name}", slots)
        return self._outcome(home, [plan], [])

    def _keep(self, slots: Mapping[str, Any], turn: TurnContext) -> Outcome:
        """For later; what could not be understood or found is said now."""
        commands = slots["commands"]
        plans = [
            self._plan(str(one["intent"]).removeprefix("home."), one["slots"], self._resolver(turn))
            for one in commands
        ]
        if self._confirm and not slots.get("confirmed"):
            question = next(filter(None, map(confirm.question, plans)), "")
            if question:
                return _ask(question, "home.HassStartTimer", slots)
        said = str(slots["conversation_command"])
        now = turn.now()
        if "until" in slots:
            until = datetime.fromisoformat(slots["until"]).astimezone(now.tzinfo)
            delay, at = (until - now).total_seconds(), f"at {spoken_at(until, now)}"
        else:
            delay = float(slots["delay"])
            at = f"in {length(delay)}"
        task = self._later.add(delay, commands, said)
        when = {"due": task.due.isoformat(timespec="seconds"), "commands": list(commands)}

        def undo() -> Outcome:
            if not self._later.remove(task):
                raise SkillError("home.later", "That was done already.")
            return Outcome("Okay, I won't.", {"skill": "home", "do": "forget", **when})

        reply = f"Okay, I'll {said} {at}."
        return Outcome(reply, {"skill": "home", "do": "later", **when}, undo=undo)

    def _do_later(self, task: Task) -> None:
        """What was said before is due; whether it was sure was asked then."""
        clock = self._state.clock
        turn = TurnContext(clock.now, self._state, utterance=task.said, area=self._area)
        self._several(task.commands, turn, True)
        log.info("done what was said for later")

    def _several(
        self, commands: Sequence[Mapping[str, Any]], turn: TurnContext, confirmed: bool
    ) -> Outcome:
        """All of them, in one answer; a question that one of them raises comes first."""
        home, resolver = self._home(), self._resolver(turn)
        plans: list[Plan] = []
        problems: list[str] = []
        for command in commands:
            name = str(command["intent"]).removeprefix("home.")
            try:
                if name == "unknown_name":
                    raise _unknown(command["slots"])
                plans.append(self._plan(name, command["slots"], resolver))
            except SkillError as error:
                problems.append(error.message)
            except Unclear as unclear:
                problems.append(unclear.question)
        if self._confirm and not confirmed:
            question = next(filter(None, map(confirm.question, plans)), "")
            if question:
                return _ask(question, "home.several", {"commands": list(commands)})
        if not plans:
            raise SkillError("home.several", " ".join(dict.fromkeys(problems)))
        return self._outcome(home, plans, problems)

    def _plan(self, name: str, slots: Mapping[str, Any], resolver: Resolver) -> Plan:
        planner = PLANNERS.get(name)
        if planner is None:
            raise SkillError("home.unable", "Sorry, I can't do that with the home.")
        if resolver.needs_room(slots, NEEDS_ROOM.get(name, ())):
            raise Unclear("In which room?", "area", resolver.area_names())
        return planner(slots, resolver)

    def _outcome(self, home: Home, plans: Sequence[Plan], problems: Sequence[str]) -> Outcome:
        """Does the plans and tells what came of them. Raises SkillError when nothing did."""
        sentences: list[str] = []
        done: list[tuple[Plan, Result]] = []
        failures: list[SkillError] = []
        for plan in plans:
            result = run(home, plan.steps)
            if result.done:
                sentences.append(told(plan, result))
                done.append((plan, result))
            else:
                failures.append(_failure(home, plan, result))
        told_failures = [failure.message for failure in failures]
        if not done:
            text = " ".join(dict.fromkeys([*told_failures, *problems]))
            raise SkillError(failures[0].code if failures else "home.failed", text)
        reply = " ".join(dict.fromkeys([*sentences, *told_failures, *problems]))
        return Outcome(reply, _action(done), undo=self._undo(home, done))

    def _undo(self, home: Home, done: Sequence[tuple[Plan, Result]]) -> Any:
        steps = []
        for plan, result in done:
            if not plan.undo:
                return None
            changed = {key: value for step in plan.steps for key, value in step.data.items()}
            back = steps_back(result.done, changed)
            if back is None:
                return None
            steps += back

        def undo() -> Outcome:
            result = run(home, steps)
            if not result.done:
                raise result.error or SkillError("home.failed", "I could not take that back.")
            failed = f", but {why(result.failed)}" if result.failed else ""
            action = {"skill": "home", "do": "undo", "entities": [e.id for e in result.done]}
            return Outcome(f"Okay, I took that back{failed}.", action)

        return undo

    def _home(self) -> Home:
        home = self.home
        if home is None:
            raise SkillError("home.none", "I'm not connected to any devices.")
        trouble = home.trouble()
        if trouble and not home.snapshot().entities:
            raise SkillError("home.away", trouble)
        return home

    def _resolver(self, turn: TurnContext) -> Resolver:
        return Resolver(self._snapshot(), turn.area, turn.utterance)

    def _snapshot(self) -> Snapshot:
        return self.home.snapshot() if self.home is not None else Snapshot()


def _ask(question: str, intent: str, slots: Mapping[str, Any]) -> Outcome:
    known = {"intent": intent, "slots": dict(slots)}
    return Outcome(question, question=True, expects=CONFIRM, known=known)


def _unknown_name(slots: Mapping[str, Any]) -> Outcome:
    """Says which name is not known, and asks when another may have been meant."""
    like, intent = slots.get("like"), slots.get("intent")
    if not like or slots.get("kind") != "name" or intent not in _BY_NAME_ALONE:
        raise _unknown(slots)
    reply = f"I don't know {slots.get('said')}. Did you mean {the(str(like))}?"
    known = {"intent": intent, "slots": {"name": like}}
    return Outcome(reply, ok=False, question=True, expects=MEANT, known=known)


def _unknown(slots: Mapping[str, Any]) -> SkillError:
    thing = "room" if slots.get("kind") == "area" else "device"
    like = f" Did you mean {slots['like']}?" if slots.get("like") else ""
    return SkillError("home.unknown", f"I don't know a {thing} called {slots.get('said')}.{like}")


def _failure(home: Home, plan: Plan, result: Result) -> SkillError:
    """Why nothing at all was done."""
    if home.trouble():
        return SkillError("home.away", home.trouble())
    if result.error is not None and len(result.failed) <= 1:
        return result.error
    failed = [*plan.left_out, *result.failed]
    text = why(failed) if failed else "nothing was done"
    return SkillError("home.failed", f"{text[:1].upper()}{text[1:]}.")


def _action(done: Sequence[tuple[Plan, Result]]) -> dict[str, Any]:
    """The calls that were made, JSON-ready."""
    calls = []
    for plan, result in done:
        ids = {entity.id for entity in result.done}
        for step in plan.steps:
            entities = [e.id for e in step.entities if e.id in ids]
            if entities or not step.entities:
                service = f"{step.domain}.{step.service}"
                calls.append({"service": service, "entities": entities, "data": dict(step.data)})
    head: dict[str, Any] = {"skill": "home", "do": "call"}
    return {**head, **calls[0]} if len(calls) == 1 else {**head, "calls": calls}
