"""Which timers run, ring or were missed: rows of the state database and two clocks.

A Pi has no clock that runs without power. After a boot its wall time may be hours behind
until the network corrects it in one step, and a step must neither fire timers nor hold
them back. So a timer of a given length is kept as a reading of the clock since boot as
well as in wall time: within the same boot only the former counts, after a reboot only
the latter. A timer that was set "until seven" has wall time alone.
"""

from __future__ import annotations

import fcntl
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import IO, NamedTuple

from assistant.errors import SkillError, StateError
from assistant.state import State

LATE_SECONDS = 60.0
"""A timer found over by more than this is not rung any more but reported as missed.

One that ended while this process was alive but busy is rung as long as it would ring at all.
"""

STEP_SECONDS = 2.0
"""Wall time is written anew when it is further than this from the clock since boot."""


@dataclass(frozen=True, slots=True)
class Timer:
    """One timer as it was when read.

    seconds: its whole length; left: until it ends, negative when it has ended.
    ends: wall time (UTC) at which it ends or ended. status: pending, ringing or missed.
    """

    id: int
    name: str
    seconds: float
    left: float
    ends: datetime
    status: str


class Due(NamedTuple):
    """What changed: timers that begin to ring, and timers that were missed."""

    rings: list[Timer]
    missed: list[Timer]


class Scheduler:
    """All timers of one state. Every method may raise StateError."""

    def __init__(self, state: State, ring_max_s: float = 300.0) -> None:
        """ring_max_s: a timer that nobody stops rings this long and is then missed."""
        self._state = state
        self._clock = state.clock
        self._ring_max_s = ring_max_s
        self._rung_at: dict[int, float] = {}
        self._looked_at: float | None = None
        self._bell: IO[str] | None = None

    def add(self, name: str, seconds: float, until: datetime | None = None) -> Timer:
        """Starts a timer of ``seconds``; with ``until`` it follows the wall clock."""
        now = self._clock.now()
        ends = until or now + timedelta(seconds=seconds)
        boot_id, boot_due = "", 0.0
        if until is None and self._clock.boot is not None:
            boot_id, boot_due = self._clock.boot_id, self._clock.boot() + seconds
        row = (name, seconds, _milliseconds(ends), boot_id, round(boot_due * 1000))
        with self._state.transaction() as db:
            cursor = db.execute(
                "INSERT INTO timers (name, seconds, due_ms, boot_id, boot_due_ms, status)"
                " VALUES (?, ?, ?, ?, ?, 'pending')",
                row,
            )
        left = (ends - now).total_seconds() if until else seconds
        assert cursor.lastrowid is not None
        return Timer(cursor.lastrowid, name, seconds, left, ends.astimezone(UTC), "pending")

    def timers(self, status: str = "pending") -> list[Timer]:
        """Timers with this status, those that end first in front."""
        rows = self._state.query("SELECT * FROM timers WHERE status = ?", (status,))
        return sorted((self._timer(row) for row in rows), key=lambda t: (t.left, t.id))

    def remove(self, timers: list[Timer]) -> list[Timer]:
        """Ends these timers without a sound; returns those that were still there."""
        with self._state.transaction() as db:
            return [t for t in timers if _delete(db, t)]

    def change(self, timer: Timer, by_seconds: float) -> Timer:
        """Makes a pending timer longer or shorter. Raises SkillError when it has just ended."""
        with self._state.transaction() as db:
            changed = db.execute(
                "UPDATE timers SET seconds = seconds + :by, due_ms = due_ms + :by * 1000,"
                " boot_due_ms = boot_due_ms + :by * 1000 WHERE id = :id AND status = 'pending'",
                {"by": by_seconds, "id": timer.id},
            ).rowcount
        if not changed:
            raise SkillError("timer.ended", "That timer has just ended.")
        (row,) = self._state.query("SELECT * FROM timers WHERE id = ?", (timer.id,))
        return self._timer(row)

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
                elif timer.left <= 0:
                    late_by = -timer.left
                    limit = self._ring_max_s if late_by <= unwatched else LATE_SECONDS
                    if late_by <= max(limit, LATE_SECONDS):
                        self._ring(db, timer, due)
                    else:
                        self._miss(db, timer, due)
                elif abs(_milliseconds(timer.ends) - row["due_ms"]) > STEP_SECONDS * 1000:
                    db.execute(
                        "UPDATE timers SET due_ms = ? WHERE id = ?",
                        (_milliseconds(timer.ends), timer.id),
                    )
        return due

    def seconds_to_next(self) -> float | None:
        """Until ``due`` has something to do; None without timers."""
        moments = [timer.left for timer in self.timers()]
        for timer in self.timers("ringing"):
            began = self._rung_at.get(timer.id)
            rung = -timer.left if began is None else self._uptime() - began
            moments.append(self._ring_max_s - rung)
        return max(0.0, min(moments)) if moments else None

    def stop_ringing(self) -> list[Timer]:
        """Silences all that ring; returns them."""
        return self.remove(self.timers("ringing"))

    def take_missed(self) -> list[Timer]:
        """The missed timers, each handed out once and then forgotten."""
        return self.remove(self.timers("missed"))

    def mark_missed(self) -> None:
        """Notes what ended unheard while no process held the bell."""
        with self._state.transaction() as db:
            for row in db.execute("SELECT * FROM timers WHERE status = 'pending'").fetchall():
                timer = self._timer(row)
                if timer.left < -LATE_SECONDS:
                    self._miss(db, timer, Due([], []))

    def close(self) -> None:
        """Lets another process ring."""
        if self._bell is not None:
            self._bell.close()
            self._bell = None

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
        _move(db, timer, "missed")
        due.missed.append(timer)

    def _timer(self, row: sqlite3.Row) -> Timer:
        now = self._clock.now()
        ended = row["ended_ms"]
        if ended is None and self._clock.boot and row["boot_id"] == self._clock.boot_id:
            left = row["boot_due_ms"] / 1000 - self._clock.boot()
            ends = now.astimezone(UTC) + timedelta(seconds=left)
        else:
            ends = datetime.fromtimestamp((ended or row["due_ms"]) / 1000, UTC)
            left = (ends - now).total_seconds()
        return Timer(row["id"], row["name"], row["seconds"], left, ends, row["status"])

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


def _delete(db: sqlite3.Connection, timer: Timer) -> bool:
    return bool(db.execute("DELETE FROM timers WHERE id = ?", (timer.id,)).rowcount)


def _move(db: sqlite3.Connection, timer: Timer, status: str) -> None:
    ended = _milliseconds(timer.ends) if status == "missed" else None
    db.execute("UPDATE timers SET status = ?, ended_ms = ? WHERE id = ?", (status, ended, timer.id))


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
