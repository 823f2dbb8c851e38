"""Rings timers: decides when, says which, and ends by word, by limit or from outside."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from assistant.audio.wavfile import read_sound
from assistant.config import TimerConfig
from assistant.skills.spoken import length, listing
from assistant.skills.timer.scheduler import Scheduler, Timer
from assistant.speaking import Speaker, built_in
from assistant.tts.base import Speech

CHECK_SECONDS = 0.5
"""How often the timers are looked at."""

PAUSE_SECONDS = 1.5
"""Quiet between two rings, in which the microphone hears "stop" best."""

SAY_EVERY = 4
"""The name is said again after this many rings."""


class Ringer:
    """One per pipeline. ``run`` blocks on the worker; the rest is for the main loop."""

    def __init__(self, cfg: TimerConfig, scheduler: Scheduler | None) -> None:
        """scheduler: None when timers are switched off."""
        self._cfg = cfg
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._ringing: list[Timer] = []
        self._next_check = 0.0
        self._quiet = threading.Event()
        self._missed = False

    @property
    def ringing(self) -> bool:
        """True from ``begin`` until ``run`` has returned."""
        with self._lock:
            return bool(self._ringing)

    def due(self) -> bool:
        """True when a timer has ended and should ring. Raises StateError."""
        now = time.monotonic()
        if self._scheduler is None or now < self._next_check:
            return False
        self._next_check = now + CHECK_SECONDS
        rings = self._scheduler.due().rings
        with self._lock:
            self._ringing += rings
            return bool(self._ringing)

    def begin(self) -> str:
        """Gets ready to ring; returns what will be said."""
        self._quiet.clear()
        self._missed = False
        with self._lock:
            return announcement(self._ringing)

    def check(self) -> None:
        """While it rings: more timers, the limit, and a stop from another process."""
        now = time.monotonic()
        if self._scheduler is None or now < self._next_check:
            return
        self._next_check = now + CHECK_SECONDS
        due = self._scheduler.due()
        still = {timer.id for timer in self._scheduler.timers("ringing")}
        with self._lock:
            self._ringing = [t for t in self._ringing + due.rings if t.id in still]
            if not self._ringing:
                self._missed = bool(due.missed)
                self._quiet.set()

    def run(self, speaker: Speaker, cancel: threading.Event) -> str:
        """Rings until stopped; returns "stopped" or "missed"."""
        bell = self._bell()
        stop = _Either(cancel, self._quiet)
        rings = 0
        try:
            while not stop.is_set():
                if rings % SAY_EVERY == 0:
                    with self._lock:
                        text = announcement(self._ringing)
                    speaker.say([text], cancel=cancel)
                if stop.is_set():
                    break
                speaker.play(bell)
                speaker.sink.drain(timeout=len(bell.samples) / bell.rate + 5, cancel=cancel)
                stop.wait(PAUSE_SECONDS)
                rings += 1
        finally:
            speaker.sink.flush()
            with self._lock:
                self._ringing = []
        return "missed" if self._missed else "stopped"

    def stop_all(self) -> None:
        """Ends whatever rings, here and in the state. Raises StateError."""
        if self._scheduler is not None:
            self._scheduler.stop_ringing()
        self._quiet.set()

    def silence(self) -> None:
        """Ends the sound only: the service stops, and the timer rings on after it starts."""
        self._quiet.set()

    def close(self) -> None:
        """Lets another process ring."""
        if self._scheduler is not None:
            self._scheduler.close()

    def _bell(self) -> Speech:
        if self._cfg.ring_file:
            return Speech(*read_sound(Path(self._cfg.ring_file).expanduser()))
        return built_in("ring")


class _Either:
    """Two events seen as one."""

    def __init__(self, first: threading.Event, second: threading.Event) -> None:
        self._first, self._second = first, second

    def is_set(self) -> bool:
        return self._first.is_set() or self._second.is_set()

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.is_set() and (left := end - time.monotonic()) > 0:
            self._first.wait(min(left, 0.05))


def title(timer: Timer) -> str:
    """How a timer is called: by its name, else by its length."""
    return f"your {timer.name} timer" if timer.name else f"your {length(timer.seconds)} timer"


def announcement(timers: list[Timer]) -> str:
    """What is said when they ring."""
    if not timers:
        return ""
    text = listing(title(timer) for timer in timers)
    return f"{text[0].upper()}{text[1:]} {'is' if len(timers) == 1 else 'are'} done."
