"""The database of what must survive: open, keep, notice, and recover from damage."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.config import ServiceConfig
from assistant.errors import StateError
from assistant.state import FILE_NAME, MIGRATIONS, Clock, State, UnkeptState, default_dir

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "er" / FILE_NAME


def test_what_was_set_is_there_after_reopening(path: Path) -> None:
    state = State(path)
    state.set("volume", 40)
    state.set("muted", False)
    state.close()
    again = State(path)
    assert again.get("volume") == 40
    assert again.get("muted") is False
    assert again.get("nothing", "default") == "default"
    assert again.warnings == []


def test_durability_settings(path: Path) -> None:
    state = State(path)
    assert state.query("PRAGMA journal_mode")[0][0] == "wal"
    assert state.query("PRAGMA synchronous")[0][0] == 2
    assert state.query("PRAGMA user_version")[0][0] == len(MIGRATIONS)


def test_change_by_another_connection_is_noticed_once(path: Path) -> None:
    one, two = State(path), State(path)
    assert not one.changed()
    two.set("volume", 10)
    assert one.changed()
    assert not one.changed()
    assert not two.changed(), "its own writes are no news"
    assert one.get("volume") == 10


def test_transaction_that_fails_leaves_nothing(path: Path) -> None:
    state = State(path)

    def fail() -> None:
        with state.transaction() as db:
            db.execute("INSERT INTO settings VALUES ('a', '1')")
            raise ValueError("midway")

    with pytest.raises(ValueError, match="midway"):
        fail()
    assert state.get("a") is None
    state.set("b", 2)
    assert state.get("b") == 2


def test_threads_share_one_state(path: Path) -> None:
    state = State(path)

    def count(name: str) -> None:
        for i in range(20):
            state.set(name, i)

    threads = [threading.Thread(target=count, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [state.get(name) for name in "abcd"] == [19] * 4


def damage_text(path: Path) -> None:
    path.write_text("volume: 40\n" * 300, encoding="utf-8")


def damage_truncated(path: Path) -> None:
    State(path).close()
    path.write_bytes(path.read_bytes()[:5000])


def damage_middle(path: Path) -> None:
    State(path).close()
    data = bytearray(path.read_bytes())
    data[4096 : 4096 + 2000] = b"\xff" * 2000
    path.write_bytes(bytes(data))


def foreign(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE songs (title TEXT)")
    db.commit()
    db.close()


def emptied(path: Path) -> None:
    state = State(path)
    with state.transaction() as db:
        db.execute("DROP TABLE timers")
    state.close()


@pytest.mark.parametrize("damage", [damage_text, damage_truncated, damage_middle, foreign, emptied])
def test_damaged_or_foreign_file_is_set_aside(path: Path, damage) -> None:
    path.parent.mkdir(parents=True)
    damage(path)
    before = path.read_bytes()
    moment = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    state = State(path, Clock(now=lambda: moment))
    assert state.get("volume", 70) == 70
    state.set("volume", 55)
    assert len(state.warnings) == 1
    assert "set aside" in state.warnings[0]
    aside = list(path.parent.glob(f"{FILE_NAME}.corrupt-20310506-070809*"))
    kept = [p for p in aside if not p.name.endswith(("-wal", "-shm"))]
    assert [p.read_bytes() for p in kept] == [before], "the user's file is kept as it was"
    state.close()
    assert State(path).warnings == []


def test_empty_file_is_simply_begun(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()
    assert State(path).warnings == []


def test_newer_schema_is_refused_not_destroyed(path: Path) -> None:
    state = State(path)
    state.set("volume", 33)
    state.query("PRAGMA user_version = 99")
    state.close()
    with pytest.raises(StateError, match="newer version"):
        State(path)
    assert path.exists()


def test_folder_that_cannot_be_made_gives_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StateError) as caught:
        State(tmp_path / "file" / "state.db")
    assert str(tmp_path / "file" / "state.db") in caught.value.message
    assert "\n" not in str(caught.value)


def test_folder_in_place_of_the_file_gives_one_sentence(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StateError, match="unable to open"):
        State(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder_gives_one_sentence(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.parent.chmod(0o500)
    with pytest.raises(StateError):
        State(path)


def test_full_disk_gives_one_sentence_and_keeps_the_old(path: Path) -> None:
    state = State(path)
    state.set("volume", 40)
    state.query("PRAGMA max_page_count = 1")
    with pytest.raises(StateError, match="full"):
        state.set("note", "x" * 200_000)
    assert state.get("volume") == 40


def test_writer_that_holds_the_lock_is_reported(path: Path) -> None:
    one, two = State(path), State(path)
    two.query("PRAGMA busy_timeout = 10")
    with one.transaction(), pytest.raises(StateError, match="locked"):
        two.set("volume", 1)
    two.set("volume", 2)
    assert one.get("volume") == 2


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path}/a:{tmp_path}/b")
    assert default_dir(ServiceConfig()) == tmp_path / "a"
    assert default_dir(ServiceConfig(state_dir=str(tmp_path / "c"))) == tmp_path / "c"
    monkeypatch.delenv("STATE_DIRECTORY")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert default_dir(ServiceConfig()).name == "assistant"


@pytest.mark.parametrize("folder", ["", "~/timers"])
def test_without_a_home_it_says_what_to_set(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    with pytest.raises(StateError, match="no home") as caught:
        default_dir(ServiceConfig(state_dir=folder))
    assert "service.state_dir" in caught.value.hint


WRITER = """
import sys
from assistant.state import State
state = State(sys.argv[1])
for i in range(1_000_000):
    with state.transaction() as db:
        db.execute("INSERT OR REPLACE INTO settings VALUES ('a', ?)", (str(i),))
        db.execute("INSERT OR REPLACE INTO settings VALUES ('b', ?)", (str(i),))
    print(i, flush=True)
"""


def test_kill_in_the_middle_of_writing(path: Path) -> None:
    """What was reported as written is there after kill -9, and pairs are never torn."""
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert writer.stdout is not None
        last = -1
        for line in writer.stdout:
            last = int(line)
            if last >= 30:
                break
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        last = max([last, *(int(n) for n in rest)])
        state = State(path)
        assert state.warnings == []
        assert state.get("a") == state.get("b") >= last
        state.close()


def test_a_folder_that_cannot_be_made_still_gives_a_state(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    state = State.kept(tmp_path / "file" / FILE_NAME)
    assert isinstance(state, UnkeptState)
    (warning,) = state.warnings
    assert "Nothing can be kept" in warning
    assert state.get("volume", 70) == 70
    assert state.query("SELECT * FROM timers") == []
    with pytest.raises(StateError):
        state.set("volume", 40)
    with pytest.raises(StateError), state.transaction():
        pass
    assert state.get("volume", 70) == 70
    state.close()


def _cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> State:
    def read_only(lock: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(lock))

    monkeypatch.setattr("assistant.state._exclusive", read_only)
    return State.kept(path)


def test_what_was_kept_is_known_where_it_can_no_longer_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = State(path)
    before.set("volume", 35)  # still in the log of changes: it was not closed
    state = _cannot_be_written(path, monkeypatch)
    assert isinstance(state, UnkeptState)
    assert state.get("volume") == 35
    with pytest.raises(StateError, match="Read-only"):
        state.set("volume", 40)
    before.close()
    state.close()


def test_nothing_is_made_up_about_a_file_that_cannot_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all" * 100)
    state = _cannot_be_written(path, monkeypatch)
    assert state.get("volume", 70) == 70
    with pytest.raises(StateError, match="Read-only"):
        state.query("SELECT * FROM timers")
    assert path.read_bytes().startswith(b"no database")
    state.close()
