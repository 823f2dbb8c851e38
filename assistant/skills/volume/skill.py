"""Loudness on a scale from 0 to 100, mute, and how fast it speaks; all outlive a restart."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.intent.followup import followup
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.slot_types import level as level_slots
from assistant.intent.values.percent import parse_percent
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.marks import valued
from assistant.state import State

KINDS = {"level": ("level",), "step": ("percent",)}
SPEEDS = (0.6, 0.7, 0.85, 1.0, 1.15, 1.3, 1.5)
"""Steps of "slower" and "faster", as factors of the speed in the configuration."""

_LEVEL, _MUTED, _SPEED = "volume", "muted", "speech_speed"
_OPPOSITE = {"up": "down", "down": "up", "slower": "faster", "faster": "slower"}


def read_volume(state: State, default: int) -> tuple[int, bool]:
    """The level last set (0 to 100), or the default, and whether the sound is off."""
    level = state.get(_LEVEL)
    # a bool is an int too, and neither is a level
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= 100:
        level = default
    return level, state.get(_MUTED, False) is True


def read_speed(state: State) -> float:
    """The factor of the voice's speed that was last asked for; 1.0 is that of the settings."""
    speed = state.get(_SPEED)
    return speed if speed in SPEEDS else 1.0


class VolumeSkill(Skill):
    name = "volume"
    abilities = ("change my volume and speed",)
    topics = ("volume", "the sound", "sound", "loudness", "voice", "speech", "speaking", "speed")
    examples = (
        "volume 40",
        "turn it up",
        "mute",
        "speak slower",
        "what's the volume",
        "back to normal speed",
    )
    phrases = ("volume", "turn it up", "turn it down", "percent", "mute", "louder", "quieter",
               "speak slower", "speak faster")  # fmt: skip

    def __init__(self, cfg: Config, state: State) -> None:
        self._default = cfg.audio.default_volume
        self._step = cfg.skills.volume.step
        self._state = state

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        intent = valued(intent, turn.now(), KINDS)
        level, muted = read_volume(self._state, self._default)
        what = intent.name.removeprefix("volume.")
        if what in ("slower", "faster", "normal"):
            return self._pace(what)
        if what == "query":
            return Outcome(f"The volume is {level}." + (" The sound is off." if muted else ""))
        if what in ("mute", "unmute"):
            return self._keep(what, level, what == "mute", "Sound off." if what == "mute" else "")
        if what == "set":
            if "level" not in intent.slots:
                return Outcome("To what level?", question=True, expects=intent.name)
            wanted = round(intent.slots["level"])
            if "said" in intent.slots:
                reply = f"The volume goes from 0 to 100, so I set it to {wanted}."
                return self._keep(what, wanted, False, reply)
            return self._keep(what, wanted, False)
        step = round(intent.slots.get("step", self._step))
        wanted = level + (step if what == "up" else -step)
        inside = min(max(wanted, 0), 100)
        if wanted == inside:
            return self._keep(what, wanted, False)
        limit = "maximum" if inside else "minimum"
        return self._keep(what, inside, False, f"Volume {inside}, that's the {limit}.")

    def complete(
        self, expects: str, text: str, known: dict[str, Any], now: datetime
    ) -> Intent | None:
        slots = level_slots(strip_courtesy(normalize(text)).removeprefix("to "), now)
        return Intent(expects, slots) if slots else None

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        do = last.name.removeprefix("volume.")
        said = followup(text)
        if do == "set" and said.kind in ("more", "less"):
            return Intent("volume.up" if said.kind == "more" else "volume.down")
        if do in _OPPOSITE and said.kind in ("again", "more"):
            return last
        if do in _OPPOSITE and said.kind == "less":
            return Intent(f"volume.{_OPPOSITE[do]}", dict(last.slots))
        if do not in ("set", "up", "down") or said.kind not in ("correct", "also"):
            return None
        level = parse_percent(said.rest)
        if level is None:
            return None
        slots = {"level": level.value, "said": level.said} if level.clamped else {}
        return Intent("volume.set", slots or {"level": level.value})

    def overrides(self, last: Intent, new: Intent) -> bool:
        return new.name == "volume.set"

    def _pace(self, do: str) -> Outcome:
        before = read_speed(self._state)
        place = SPEEDS.index(before) + {"slower": -1, "faster": 1, "normal": 0}[do]
        after = 1.0 if do == "normal" else SPEEDS[min(max(place, 0), len(SPEEDS) - 1)]
        if after == before:
            if do == "normal":
                return Outcome("This is my normal speed.")
            return Outcome(f"I can't speak any {do}.", ok=False)
        self._state.set(_SPEED, after)
        reply = "OK, back to my normal speed." if after == 1.0 else f"OK, I speak {do} now."
        return Outcome(
            reply,
            {"skill": self.name, "do": do, "speed": after},
            undo=lambda: self._back({_SPEED: before}, "OK, I speak as before."),
        )

    def _keep(self, do: str, level: int, muted: bool, reply: str = "") -> Outcome:
        before, was_muted = read_volume(self._state, self._default)
        self._state.update({_LEVEL: level, _MUTED: muted})
        action = {"skill": self.name, "do": do, "level": level, "muted": muted}
        back = f"Volume {before} again." if not was_muted else "Sound off again."
        return Outcome(
            reply or f"Volume {level}.",
            action,
            undo=lambda: self._back({_LEVEL: before, _MUTED: was_muted}, back),
        )

    def _back(self, values: dict[str, Any], reply: str) -> Outcome:
        self._state.update(values)
        return Outcome(reply, {"skill": self.name, "do": "undo", **values})
