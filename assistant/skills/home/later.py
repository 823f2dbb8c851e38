"""Commands for later: "turn off the lights in five minutes". A restart does not lose them."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from assistant.errors import SkillError, StateError
from assistant.state import State

log = logging.getLogger(__name__)

KEY = "home.later"
POLL_S = 5.0
"""How often it is looked whether another process has kept something."""
GRACE_S = 120.0
"""What is later than this is no longer done: nobody expects it any more."""
MAX_PENDING = 50
MAX_DELAY_S = 7 * 86_400


@dataclass(frozen=True, slots=True)
class Task:
    """due: when; commands: as "home.several" has them; said: what is to be done, in words."""

    due: datetime
    commands: tuple[Mapping[str, Any], ...]
    said: str


class Later:
    """Does what is due on a thread of its own."""

    def __init__(self, state: State, do: Callable[[Task], None]) -> None:
        """do: does a task. Raises SkillError when it could not be done."""
        self._state = state
        self._do = do
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._told: list[str] = []

    def start(self) -> None:
        """Begins to watch the time."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="home later", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Whatever is pending stays kept."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(2.0)

    def add(self, delay_s: float, commands: Sequence[Mapping[str, Any]], said: str) -> Task:
        """Raises SkillError when it is too long or too much."""
        if not 0 < delay_s <= MAX_DELAY_S:
            raise SkillError("home.later", "I can keep that for up to seven days.")
        task = Task(self._state.clock.now() + timedelta(seconds=delay_s), tuple(commands), said)
        with self._kept() as tasks:
            if len(tasks) >= MAX_PENDING:
                raise SkillError(
                    "home.later", f"There are already {MAX_PENDING} things to do later."
                )
            tasks.append(task)
        self._wake.set()
        return task

    def remove(self, task: Task) -> bool:
        """False when it was done already."""
        with self._kept() as tasks:
            found = task in tasks
            if found:
                tasks.remove(task)
        return found

    def pending(self) -> list[Task]:
        """In the order in which they are due."""
        kept = self._state.get(KEY, [])
        return sorted(map(_task, kept if isinstance(kept, list) else []), key=lambda t: t.due)

    def take_told(self) -> list[str]:
        """Sentences about what could not be done, each given out once."""
        with self._lock:
            told, self._told = self._told, []
        return told

    def run_due(self) -> None:
        """Does what is due now; what is long overdue is told and not done."""
        now = self._state.clock.now()
        if not self.pending():
            return
        with self._kept() as tasks:
            # taken before it is done, so that no second process does it too
            due = [task for task in tasks if task.due <= now]
            tasks[:] = [task for task in tasks if task.due > now]
        for task in due:
            if (now - task.due).total_seconds() > GRACE_S:
                self._tell(f"I was not there when I should have done this: {task.said}.")
                continue
            try:
                self._do(task)
            except SkillError as error:
                self._tell(f"I could not {task.said}: {error.message}")

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self.run_due()
            except StateError as error:
                log.warning("what is to be done later is not known: %s", error)
            except Exception:
                log.exception("what was to be done later failed")
            self._wake.wait(self._wait_s())
            self._wake.clear()

    def _wait_s(self) -> float:
        try:
            pending = self.pending()
        except StateError:
            return POLL_S
        if not pending:
            return POLL_S
        left = (pending[0].due - self._state.clock.now()).total_seconds()
        return min(max(left, 0.05), POLL_S)

    def _tell(self, sentence: str) -> None:
        with self._lock:
            self._told.append(sentence)

    def _kept(self) -> _Kept:
        return _Kept(self._state)


class _Kept:
    """The kept tasks, to be changed in one transaction."""

    def __init__(self, state: State) -> None:
        self._transaction = state.transaction()

    def __enter__(self) -> list[Task]:
        self._db = self._transaction.__enter__()
        row = self._db.execute("SELECT value FROM settings WHERE key = ?", (KEY,)).fetchone()
        kept = json.loads(row["value"]) if row else []
        self._tasks = [_task(one) for one in kept]
        self._before = list(self._tasks)
        return self._tasks

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None and self._tasks != self._before:
            rows = json.dumps(
                [
                    {"due": t.due.isoformat(), "commands": list(t.commands), "said": t.said}
                    for t in self._tasks
                ]
            )
            self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (KEY, rows))
        self._transaction.__exit__(kind, error, trace)


def _task(kept: Mapping[str, Any]) -> Task:
    return Task(datetime.fromisoformat(kept["due"]), tuple(kept["commands"]), kept["said"])
