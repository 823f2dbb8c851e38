"""A stopwatch that survives a restart: readings of two clocks, kept in the state.

Within one boot the clock since boot counts, which no correction of the wall clock touches.
After a reboot only wall time knows how long the power was off: the watch goes on counting
through it, as one on a wrist would. A wall clock that lost its time counts as no time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from assistant.state import State

KEY = "stopwatch"
MAX_LAPS = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """seconds: measured so far; running; laps: seconds at which each lap ended."""

    seconds: float
    running: bool
    laps: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class _Kept:
    """measured: seconds until it was last started; the rest is that start on both clocks."""

    measured: float = 0.0
    running: bool = False
    wall: float = 0.0
    boot: float = 0.0
    boot_id: str = ""
    laps: tuple[float, ...] = ()


class Watch:
    """The one stopwatch of a state. Every method may raise StateError."""

    def __init__(self, state: State) -> None:
        self._state = state

    def read(self) -> Reading | None:
        """None when it has not been started since it was last reset."""
        kept = self._kept()
        return None if kept is None else self._reading(kept)

    def start(self) -> Reading:
        """Starts it, or lets a stopped one go on; a running one runs on."""
        kept = self._kept() or _Kept()
        return self._keep(kept if kept.running else self._begun(kept))

    def stop(self) -> Reading | None:
        """Holds it; None when there is none."""
        kept = self._kept()
        if kept is None:
            return None
        return self._keep(replace(kept, measured=self._reading(kept).seconds, running=False))

    def lap(self) -> Reading | None:
        """Notes the time of a running one; None when none runs."""
        kept = self._kept()
        if kept is None or not kept.running:
            return None
        laps = (*kept.laps, self._reading(kept).seconds)[-MAX_LAPS:]
        return self._keep(replace(kept, laps=laps))

    def reset(self, *, run: bool = False) -> Reading | None:
        """Back to zero, running on or not; returns what it had measured."""
        before = self.read()
        if run:
            self._keep(self._begun(_Kept()))
        else:
            self._state.set(KEY, None)
        return before

    def kept(self) -> Any:
        """What the state keeps, for ``put_back``."""
        return self._state.get(KEY)

    def put_back(self, kept: Any) -> None:
        self._state.set(KEY, kept)

    def _begun(self, kept: _Kept) -> _Kept:
        clock = self._state.clock
        return replace(
            kept,
            running=True,
            wall=clock.now().timestamp(),
            boot=clock.boot() if clock.boot else 0.0,
            boot_id=clock.boot_id if clock.boot else "",
        )

    def _reading(self, kept: _Kept) -> Reading:
        seconds = kept.measured
        if kept.running:
            clock = self._state.clock
            if clock.boot and kept.boot_id == clock.boot_id:
                seconds += clock.boot() - kept.boot
            else:
                seconds += max(0.0, clock.now().timestamp() - kept.wall)
        return Reading(seconds, kept.running, kept.laps)

    def _kept(self) -> _Kept | None:
        found = self._state.get(KEY)
        return _Kept(**{**found, "laps": tuple(found["laps"])}) if found else None

    def _keep(self, kept: _Kept) -> Reading:
        self._state.set(KEY, asdict(kept))
        return self._reading(kept)
