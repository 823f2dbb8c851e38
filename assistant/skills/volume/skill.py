"""Loudness on a scale from 0 to 100, and mute; both outlive a restart."""

from __future__ import annotations

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.state import State

_LEVEL, _MUTED = "volume", "muted"


def read_volume(state: State, default: int) -> tuple[int, bool]:
    """The level last set (0 to 100), or the default, and whether the sound is off."""
    level = state.get(_LEVEL)
    # a bool is an int too, and neither is a level
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= 100:
        level = default
    return level, state.get(_MUTED, False) is True


class VolumeSkill(Skill):
    name = "volume"
    abilities = ("change the volume",)
    phrases = ("volume", "turn it up", "turn it down", "percent", "mute", "louder", "quieter")

    def __init__(self, cfg: Config, state: State) -> None:
        self._default = cfg.audio.default_volume
        self._step = cfg.skills.volume.step
        self._state = state

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        level, muted = read_volume(self._state, self._default)
        what = intent.name.removeprefix("volume.")
        if what == "query":
            return Outcome(f"The volume is {level}." + (" The sound is off." if muted else ""))
        if what in ("mute", "unmute"):
            return self._keep(what, level, what == "mute", "Sound off." if what == "mute" else "")
        if what == "set":
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

    def _keep(self, do: str, level: int, muted: bool, reply: str = "") -> Outcome:
        self._state.update({_LEVEL: level, _MUTED: muted})
        action = {"skill": self.name, "do": do, "level": level, "muted": muted}
        return Outcome(reply or f"Volume {level}.", action)
