"""What goes to which skill, and what happens when one is broken."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from assistant.config import Config
from assistant.errors import SkillError, StateError
from assistant.intent.base import Intent
from assistant.skills import registry as module
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.registry import APOLOGY, Registry
from assistant.state import State
from tests.assistant.skills.talk import Talk


class Moody(Skill):
    """Raises what it is told to."""

    name = "moody"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        raise self._error

    def notices(self, turn: TurnContext) -> list[str]:
        raise self._error


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state.db")


def outcome_of(error: Exception, state: State) -> Outcome:
    registry = Registry(Config(), state, [Moody(error)])
    return registry.handle(Intent("moody.do"), TurnContext(state.clock.now, state))


def test_skill_error_is_spoken(state: State) -> None:
    outcome = outcome_of(SkillError("x", "The kettle is empty."), state)
    assert (outcome.ok, outcome.reply, outcome.action) == (False, "The kettle is empty.", None)


def test_other_errors_are_never_read_aloud(state: State, caplog: pytest.LogCaptureFixture) -> None:
    for error in (ValueError("secret Traceback"), StateError("s", "/some/path failed.")):
        with caplog.at_level(logging.WARNING):
            outcome = outcome_of(error, state)
        assert (outcome.ok, outcome.reply, outcome.action) == (False, APOLOGY, None)
    assert caplog.text.count("secret Traceback") == 1
    assert "/some/path" in caplog.text


def test_notices_survive_a_failing_skill(state: State) -> None:
    registry = Registry(Config(), state, [Moody(StateError("s", "gone."))])
    assert registry.notices(TurnContext(state.clock.now, state)) == []


def test_intent_of_nobody(state: State) -> None:
    outcome = Registry.load(Config(), state).handle(
        Intent("lights.on"), TurnContext(state.clock.now, state)
    )
    assert not outcome.ok
    assert outcome.action is None


@pytest.mark.parametrize("broken", ["timer", "clock", "volume"])
def test_broken_skill_is_left_out_with_a_notice(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(module.SKILLS, broken, "NotThere")
    talk = Talk(tmp_path)
    (trouble,) = talk.registry.troubles
    assert trouble.code == f"skill.{broken}"
    assert broken in trouble.message
    assert talk.say("what can you do").ok
    assert broken not in [skill.name for skill in talk.registry.skills]
    if broken != "clock":
        assert talk.reply("what time is it") == "It's 2 PM."
    assert talk.registry.volume() == (70, False)
    assert (talk.registry.scheduler is None) == (broken == "timer")


def test_skill_that_is_switched_off(tmp_path: Path) -> None:
    talk = Talk(tmp_path, Config.model_validate({"skills": {"timer": {"enabled": False}}}))
    assert talk.registry.troubles == []
    assert talk.registry.scheduler is None
    assert talk.grammar.understand("set a timer for five minutes") is None
    assert "timer" not in talk.reply("what can you do")


def test_own_commands_are_answered(tmp_path: Path) -> None:
    cfg = Config.model_validate(
        {"understand": {"commands": {"Beside the bins.": ["where are the keys"]}}}
    )
    talk = Talk(tmp_path, cfg)
    assert talk.reply("Hey, where are the keys, please?") == "Beside the bins."
    assert "where are the keys" in talk.registry.vocabulary()


def test_bare_answers_need_a_question(tmp_path: Path) -> None:
    registry = Registry.load(Config(), State(tmp_path / "state.db"))
    assert registry.complete("", "five minutes") is None
    assert registry.complete("nobody.asks", "five minutes") is None
    assert registry.complete("clock.time", "five minutes") is None


def test_vocabulary_names_each_word_once(state: State) -> None:
    words = Registry.load(Config(), state).vocabulary()
    assert len(words) == len(set(words)) > 10
