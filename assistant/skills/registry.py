"""All skills that are switched on, and what goes to which."""

from __future__ import annotations

import logging
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from assistant.config import Config
from assistant.errors import AssistantError, SkillError, StateError
from assistant.events import Trouble
from assistant.home.base import Home
from assistant.intent.base import Intent
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.guard import FAILURES, checked, guarded, texts
from assistant.skills.own import Loaded, load_all
from assistant.skills.timer.scheduler import Scheduler
from assistant.skills.timer.table import TIMER
from assistant.skills.volume.skill import read_speed, read_volume
from assistant.state import State

log = logging.getLogger(__name__)

SKILLS = {
    "timer": "TimerSkill",
    "reminder": "ReminderSkill",
    "stopwatch": "StopwatchSkill",
    "clock": "ClockSkill",
    "lists": "ListsSkill",
    "maths": "MathsSkill",
    "chance": "ChanceSkill",
    "home": "HomeSkill",
    "media": "MediaSkill",
    "weather": "WeatherSkill",
    "volume": "VolumeSkill",
    "system": "SystemSkill",
    "commands": "CommandsSkill",
}
"""Class in ``assistant.skills.NAME.skill``, in the order in which they are told of; those
with a section in the configuration can be switched off."""

APOLOGY = "Sorry, that didn't work."
NOT_KEPT = "Sorry, that is not saved: my storage is full or can't be used."
NOTHING_TO_UNDO = "There is nothing to undo."
NO_UNDO = "Sorry, I can't undo that."


class Registry:
    """Hands intents to skills. A skill that fails does not take the others with it."""

    def __init__(self, cfg: Config, state: State, skills: list[Skill]) -> None:
        self._skills = {skill.name: skill for skill in skills}
        self._state = state
        self._default_volume = cfg.audio.default_volume
        self._default_speed = cfg.tts.speed
        self._area = cfg.home.area
        self._forget_after_s = cfg.dialogue.forget_after_s
        self._known: dict[str, object] = {}
        self._last_done: tuple[Outcome, float] | None = None
        """The last outcome that changed something, and when it was (seconds)."""
        self._own: list[Loaded] = []
        self._broken: dict[str, Trouble] = {}
        self.troubles: list[Trouble] = []
        self.state_error: StateError | None = None
        """Why the last command that had to keep something, or to know it, could not."""

    @classmethod
    def load(cls, cfg: Config, state: State, home: Home | None = None) -> Registry:
        """Makes the skills; one that cannot be made is left out and named in ``troubles``.

        home: the devices of the home, for the skills that act on them.
        """
        skills: list[Skill] = []
        troubles: list[Trouble] = []
        for name, class_name in SKILLS.items():
            section = getattr(cfg.skills, name, None)
            if section is not None and not section.enabled:
                continue
            try:
                module = import_module(f"assistant.skills.{name}.skill")
                skills.append(getattr(module, class_name)(cfg, state))
            except AssistantError as error:
                message = f"The skill {name} is switched off: {error.message}"
                troubles.append(Trouble(code=f"skill.{name}", message=message, hint=error.hint))
            except Exception as error:
                log.exception("the skill %s is left out", name)
                message = f"The skill {name} is switched off: {error}"
                troubles.append(Trouble(code=f"skill.{name}", message=message))
        broken = {trouble.code.removeprefix("skill."): trouble for trouble in troubles}
        own = load_all(cfg, state, set(SKILLS))
        skills += [loaded.skill for loaded in own if loaded.skill is not None]
        troubles += [
            Trouble(
                code=f"skill.{loaded.name}",
                message=f"The skill {loaded.name} is left out: {loaded.error.message}",
                hint=loaded.error.hint,
            )
            for loaded in own
            if loaded.error is not None
        ]
        for skill in skills:
            skill.home = home
        registry = cls(cfg, state, skills)
        registry.troubles = troubles
        registry._own, registry._broken = own, broken
        return registry

    @property
    def skills(self) -> list[Skill]:
        return list(self._skills.values())

    @property
    def abilities(self) -> tuple[str, ...]:
        """What can be done, in short phrases."""
        return tuple(ability for skill in self.skills for ability in skill.abilities)

    @property
    def sentence_dirs(self) -> list[Path]:
        """The folders of these skills that hold sentences."""
        folders = [Path(__file__).parent / name for name in self._skills if name in SKILLS]
        folders = [folder for folder in folders if (folder / "en.yaml").exists()]
        # behind: of two sentences that take a text alike, the built-in one counts
        return folders + [loaded.folder for loaded in self._own if loaded.folder is not None]

    def rows(self) -> list[dict[str, Any]]:
        """What is loaded and from where: name, origin, ok, error, hint, abilities."""
        found: list[tuple[str, str, Trouble | AssistantError | None]] = [
            (name, "built in", self._broken.get(name)) for name in SKILLS
        ]
        found += [(loaded.name, loaded.origin, loaded.error) for loaded in self._own]
        return [
            {
                "name": name,
                "origin": origin,
                "ok": trouble is None,
                "error": trouble.message if trouble else "",
                "hint": trouble.hint if trouble else "",
                "abilities": list(self._skills[name].abilities) if not trouble else [],
            }
            for name, origin, trouble in found
            if trouble is not None or name in self._skills
        ]

    @property
    def scheduler(self) -> Scheduler | None:
        """Timers, alarms and reminders; None when all are switched off."""
        ringing = self._skills.get("timer") or self._skills.get("reminder")
        return getattr(ringing, "scheduler", None)

    @property
    def area(self) -> str:
        """The room that this device stands in; "" when that is not set."""
        return self._area

    def volume(self) -> tuple[int, bool]:
        """Loudness from 0 to 100, and whether the sound is off."""
        return read_volume(self._state, self._default_volume)

    def speed(self) -> float:
        """How fast to speak: 1.0 is the voice's own speed."""
        return self._default_speed * read_speed(self._state)

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        """Does what the intent says; whatever fails, the outcome can be spoken."""
        self._known = {}
        skill = self._skills.get(intent.name.split(".")[0])
        if skill is None:
            return Outcome("Sorry, I can't do that here.", ok=False)
        turn.abilities, turn.skills = self.abilities, tuple(self.skills)
        turn.area = self._area
        try:
            if intent.name == "system.undo":
                return self._undo()
            outcome = self._stop(turn) if intent.name == "system.stop" else None
            if outcome is None and intent.slots.get("what") == "alarm" and "timer" in self._skills:
                # "turn off the alarm" while nothing rings means the one that is set
                skill, intent = self._skills["timer"], Intent("timer.cancel", {"kind": "alarm"})
            if outcome is None and intent.slots.get("what") == "cancel" and self._timers():
                skill, intent = self._skills["timer"], Intent("timer.cancel", {"which": "all"})
            outcome = outcome or checked(skill.handle(intent, turn))
        except SkillError as error:
            return Outcome(error.message, ok=False)
        except StateError as error:
            log.info("%s failed: %s", intent.name, error)
            self.state_error = error
            return Outcome(NOT_KEPT, ok=False)
        except AssistantError as error:
            log.warning("%s failed: %s", intent.name, error)
            return Outcome(APOLOGY, ok=False)
        except FAILURES:
            log.exception("%s failed", intent.name)
            return Outcome(APOLOGY, ok=False)
        self._known = outcome.known
        self.done(outcome)
        if outcome.action is not None:
            self.state_error = None
        return outcome

    def done(self, outcome: Outcome) -> None:
        """Notes what "undo that" takes back, where the outcome changed something."""
        if outcome.action is not None and not outcome.control:
            self._last_done = outcome, self._seconds()

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        """The intent that ``text`` makes of the one just done; None when it is none."""
        turn.area = self._area
        skill = self._skills.get(last.name.split(".")[0])
        if skill is None:
            return None
        revised = partial(skill.revise, last, text, turn)
        return guarded(skill, revised, None, Intent, type(None))

    def overrides(self, last: Intent, new: Intent) -> bool:
        """Whether doing ``new`` leaves nothing of ``last``."""
        skill = self._skills.get(new.name.split(".")[0])
        return (
            skill is not None
            and last.name.startswith(f"{skill.name}.")
            and guarded(skill, partial(skill.overrides, last, new), False)
        )

    def complete(
        self, expects: str, text: str, known: dict[str, Any] | None = None
    ) -> Intent | None:
        """The intent that ``text`` makes as a bare answer to the question just asked.

        expects, known: from the outcome that asked; known by default of the last one. None when
        it is no answer: then it is a new sentence. To be asked first, since "the ten minute one"
        could be both.
        """
        skill = self._skills.get(expects.split(".")[0])
        if skill is None or not expects:
            return None
        now = self._state.clock.now()
        slots = dict(self._known if known is None else known)
        completed = partial(skill.complete, expects, text, slots, now)
        return guarded(skill, completed, None, Intent, type(None))

    def notices(self, turn: TurnContext) -> list[str]:
        """What is to be said unasked, such as missed timers; each is given out once."""
        found: list[str] = []
        for skill in self.skills:
            found += texts(skill, partial(skill.notices, turn))
        return found

    def close(self) -> None:
        """Ends what skills do in the background."""
        for skill in self.skills:
            guarded(skill, skill.close, None)

    def vocabulary(self) -> list[str]:
        """Words and phrases that are likely to be said now, each once."""
        words: list[str] = []
        for skill in self.skills:
            words += texts(skill, skill.vocabulary)
        return list(dict.fromkeys(words))

    def nouns(self) -> dict[str, str]:
        """What the things are that have names of their own, such as {"pasta": "timer"}."""
        found: dict[str, str] = {}
        nothing: dict[str, str] = {}
        for skill in self.skills:
            found |= guarded(skill, skill.nouns, nothing, dict)
        return found

    def noun(self, last: Intent) -> str:
        """What "the second one" is after this intent; "" when nothing."""
        skill = self._skills.get(last.name.split(".")[0])
        return guarded(skill, partial(skill.noun, last), "", str) if skill is not None else ""

    def _undo(self) -> Outcome:
        """Takes back what was done last, unless that is too long ago to be what is meant."""
        if self._last_done is None:
            return Outcome(NOTHING_TO_UNDO, ok=False)
        done, when = self._last_done
        if self._seconds() - when > self._forget_after_s:
            return Outcome(NOTHING_TO_UNDO, ok=False)
        if done.undo is None:
            return Outcome(NO_UNDO, ok=False)
        outcome = checked(done.undo())
        self._last_done = (outcome, self._seconds()) if outcome.undo else None
        return outcome

    def _seconds(self) -> float:
        """Time that goes on whatever is done to the wall clock, where there is such a clock."""
        clock = self._state.clock
        return clock.boot() if clock.boot is not None else clock.now().timestamp()

    def _timers(self) -> bool:
        """Whether a timer runs that "cancel everything" could mean."""
        set_now = self.scheduler.timers() if "timer" in self._skills and self.scheduler else []
        return any(timer.kind == TIMER for timer in set_now)

    def _stop(self, turn: TurnContext) -> Outcome | None:
        outcomes = [
            guarded(skill, partial(skill.stop, turn), None, Outcome, type(None))
            for skill in self.skills
        ]
        return next((outcome for outcome in outcomes if outcome is not None), None)
