"""What goes to a skill, what is refused, and what the language model is told."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from assistant.config import Config
from assistant.dialogue.history import History
from assistant.dialogue.honesty import HONEST
from assistant.dialogue.manager import NOT_TOLD, Manager
from assistant.dialogue.nonsense import NOT_UNDERSTOOD
from assistant.intent.base import Intent
from assistant.skills.registry import Registry
from assistant.state import State
from tests.assistant.dialogue.echo import Echo
from tests.assistant.grammars import loaded
from tests.assistant.skills.clocks import FakeClock


@pytest.fixture
def manager(tmp_path: Path) -> Manager:
    clock = FakeClock().clock
    state = State(tmp_path / "state.db", clock)
    registry = Registry.load(Config(), state)
    understander = loaded(registry.sentence_dirs, Config().understand, now=clock.now)
    return Manager(
        state=state,
        registry=registry,
        understander=understander,
        llm=Echo(),  # type: ignore[arg-type]
        history=History(Config().dialogue),
        now=clock.now,
        emit=lambda event: None,
    )


def answer(manager: Manager, text: str) -> tuple[str, str]:
    found = manager.respond(text, turn=1, cancel=threading.Event())
    return found.intent.name, " ".join("".join(found.pieces).split())


def given(manager: Manager) -> tuple[str, tuple[str, ...], int]:
    echo = manager._llm
    assert isinstance(echo, Echo)
    return echo.given[-1]


def test_orders_that_nobody_takes_are_refused_without_the_model(manager: Manager) -> None:
    name, reply = answer(manager, "turn on the porch light")
    assert name == "none"
    assert "no devices" in reply
    assert manager._llm.given == []  # type: ignore[union-attr]


def test_talk_that_stands_alone_goes_without_history_and_facts(manager: Manager) -> None:
    answer(manager, "why is the sea salty")
    answer(manager, "explain gravity to children")
    assert given(manager) == ("explain gravity to children", (), 0)
    answer(manager, "tell me more about it")
    assert given(manager)[2] == 2


def test_time_and_timers_are_told_when_they_matter(manager: Manager) -> None:
    answer(manager, "set a rice timer for ten minutes")
    answer(manager, "do I have to hurry with the rice")
    assert given(manager)[1] == ("Running timers: rice, 10 minutes left.",)
    answer(manager, "remind me in an hour to buy rice")
    answer(manager, "do I have to hurry with the rice")
    assert given(manager)[1] == ("Running timers: rice, 10 minutes left.",), "no reminders"
    answer(manager, "are there many days in this month")
    assert given(manager)[1] == ("It is Tuesday, 10 March 2026, 14:00.",)


def test_what_was_just_done_is_told_when_it_is_asked_about(manager: Manager) -> None:
    answer(manager, "set a rice timer for ten minutes")
    answer(manager, "why did you do that")
    assert given(manager)[1] == ("Just now: Rice timer set for 10 minutes.",)
    answer(manager, "why did you do that")
    assert given(manager)[1] == (), "talk has come between"


def test_what_the_user_told_is_given_back(manager: Manager) -> None:
    assert answer(manager, "how old is my dog") == ("dialogue.talk", NOT_TOLD)
    answer(manager, "my dog is nine years old")
    assert answer(manager, "how old is my dog") == ("dialogue.talk", "Your dog is nine years old.")


@pytest.mark.parametrize(
    "says",
    [
        ("Sure. I've set a timer. I'll remind you. Bye.",),
        ("Sure.", " I've set a timer.", " I'll remind you.", " Bye."),
        tuple("Sure. I've set a timer. I'll remind you. Bye."),
    ],
)
def test_claims_of_any_model_become_one_honest_sentence(
    manager: Manager, says: tuple[str, ...]
) -> None:
    manager._llm = Echo(*says)  # type: ignore[assignment]
    assert answer(manager, "are clocks any good") == ("dialogue.talk", f"Sure. {HONEST} Bye.")


def test_what_is_not_understood_leaves_the_last_command_in_place(manager: Manager) -> None:
    answer(manager, "set a timer for ten minutes")
    manager._llm.says = ("Flip the last one.",)  # type: ignore[union-attr]
    assert answer(manager, "flip the last one") == ("dialogue.talk", NOT_UNDERSTOOD)
    assert answer(manager, "call my mother")[0] == "none"
    assert answer(manager, "make it twenty")[0] == "timer.set"


def test_small_talk_is_not_guessed_to_be_a_command(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    guess = Intent("system.hello", score=0.9, source="heads")
    known = manager._understander
    monkeypatch.setattr(known, "exactly", known.understand)
    monkeypatch.setattr(known, "understand", lambda text: guess)
    assert answer(manager, "good night") == ("dialogue.talk", "Good night.")
    assert answer(manager, "why is the sea salty")[0] == "system.hello"
