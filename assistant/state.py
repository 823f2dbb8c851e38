"""What must survive a power cut: timers and settings, in one SQLite database.

Several processes may have it open at once (the service and ``assistant ask``). Every
change is one transaction that has reached the disk when the call returns.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import platformdirs

from assistant.config import ServiceConfig
from assistant.errors import StateError
from assistant.local_zone import LocalZone

FILE_NAME = "state.db"
APPLICATION_ID = 0x70766131
"""Marks the file as ours, so that no other program's database is taken for it."""

MIGRATIONS = (
    """
    CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE timers (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        seconds REAL NOT NULL,
        due_ms INTEGER NOT NULL,
        boot_id TEXT NOT NULL,
        boot_due_ms INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('pending', 'ringing', 'missed')),
        ended_ms INTEGER
    );
    """,
    # Alarms and reminders beside the timers; until here an alarm was one by its name alone.
    """
    ALTER TABLE timers ADD COLUMN kind TEXT NOT NULL DEFAULT 'timer'
        CHECK (kind IN ('timer', 'alarm', 'reminder'));
    ALTER TABLE timers ADD COLUMN repeat TEXT NOT NULL DEFAULT '';
    ALTER TABLE timers ADD COLUMN paused_ms INTEGER;
    ALTER TABLE timers ADD COLUMN series INTEGER;
    UPDATE timers SET kind = 'alarm', name = substr(name, 1, length(name) - 6)
        WHERE name LIKE '% alarm';
    """,
    """
    CREATE TABLE lists (name TEXT NOT NULL UNIQUE);
    CREATE TABLE list_items (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        list TEXT NOT NULL REFERENCES lists (name),
        text TEXT NOT NULL,
        done INTEGER NOT NULL DEFAULT 0
    );
    """,
    # The time on the wall, with its offset when it was set, of what ends at a time of day.
    """
    ALTER TABLE timers ADD COLUMN wall TEXT NOT NULL DEFAULT '';
    """,
)
"""Script i takes the schema from version i to version i + 1."""

FAILED = "state.failed"
"""Code of the error of a file that cannot be read or written, for whatever reason."""

BUSY_SECONDS = 5.0
_SIDE_FILES = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Clock:
    """The clocks of the device; tests set their own.

    now: wall time with time zone.
    boot: seconds since boot, suspended time included; steps of the wall clock do not
        touch it. None where there is no such clock; then wall time has to do.
    boot_id: differs after each boot.
    """

    now: Callable[[], datetime]
    boot: Callable[[], float] | None = None
    boot_id: str = ""

    @classmethod
    def system(cls) -> Clock:
        try:
            boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        except OSError:
            return cls(now=_local_now)
        return cls(_local_now, lambda: time.clock_gettime(time.CLOCK_BOOTTIME), boot_id)


_ZONE = LocalZone()


def _local_now() -> datetime:
    time.tzset()  # the zone may have been changed while this runs
    return datetime.now(_ZONE)


def default_dir(cfg: ServiceConfig) -> Path:
    """The folder of the database: from the configuration, from systemd, or the user's own.

    Raises StateError when it would be in a home folder and there is none.
    """
    # systemd lists several folders with colons between; ours is the first
    given = cfg.state_dir or os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    try:
        folder = Path(given or platformdirs.user_state_dir("assistant", appauthor=False))
        return folder.expanduser()
    except RuntimeError as error:
        raise StateError(
            "state.no_home",
            "There is no home folder to keep timers and settings in.",
            "Set service.state_dir, or $STATE_DIRECTORY, to a folder that this user may write.",
        ) from error


class State:
    """The open database; safe to use from several threads.

    warnings: sentences about what had to be repaired when it was opened.

    Raises StateError when the file or its folder cannot be written or read. A file that
    is damaged or not ours is renamed to ``NAME.corrupt-TIME`` and a new one begun.
    """

    warning_code: ClassVar[str] = "state.set_aside"

    def __init__(self, path: Path | str, clock: Clock | None = None) -> None:
        self.path = Path(path)
        self.clock = clock or Clock.system()
        self.warnings: list[str] = []
        self._lock = threading.RLock()
        with self._explained():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Two processes must not both set aside what the other has just begun.
            with _exclusive(self.path.with_name(self.path.name + ".lock")):
                try:
                    self._db = self._open()
                except sqlite3.DatabaseError as error:
                    if isinstance(error, sqlite3.OperationalError):
                        raise
                    self._set_aside(str(error))
                    self._db = self._open()
        self._version = self._data_version()

    @classmethod
    def kept(cls, path: Path | str, clock: Clock | None = None) -> State:
        """The state in that file, or one that keeps nothing where the file cannot be used.

        Raises StateError when a newer version has written it.
        """
        try:
            return cls(path, clock)
        except StateError as error:
            if error.code != FAILED:
                raise
            return UnkeptState(path, clock, error)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def changed(self) -> bool:
        """True when another process or connection wrote since the last call."""
        with self._lock, self._explained():
            version = self._data_version()
            changed, self._version = version != self._version, version
            return changed

    def get(self, key: str, default: Any = None) -> Any:
        """The JSON value kept under ``key``."""
        rows = self.query("SELECT value FROM settings WHERE key = ?", (key,))
        return json.loads(rows[0]["value"]) if rows else default

    def set(self, key: str, value: Any) -> None:
        """Keeps a JSON value."""
        self.update({key: value})

    def update(self, values: dict[str, Any]) -> None:
        """Keeps several JSON values, all or none."""
        rows = [(key, json.dumps(value)) for key, value in values.items()]
        with self.transaction() as db:
            db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """All rows of one SELECT."""
        with self._lock, self._explained():
            return self._db.execute(sql, parameters).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything executed inside happens wholly or not at all, and nobody writes between."""
        with self._lock, self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            db.row_factory = sqlite3.Row
            self._check(db)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _check(self, db: sqlite3.Connection) -> None:
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != APPLICATION_ID and (application or tables):
            raise sqlite3.DatabaseError("it belongs to another program")

    def _migrate(self, db: sqlite3.Connection) -> None:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
            raise StateError(
                "state.newer",
                f"{self.path} was written by a newer version of the assistant.",
                "Update the assistant, or move the file away to begin a new one.",
            )
        for done in range(version, len(MIGRATIONS)):
            db.executescript(
                f"BEGIN IMMEDIATE; {MIGRATIONS[done]} PRAGMA user_version = {done + 1};"
                f"PRAGMA application_id = {APPLICATION_ID}; COMMIT;"
            )
        for table, columns in (("settings", "key, value"), ("timers", "id, due_ms, status, kind")):
            try:
                db.execute(f"SELECT {columns} FROM {table} LIMIT 1")
            except sqlite3.OperationalError as error:
                raise sqlite3.DatabaseError(str(error)) from error

    def _set_aside(self, reason: str) -> None:
        stamp = self.clock.now().strftime("%Y%m%d-%H%M%S-%f")
        aside = self.path.with_name(f"{self.path.name}.corrupt-{stamp}")
        for side in _SIDE_FILES:
            source = self.path.with_name(self.path.name + side)
            if source.exists():
                source.rename(aside.with_name(aside.name + side))
        warning = (
            f"The state file {self.path} could not be used ({reason}); it was set aside as "
            f"{aside.name}, and timers and settings begin anew."
        )
        self.warnings.append(warning)

    def _data_version(self) -> int:
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._error(str(error)) from error
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise self._error("disk is full") from error
            raise self._error(error.strerror or str(error)) from error

    def _error(self, reason: str) -> StateError:
        hint = "Check that the folder can be written and that the disk is not full."
        if "locked" in reason:
            hint = "Another process has it open and does not let go; restart the assistant."
        elif "malformed" in reason or "not a database" in reason:
            hint = "Restart the assistant; it sets a damaged file aside."
        return StateError(FAILED, f"The state in {self.path} failed: {reason}.", hint)


class UnkeptState(State):
    """Stands in for a file that cannot be written: what it holds is known, nothing is added.

    Writing raises the StateError that said why. So does reading, where what the file holds
    could not be read; settings are then at their defaults.
    """

    warning_code = "state.unkept"

    def __init__(self, path: Path | str, clock: Clock | None, error: StateError) -> None:
        self.path = Path(path)
        self.clock = clock or Clock.system()
        self.warnings = [f"{error.message} Nothing can be kept, such as timers and lists."]
        self._lock = threading.RLock()
        self._why = error
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._unread = False
        try:
            self._copy()
        except (OSError, sqlite3.DatabaseError, StateError):
            self._db.close()
            self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._unread = self.path.exists()
        self._db.row_factory = sqlite3.Row
        self._migrate(self._db)

    def _copy(self) -> None:
        """What the file and its log of changes hold, by way of another folder."""
        if not self.path.exists():
            return
        with tempfile.TemporaryDirectory() as folder:
            for side in ("", "-wal"):
                source = self.path.with_name(self.path.name + side)
                if source.exists():
                    shutil.copyfile(source, Path(folder) / f"copy{side}")
            copy = sqlite3.connect(Path(folder) / "copy")
            try:
                self._check(copy)
                copy.backup(self._db)
            finally:
                copy.close()

    def changed(self) -> bool:
        """Nothing is written, and what another process writes is not seen."""
        return False

    def get(self, key: str, default: Any = None) -> Any:
        """The JSON value kept under ``key``."""
        return default if self._unread else super().get(key, default)

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """All rows of one SELECT."""
        if self._unread:
            raise self._why
        return super().query(sql, parameters)

    def transaction(self) -> NoReturn:
        """Raises StateError."""
        raise self._why


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Holds a lock that the system frees when the process dies."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
