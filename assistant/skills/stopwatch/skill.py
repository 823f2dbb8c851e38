"""The stopwatch by voice: start, stop, lap, how long, reset."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assistant.config import Config
from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.intent.normalize import normalize, strip_courtesy
from assistant.skills import spoken
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.stopwatch.watch import Reading, Watch
from assistant.state import State

_OF_IT = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"(?:stop|pause|halt|end|hold) (?:it|that)", "stopwatch.stop"),
        (r"(?:start|resume|continue|unpause) (?:it|that)(?: again)?", "stopwatch.start"),
        (r"(?:reset|clear|zero) (?:it|that)", "stopwatch.reset"),
        (r"restart (?:it|that)|start (?:it|that) over", "stopwatch.restart"),
        (
            r"(?:and )?how (?:long|much time)(?: is (?:it|that)| has (?:it|that) been| was (?:it"
            r"|that)| has passed)?(?: now| so far| running)*|what does it say",
            "stopwatch.read",
        ),
    )
)


class StopwatchSkill(Skill):
    name = "stopwatch"
    abilities = ("run a stopwatch",)
    topics = ("stopwatch",)
    examples = ("start the stopwatch", "lap", "how long has the stopwatch been running")
    phrases = ("stopwatch", "start the stopwatch", "stop the stopwatch", "lap")

    def __init__(self, cfg: Config, state: State) -> None:
        self._watch = Watch(state)
        self._actions: dict[str, Callable[[], Outcome]] = {
            "stopwatch.start": self._start,
            "stopwatch.stop": self._stop,
            "stopwatch.lap": self._lap,
            "stopwatch.read": self._read,
            "stopwatch.reset": self._reset,
            "stopwatch.restart": self._restart,
        }

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        return self._actions[intent.name]()

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        """ "Stop it", "reset it", "how long has it been": of the stopwatch just spoken of."""
        words = strip_courtesy(normalize(text))
        return next((Intent(name) for pattern, name in _OF_IT if pattern.fullmatch(words)), None)

    def _start(self) -> Outcome:
        before, kept = self._watch.read(), self._watch.kept()
        if before is not None and before.running:
            return Outcome(f"The stopwatch is already running: {exact(before.seconds)}.")
        reading = self._watch.start()
        again = f" again at {exact(reading.seconds)}" if before is not None else ""
        return self._done("start", reading, f"Stopwatch started{again}.", kept)

    def _stop(self) -> Outcome:
        running, kept = self._running(), self._watch.kept()
        if not running.running:
            return Outcome(f"The stopwatch is stopped at {exact(running.seconds)}.")
        reading = self._watch.stop() or running
        return self._done("stop", reading, f"Stopped at {exact(reading.seconds)}.", kept)

    def _lap(self) -> Outcome:
        self._running()
        kept, reading = self._watch.kept(), self._watch.lap()
        if reading is None:
            raise SkillError("stopwatch.stopped", "The stopwatch is not running.")
        last = reading.laps[-2] if len(reading.laps) > 1 else 0.0
        reply = f"Lap {len(reading.laps)}: {exact(reading.laps[-1] - last)}"
        total = f", {exact(reading.seconds)} in all" if len(reading.laps) > 1 else ""
        return self._done("lap", reading, f"{reply}{total}.", kept)

    def _read(self) -> Outcome:
        reading = self._running()
        if not reading.running:
            return Outcome(f"The stopwatch is stopped at {exact(reading.seconds)}.")
        return Outcome(f"The stopwatch is at {exact(reading.seconds)}.")

    def _reset(self) -> Outcome:
        kept = self._watch.kept()
        before = self._watch.reset()
        if before is None:
            return Outcome("The stopwatch is at zero.")
        return self._done(
            "reset", before, f"Stopwatch reset, it was at {exact(before.seconds)}.", kept
        )

    def _restart(self) -> Outcome:
        kept = self._watch.kept()
        self._watch.reset(run=True)
        return self._done("start", Reading(0.0, running=True), "Stopwatch started from zero.", kept)

    def _running(self) -> Reading:
        reading = self._watch.read()
        if reading is None:
            raise SkillError("stopwatch.none", "The stopwatch is not running.")
        return reading

    def _done(self, do: str, reading: Reading, reply: str, kept: Any) -> Outcome:
        action = {"skill": self.name, "do": do, "seconds": round(reading.seconds, 1)}

        def undo() -> Outcome:
            self._watch.put_back(kept)
            return Outcome("The stopwatch is as it was.", {"skill": self.name, "do": "undo"})

        return Outcome(reply, action, undo=undo)


def exact(seconds: float) -> str:
    """To a tenth below a minute, then to the second: what a spoken lap can use."""
    return spoken.length(seconds if seconds < 60 else round(seconds))
