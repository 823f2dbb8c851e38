"""Rings: decides when, says what for, and ends by word, by limit or from outside."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from pathlib import Path

from assistant.audio.wavfile import read_sound
from assistant.config import TimerConfig
from assistant.errors import InputFileError
from assistant.skills.spoken import listing
from assistant.skills.timer import which
from assistant.skills.timer.scheduler import Scheduler
from assistant.skills.timer.table import ALARM, REMINDER, Timer
from assistant.speaking import Speaker, built_in
from assistant.tts.base import Speech

log = logging.getLogger(__name__)

CHECK_SECONDS = 0.5
"""How often the timers are looked at."""

PAUSE_SECONDS = 1.5
"""Quiet between two rings, in which the microphone hears "stop" best."""

SAY_EVERY = 4
"""The name is said again after this many rings."""

REMINDER_RINGS = 2
"""A reminder is told so often and is then done: it needs no one to stop it."""


class Ringer:
    """One per pipeline. ``run`` blocks on the worker; the rest is for the main loop.

    Stopping happens by ``cancel`` of ``begin``: whoever sets it ends the sound.
    """

    def __init__(self, cfg: TimerConfig, scheduler: Scheduler | None) -> None:
        """scheduler: None when timers are switched off."""
        self._cfg = cfg
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._ringing: list[Timer] = []
        self._next_check = 0.0
        self._cancel = threading.Event()
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

    def begin(self, cancel: threading.Event) -> str:
        """Gets ready to ring until ``cancel`` is set; returns what will be said."""
        self._cancel = cancel
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
                self._cancel.set()

    def run(self, speaker: Speaker) -> str:
        """Rings until stopped; returns "stopped" or "missed".

        Reminders are told and then over, without a stop.
        """
        cancel = self._cancel
        bell = self._bell()
        rings = 0
        told: Counter[int] = Counter()
        try:
            while not cancel.is_set():
                if rings % SAY_EVERY == 0 or self._reminders():
                    told.update(timer.id for timer in self._say_which(speaker, cancel))
                speaker.play_through(bell, cancel)
                cancel.wait(PAUSE_SECONDS)
                rings += 1
                if not cancel.is_set():
                    self._finish_reminders(told)
        finally:
            with self._lock:
                self._ringing = []
        return "missed" if self._missed else "stopped"

    def _reminders(self) -> list[Timer]:
        with self._lock:
            return [timer for timer in self._ringing if timer.kind == REMINDER]

    def _finish_reminders(self, told: Counter[int]) -> None:
        """Ends the reminders that were told often enough, and the ring with the last of all."""
        done = [timer for timer in self._reminders() if told[timer.id] >= REMINDER_RINGS]
        if not done or self._scheduler is None:
            return
        self._scheduler.remove(done)
        with self._lock:
            self._ringing = [timer for timer in self._ringing if timer not in done]
            if not self._ringing:
                self._cancel.set()

    def _say_which(self, speaker: Speaker, cancel: threading.Event) -> list[Timer]:
        """Says what rings; returns what was said, or tried to be."""
        with self._lock:
            ringing = list(self._ringing)
        try:
            speaker.say([announcement(ringing)], cancel=cancel)
        except Exception:
            # A timer must be heard, with words or without.
            log.exception("which timer rings could not be said")
        return ringing

    def stop_all(self) -> None:
        """Ends whatever rings, here and in the state. Raises StateError."""
        self._cancel.set()
        if self._scheduler is not None:
            self._scheduler.stop_ringing()

    def silence(self) -> None:
        """Ends the sound only: the service stops, and the timer rings on after it starts."""
        self._cancel.set()

    def close(self) -> None:
        """Lets another process ring."""
        if self._scheduler is not None:
            self._scheduler.close()

    def _bell(self) -> Speech:
        if self._cfg.ring_file:
            try:
                return Speech(*read_sound(Path(self._cfg.ring_file).expanduser()))
            except InputFileError as error:
                log.warning("skills.timer.ring_file: %s", error)
        return built_in("ring")


def title(timer: Timer) -> str:
    """How a timer is called: by its name, else by its length."""
    return f"your {which.title(timer)}"


def announcement(timers: list[Timer]) -> str:
    """What is said when they ring."""
    reminders = [f"Reminder: {timer.name}." for timer in timers if timer.kind == REMINDER]
    timers = [timer for timer in timers if timer.kind != REMINDER]
    if not timers:
        return " ".join(reminders)
    text = listing(title(timer) for timer in timers)
    text = f"{text[0].upper()}{text[1:]}"
    if not all(timer.kind == ALARM for timer in timers):
        text = f"{text} {'is' if len(timers) == 1 else 'are'} done"
    return " ".join([f"{text}.", *reminders])
