"""What is put together when a part of it is broken: the rest works, and somebody is told."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assistant.assembly import Assembly
from assistant.config import Config
from assistant.dialogue.manager import NO_MODEL
from assistant.errors import ModelError, StateError
from assistant.events import Event, Trouble
from assistant.state import FILE_NAME


@contextmanager
def assembled(folder: Path, **sections: object) -> Iterator[Assembly]:
    cfg = Config.model_validate({"service": {"state_dir": str(folder)}, **sections})
    assembly = Assembly(cfg)
    try:
        yield assembly
    finally:
        assembly.close()


def answer(assembly: Assembly, text: str) -> str:
    return " ".join(assembly.manager.respond(text, turn=1, cancel=threading.Event()).pieces)


@pytest.mark.parametrize("content", [None, b"", b"no model at all " * 100])
def test_without_language_model_commands_go_on(tmp_path: Path, content: bytes | None) -> None:
    model = tmp_path / "talk.gguf"
    if content is not None:
        model.write_bytes(content)
    with assembled(tmp_path, llm={"model": str(model)}) as assembly:
        assembly.load(sound=False)
        (trouble,) = assembly.troubles
        assert "only do commands" in trouble.message
        assert "talk.gguf" in trouble.message
        told: list[Event] = []
        assembly.bus.subscribe(told.append)
        assert answer(assembly, "what time is it").startswith("It's")
        assert answer(assembly, "set a timer for three minutes") == "Timer set for 3 minutes."
        assert not [event for event in told if isinstance(event, Trouble)]
        assert answer(assembly, "why do owls hoot") == NO_MODEL
        assert [event.code for event in told if isinstance(event, Trouble)] == [trouble.code]
        assert isinstance(assembly.manager.talk_error, ModelError)


def test_state_that_was_set_aside_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"these are no timers " * 500)
    with assembled(tmp_path, llm={"enabled": False}) as assembly:
        (trouble,) = assembly.troubles
        assert FILE_NAME in trouble.message
        assert "begin anew" in trouble.message
    with assembled(tmp_path, llm={"enabled": False}) as assembly:
        assert assembly.troubles == []


def test_state_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    with assembled(tmp_path, llm={"enabled": False}):
        pass
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("PRAGMA user_version = 1000")
    db.close()
    with pytest.raises(StateError, match="newer version"), assembled(tmp_path):
        pass


def test_skill_that_breaks_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, *args: object) -> None:
        raise StateError("state.failed", "There is no clock here.", "Buy one.")

    monkeypatch.setattr("assistant.skills.clock.skill.ClockSkill.__init__", broken)
    with assembled(tmp_path, llm={"enabled": False}) as assembly:
        assembly.load(sound=False)
        (trouble,) = assembly.troubles
        assert trouble.message == "The skill clock is switched off: There is no clock here."
        assert trouble.hint == "Buy one."
        assert answer(assembly, "set a timer for three minutes") == "Timer set for 3 minutes."
