"""Timers, alarms and reminders as rows of the state database: kept, read and changed.

A row with a recurrence is the series and its next occurrence in one: when it comes due,
what rings (or was missed) is a row of its own, and the series moves on.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from assistant.errors import SkillError
from assistant.skills.timer.recurrence import Recurrence
from assistant.state import State

TIMER, ALARM, REMINDER = "timer", "alarm", "reminder"


@dataclass(frozen=True, slots=True)
class Timer:
    """One timer, alarm or reminder as it was when read.

    name: of a reminder, what it reminds of.
    seconds: its whole length; left: until it ends, negative when it has ended.
    ends: wall time (UTC) at which it ends or ended; of a paused one, if it went on now.
    status: pending, ringing or missed. series: the series that it is an occurrence of.
    """

    id: int
    name: str
    seconds: float
    left: float
    ends: datetime
    status: str
    kind: str = TIMER
    repeat: Recurrence | None = None
    paused: bool = False
    series: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Rows as they were; ids that had none did not exist."""

    ids: tuple[int, ...]
    rows: tuple[dict[str, Any], ...]


class TimerTable:
    """The rows of one state. Every method may raise StateError."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._clock = state.clock

    def add(
        self,
        name: str,
        seconds: float,
        until: datetime | None = None,
        *,
        kind: str = TIMER,
        repeat: Recurrence | None = None,
    ) -> Timer:
        """Starts a timer of ``seconds``; with ``until`` it follows the wall clock."""
        row = {"name": name, "seconds": seconds, "status": "pending", "kind": kind}
        row |= self._moment(seconds, until) | {"repeat": _text(repeat)}
        with self._state.transaction() as db:
            return self._timer(_insert(db, row))

    def timers(self, status: str = "pending", kind: str = "") -> list[Timer]:
        """Those with this status, of this kind or of any; those that end first in front."""
        rows = self._state.query("SELECT * FROM timers WHERE status = ?", (status,))
        found = (self._timer(row) for row in rows)
        return sorted(
            (t for t in found if not kind or t.kind == kind), key=lambda t: (t.left, t.id)
        )

    def remove(self, timers: Iterable[Timer]) -> list[Timer]:
        """Ends these without a sound; returns those that were still there."""
        with self._state.transaction() as db:
            return [t for t in timers if _delete(db, t)]

    def change(self, timer: Timer, by_seconds: float) -> Timer:
        """Makes a pending timer longer or shorter. Raises SkillError when it has just ended."""
        return self._update(
            timer,
            "seconds = seconds + :by, due_ms = due_ms + :by * 1000,"
            " boot_due_ms = boot_due_ms + :by * 1000, paused_ms = paused_ms + :by * 1000,"
            " wall = CASE wall WHEN '' THEN '' ELSE :wall END",
            {"by": by_seconds, "wall": self._wall(timer.ends + timedelta(seconds=by_seconds))},
        )

    def replace(
        self,
        timer: Timer,
        *,
        name: str,
        seconds: float,
        until: datetime | None,
        repeat: Recurrence | None = None,
    ) -> Timer:
        """Begins it anew with another name, length, moment or recurrence.

        Raises SkillError when it has just ended.
        """
        return self._update(
            timer,
            "name = :name, seconds = :seconds, due_ms = :due_ms, boot_id = :boot_id,"
            " boot_due_ms = :boot_due_ms, wall = :wall, repeat = :repeat, paused_ms = NULL",
            {"name": name, "seconds": seconds, "repeat": _text(repeat)}
            | self._moment(seconds, until),
        )

    def rename(self, timer: Timer, name: str) -> Timer:
        """Raises SkillError when it has just ended."""
        return self._update(timer, "name = :name", {"name": name})

    def pause(self, timer: Timer) -> Timer:
        """Holds a pending timer where it is. Raises SkillError when it has just ended."""
        left_ms = max(0, round(timer.left * 1000))
        return self._update(timer, "paused_ms = :left_ms", {"left_ms": left_ms})

    def resume(self, timer: Timer) -> Timer:
        """Lets a paused timer run on. Raises SkillError when it is gone."""
        return self._update(
            timer,
            "paused_ms = NULL, due_ms = :due_ms, boot_id = :boot_id, boot_due_ms = :boot_due_ms,"
            " wall = :wall",
            self._moment(timer.left, None),
        )

    def skip(self, timer: Timer, day: date) -> Timer | None:
        """Leaves out a series' occurrence on that day; None when none is left after it."""
        assert timer.repeat is not None, "only a series has occurrences to skip"
        repeat = timer.repeat.without(day)
        coming = repeat.next_after(self._clock.now())
        if coming is None:
            self.remove([timer])
            return None
        return self._update(
            timer,
            "repeat = :repeat, due_ms = :due_ms",
            {"repeat": _text(repeat), "due_ms": milliseconds(coming)},
        )

    def snapshot(self, timers: Iterable[Timer]) -> Snapshot:
        """These rows as they are now, for ``restore``."""
        ids = tuple(timer.id for timer in timers)
        marks = ", ".join("?" * len(ids))
        rows = self._state.query(f"SELECT * FROM timers WHERE id IN ({marks})", ids)
        return Snapshot(ids, tuple(dict(row) for row in rows))

    def restore(self, snapshot: Snapshot) -> None:
        """Puts rows back as they were; those that did not exist are gone."""
        with self._state.transaction() as db:
            for timer_id in snapshot.ids:
                db.execute("DELETE FROM timers WHERE id = ?", (timer_id,))
            for row in snapshot.rows:
                _insert(db, row)

    def _update(self, timer: Timer, changes: str, values: dict[str, Any]) -> Timer:
        with self._state.transaction() as db:
            changed = db.execute(
                f"UPDATE timers SET {changes} WHERE id = :id AND status = 'pending'",
                {**values, "id": timer.id},
            ).rowcount
            row = db.execute("SELECT * FROM timers WHERE id = ?", (timer.id,)).fetchone()
        if not changed:
            raise SkillError("timer.ended", f"That {timer.kind} has just ended.")
        return self._timer(row)

    def _moment(self, seconds: float, until: datetime | None) -> dict[str, Any]:
        """The columns that say when it ends."""
        # in UTC: a sum of wall times would be an hour off where the clocks change between
        ends = until or self._clock.now().astimezone(UTC) + timedelta(seconds=seconds)
        boot_id, boot_due = "", 0.0
        if until is None and self._clock.boot is not None:
            boot_id, boot_due = self._clock.boot_id, self._clock.boot() + seconds
        return {
            "due_ms": milliseconds(ends),
            "boot_id": boot_id,
            "boot_due_ms": round(boot_due * 1000),
            "wall": "" if until is None else self._wall(until),
        }

    def _wall(self, moment: datetime) -> str:
        return moment.astimezone(self._clock.now().tzinfo).isoformat()

    def _timer(self, row: sqlite3.Row) -> Timer:
        now = self._clock.now().astimezone(UTC)
        ended = row["ended_ms"]
        if row["paused_ms"] is not None:
            left = row["paused_ms"] / 1000
            ends = now + timedelta(seconds=left)
        elif ended is None and self._clock.boot and row["boot_id"] == self._clock.boot_id:
            left = row["boot_due_ms"] / 1000 - self._clock.boot()
            ends = now + timedelta(seconds=left)
        else:
            ends = datetime.fromtimestamp((ended or row["due_ms"]) / 1000, UTC)
            if row["wall"] and not row["repeat"] and row["status"] == "pending":
                ends = on_this_wall(row["wall"], self._clock.now().tzinfo)
            left = (ends - now).total_seconds()
        repeat = Recurrence.from_json(json.loads(row["repeat"])) if row["repeat"] else None
        paused = row["paused_ms"] is not None
        return Timer(
            row["id"],
            row["name"],
            row["seconds"],
            left,
            ends,
            row["status"],
            row["kind"],
            repeat,
            paused,
            row["series"],
        )


def milliseconds(moment: datetime) -> int:
    """Since 1970, as the table has it."""
    return round(moment.timestamp() * 1000)


def on_this_wall(said: str, zone: tzinfo | None) -> datetime:
    """The moment (UTC) at which clocks in ``zone`` show what they were to show.

    said: an ISO date and time with the offset that it had where it was set: of two moments
        that a change of the clocks gives the same time, the one of that offset is meant.
    """
    there = datetime.fromisoformat(said)
    here = there.replace(tzinfo=zone)
    if here.replace(fold=1).utcoffset() == there.utcoffset():
        here = here.replace(fold=1)
    return here.astimezone(UTC)


def insert_occurrence(db: sqlite3.Connection, series: Timer) -> int:
    """A row of its own for the occurrence of a series that has come due; its id."""
    row = {
        "name": series.name,
        "seconds": series.seconds,
        "due_ms": milliseconds(series.ends),
        "boot_id": "",
        "boot_due_ms": 0,
        "status": "pending",
        "kind": series.kind,
        "series": series.id,
    }
    return int(_insert(db, row)["id"])


def _insert(db: sqlite3.Connection, row: dict[str, Any]) -> sqlite3.Row:
    marks = ", ".join(f":{column}" for column in row)
    cursor = db.execute(f"INSERT INTO timers ({', '.join(row)}) VALUES ({marks})", row)
    found = db.execute("SELECT * FROM timers WHERE id = ?", (cursor.lastrowid,)).fetchone()
    assert isinstance(found, sqlite3.Row)
    return found


def _delete(db: sqlite3.Connection, timer: Timer) -> bool:
    return bool(db.execute("DELETE FROM timers WHERE id = ?", (timer.id,)).rowcount)


def _text(repeat: Recurrence | None) -> str:
    return json.dumps(repeat.to_json()) if repeat else ""
