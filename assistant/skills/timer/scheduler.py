"""Which timers run, ring or were missed: rows of the state database and two clocks.

A Pi has no clock that runs without power. After a boot its wall time may be hours behind
until the network corrects it in one step, and a step must neither fire timers nor hold
them back. So a timer of a given length is kept as a reading of the clock since boot as
well as in wall time: within the same boot only the former counts, after a reboot only
the latter. What was set "until seven" has wall time alone: it is at seven wherever it is then.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Collection
from dataclasses import replace
from typing import IO, NamedTuple

from assistant.errors import StateError
from assistant.skills.timer.recurrence import Recurrence
from assistant.skills.timer.table import (
    ALARM,
    REMINDER,
    TIMER,
    Snapshot,
    Timer,
    TimerTable,
    insert_occurrence,
    milliseconds,
)
from assistant.state import State

LATE_SECONDS = 60.0
"""A timer found over by more than this is not rung any more but reported as missed.

One that ended while this process was alive but busy is rung as long as it would ring at all.
"""

STEP_SECONDS = 2.0
"""Wall time is written anew when it is further than this from the clock since boot."""

SNOOZE_WITHIN_SECONDS = 120.0
"""What was silenced may be snoozed so long afterwards: the wake word silences first."""


class Due(NamedTuple):
    """What changed: timers that begin to ring, and timers that were missed."""

    rings: list[Timer]
    missed: list[Timer]


class Scheduler(TimerTable):
    """All timers of one state. Every method may raise StateError."""

    def __init__(self, state: State, ring_max_s: float = 300.0) -> None:
        """ring_max_s: a timer that nobody stops rings this long and is then missed."""
        super().__init__(state)
        self._ring_max_s = ring_max_s
        self._rung_at: dict[int, float] = {}
        self._looked_at: float | None = None
        self._bell: IO[str] | None = None
        self._silenced: tuple[Snapshot, float] | None = None
        self._advanced: set[int] = set()
        """Series whose next occurrence this process has brought forward."""

    def due(self) -> Due:
        """Moves ended timers on; to be called every second or at ``seconds_to_next``.

        Each timer begins to ring once, in one process: the first that asks holds the
        bell until it ends or dies. Timers that rang when a process died ring on.
        """
        if not self._holds_bell():
            return Due([], [])
        due = Due([], [])
        uptime = self._uptime()
        unwatched = 0.0 if self._looked_at is None else uptime - self._looked_at
        self._looked_at = uptime
        with self._state.transaction() as db:
            rows = db.execute("SELECT * FROM timers WHERE status != 'missed' ORDER BY due_ms")
            for row in rows.fetchall():
                timer = self._timer(row)
                if timer.status == "ringing":
                    self._ring_on(db, timer, due)
                elif timer.paused:
                    continue
                elif timer.left <= 0:
                    late_by = -timer.left
                    limit = self._ring_max_s if late_by <= unwatched else LATE_SECONDS
                    if late_by > max(limit, LATE_SECONDS) and timer.id in self._advanced:
                        # the clock was behind, so the next one only seemed to be that early
                        assert timer.repeat is not None, "only a series is advanced"
                        self._keep_to_wall(db, timer, timer.repeat)
                        continue
                    self._advanced.discard(timer.id)
                    timer = self._occurrence(db, timer)
                    if late_by <= max(limit, LATE_SECONDS):
                        self._ring(db, timer, due)
                    else:
                        self._miss(db, timer, due)
                elif timer.repeat is not None:
                    self._keep_to_wall(db, timer, timer.repeat)
                elif abs(milliseconds(timer.ends) - row["due_ms"]) > STEP_SECONDS * 1000:
                    db.execute(
                        "UPDATE timers SET due_ms = ? WHERE id = ?",
                        (milliseconds(timer.ends), timer.id),
                    )
        return due

    def seconds_to_next(self) -> float | None:
        """Until ``due`` has something to do; None without timers."""
        moments = [timer.left for timer in self.timers() if not timer.paused]
        for timer in self.timers("ringing"):
            began = self._rung_at.get(timer.id)
            rung = -timer.left if began is None else self._uptime() - began
            moments.append(self._ring_max_s - rung)
        return max(0.0, min(moments)) if moments else None

    def stop_ringing(self) -> list[Timer]:
        """Silences all that ring; returns them."""
        ringing = self.timers("ringing")
        if ringing:
            self._silenced = self.snapshot(ringing), self._uptime()
        return self.remove(ringing)

    def snooze(self, seconds: float) -> list[Timer]:
        """Lets what rings, or was silenced just now, ring again after ``seconds``."""
        ringing = self.timers("ringing")
        if not ringing and self._silenced is not None:
            silenced, when = self._silenced
            if self._uptime() - when <= SNOOZE_WITHIN_SECONDS:
                self.restore(silenced)
                ringing = self.timers("ringing")
        self._silenced = None
        moment = self._moment(seconds, None)
        with self._state.transaction() as db:
            for timer in ringing:
                db.execute(
                    "UPDATE timers SET status = 'pending', due_ms = :due_ms, boot_id = :boot_id,"
                    " boot_due_ms = :boot_due_ms, wall = :wall WHERE id = :id",
                    {**moment, "id": timer.id},
                )
        snoozed = {timer.id for timer in ringing}
        return [timer for timer in self.timers() if timer.id in snoozed]

    def may_snooze(self) -> bool:
        """Whether something rings, or was silenced so recently that it may be meant."""
        if self.timers("ringing"):
            return True
        return (
            self._silenced is not None
            and self._uptime() - self._silenced[1] <= SNOOZE_WITHIN_SECONDS
        )

    def take_missed(self, kinds: Collection[str] = (TIMER, ALARM, REMINDER)) -> list[Timer]:
        """The missed ones of these kinds, each handed out once and then forgotten."""
        missed = [t for t in self.timers("missed") if t.kind in kinds]
        return self.remove(missed) if missed else []

    def mark_missed(self) -> None:
        """Notes what ended unheard while no process held the bell."""
        if not any(t.left < -LATE_SECONDS and not t.paused for t in self.timers()):
            return
        with self._state.transaction() as db:
            for row in db.execute("SELECT * FROM timers WHERE status = 'pending'").fetchall():
                timer = self._timer(row)
                if timer.left < -LATE_SECONDS and not timer.paused:
                    self._miss(db, self._occurrence(db, timer), Due([], []))

    def close(self) -> None:
        """Lets another process ring."""
        if self._bell is not None:
            self._bell.close()
            self._bell = None

    def _occurrence(self, db: sqlite3.Connection, timer: Timer) -> Timer:
        """What rings now or was missed: for a series a row of its own, and the series moves on.

        Occurrences that lie between it and now were all slept through; the one stands for them.
        """
        if timer.repeat is None:
            return timer
        own_id = insert_occurrence(db, timer)
        coming = timer.repeat.next_after(self._clock.now())
        if coming is None:
            db.execute("DELETE FROM timers WHERE id = ?", (timer.id,))
        else:
            db.execute(
                "UPDATE timers SET due_ms = ? WHERE id = ?", (milliseconds(coming), timer.id)
            )
        return replace(timer, id=own_id, repeat=None, series=timer.id)

    def _keep_to_wall(self, db: sqlite3.Connection, timer: Timer, repeat: Recurrence) -> None:
        """Seven is seven, also after the clock was years ahead, or the time zone is another."""
        coming = repeat.next_after(self._clock.now())
        if coming is not None and coming != timer.ends:
            if coming < timer.ends:
                self._advanced.add(timer.id)
            else:
                self._advanced.discard(timer.id)
            db.execute(
                "UPDATE timers SET due_ms = ? WHERE id = ?", (milliseconds(coming), timer.id)
            )

    def _ring(self, db: sqlite3.Connection, timer: Timer, due: Due) -> None:
        self._rung_at[timer.id] = self._uptime()
        _move(db, timer, "ringing")
        due.rings.append(timer)

    def _ring_on(self, db: sqlite3.Connection, timer: Timer, due: Due) -> None:
        began = self._rung_at.get(timer.id)
        if began is None:
            # it rang in a process that died
            began = self._uptime() + timer.left
            if self._uptime() - began < self._ring_max_s:
                self._ring(db, timer, due)
        if self._uptime() - began >= self._ring_max_s:
            self._miss(db, timer, due)

    def _miss(self, db: sqlite3.Connection, timer: Timer, due: Due) -> None:
        self._rung_at.pop(timer.id, None)
        if timer.series is not None:
            # a week of missed alarms is told as one
            db.execute("DELETE FROM timers WHERE series = ? AND status = 'missed'", (timer.series,))
        _move(db, timer, "missed")
        due.missed.append(timer)

    def _uptime(self) -> float:
        return self._clock.boot() if self._clock.boot else self._clock.now().timestamp()

    def _holds_bell(self) -> bool:
        if self._bell is not None:
            return True
        path = self._state.path.with_name(self._state.path.name + ".bell")
        try:
            bell = path.open("a")
        except OSError as error:
            raise StateError("state.failed", f"{path} cannot be opened: {error}.") from error
        try:
            fcntl.flock(bell, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            bell.close()
            return False
        self._bell = bell
        return True


def _move(db: sqlite3.Connection, timer: Timer, status: str) -> None:
    ended = milliseconds(timer.ends) if status == "missed" else None
    db.execute("UPDATE timers SET status = ?, ended_ms = ? WHERE id = ?", (status, ended, timer.id))
