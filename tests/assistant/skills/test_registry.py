"""What goes to which skill, and what happens when one is broken."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.config import Config
from assistant.errors import LlmError, SkillError, StateError
from assistant.intent.base import Intent
from assistant.skills import registry as module
from assistant.skills.base import Outcome, Skill, TurnContext
from assistant.skills.registry import APOLOGY, NO_UNDO, NOT_KEPT, NOTHING_TO_UNDO, Registry
from assistant.skills.system.skill import SystemSkill
from assistant.state import State
from tests.assistant.skills.clocks import FakeClock
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


class Lamp(Skill):
    """Can be lit, and that can be taken back; what is dropped is broken."""

    name = "lamp"

    def __init__(self) -> None:
        self.lit = False

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        if intent.name == "lamp.ask":
            return Outcome("It is lit." if self.lit else "It is dark.")
        undo = self._back if intent.name == "lamp.light" else None
        self.lit = intent.name == "lamp.light"
        return Outcome("Done.", {"skill": "lamp"}, undo=undo)

    def revise(self, last: Intent, text: str, turn: TurnContext) -> Intent | None:
        return Intent("lamp.drop") if text == "no, drop it" else None

    def _back(self) -> Outcome:
        self.lit = False
        return Outcome("It is dark again.", {"skill": "lamp"})


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
    for error in (ValueError("secret Traceback"), LlmError("s", "/some/path failed.")):
        with caplog.at_level(logging.WARNING):
            outcome = outcome_of(error, state)
        assert (outcome.ok, outcome.reply, outcome.action) == (False, APOLOGY, None)
    assert caplog.text.count("secret Traceback") == 1
    assert "/some/path" in caplog.text


def test_what_could_not_be_saved_is_told_until_something_can_be(state: State) -> None:
    full = StateError("state.failed", "disk is full: /some/path")
    registry = Registry(Config(), state, [Moody(full), Lamp()])
    outcome = registry.handle(Intent("moody.do"), TurnContext(state.clock.now, state))
    assert (outcome.ok, outcome.reply, outcome.action) == (False, NOT_KEPT, None)
    assert registry.state_error is full
    assert registry.handle(Intent("lamp.light"), TurnContext(state.clock.now, state)).ok
    assert registry.state_error is None


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
    assert talk.registry.scheduler is not None, "reminders ring without the timers"


def test_skill_that_is_switched_off(tmp_path: Path) -> None:
    off = {"timer": {"enabled": False}, "reminder": {"enabled": False}}
    talk = Talk(tmp_path, Config.model_validate({"skills": off}))
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


def undo(registry: Registry, state: State) -> Outcome:
    return registry.handle(Intent("system.undo"), TurnContext(state.clock.now, state))


@pytest.fixture
def lamp(tmp_path: Path) -> Iterator[tuple[Registry, Lamp, State, FakeClock]]:
    clock = FakeClock()
    state = State(tmp_path / "state.db", clock.clock)
    state.clock = replace(state.clock, boot=lambda: clock.uptime)
    skill = Lamp()
    registry = Registry(Config(), state, [skill, SystemSkill(Config(), state)])
    yield registry, skill, state, clock
    state.close()


def do(registry: Registry, state: State, name: str) -> Outcome:
    return registry.handle(Intent(name), TurnContext(state.clock.now, state))


def test_undo_takes_the_last_action_back_once(
    lamp: tuple[Registry, Lamp, State, FakeClock],
) -> None:
    registry, skill, state, _ = lamp
    assert not undo(registry, state).ok
    do(registry, state, "lamp.light")
    assert do(registry, state, "lamp.ask").reply == "It is lit.", "a question is not undone"
    outcome = undo(registry, state)
    assert (outcome.reply, outcome.ok, skill.lit) == ("It is dark again.", True, False)
    assert undo(registry, state).reply == NOTHING_TO_UNDO


def test_what_cannot_be_undone_hides_what_was_before(
    lamp: tuple[Registry, Lamp, State, FakeClock],
) -> None:
    registry, skill, state, _ = lamp
    do(registry, state, "lamp.light")
    do(registry, state, "lamp.drop")
    outcome = undo(registry, state)
    assert (outcome.reply, outcome.ok, skill.lit) == (NO_UNDO, False, False)


def test_undo_of_long_ago_is_refused(lamp: tuple[Registry, Lamp, State, FakeClock]) -> None:
    registry, skill, state, clock = lamp
    do(registry, state, "lamp.light")
    clock.step(-86_400)
    clock.wait(Config().dialogue.forget_after_s + 1)
    assert undo(registry, state).reply == NOTHING_TO_UNDO
    assert skill.lit


def test_a_correction_goes_to_the_skill_of_the_last_turn(
    lamp: tuple[Registry, Lamp, State, FakeClock],
) -> None:
    registry, _, state, _ = lamp
    turn = TurnContext(state.clock.now, state)
    last = Intent("lamp.light")
    assert registry.revise(last, "no, drop it", turn) == Intent("lamp.drop")
    assert registry.revise(last, "what a day", turn) is None
    assert registry.revise(Intent("nobody.did"), "no, drop it", turn) is None
