"""The system message."""

from __future__ import annotations

from datetime import datetime

import pytest

from assistant.dialogue.prompts import MAX_TIMERS, as_written, concerns, facts, system_text


def test_nothing_known_says_nothing() -> None:
    assert facts() == ()
    assert system_text("Be kind.") == "Be kind."


def test_facts_follow_the_instructions() -> None:
    known = facts(
        datetime(2026, 3, 5, 7, 4),
        timers=("pasta, 2 minutes left", "tea"),
        room="attic",
        done="Tea timer set.",
    )
    assert system_text("Be kind.", known) == (
        "Be kind.\n\nFacts:\n"
        "- It is Thursday, 5 March 2026, 07:04.\n"
        "- You are in the attic.\n"
        "- Running timers: pasta, 2 minutes left; tea.\n"
        "- Just now: Tea timer set."
    )


def test_many_timers_do_not_fill_the_prompt() -> None:
    timers = tuple(f"timer {i}" for i in range(50))
    assert "".join(facts(timers=timers)).count("timer ") == MAX_TIMERS


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("i am tired", "I am tired."),
        ("what do i need", "What do I need?"),
        ("what's that", "What's that?"),
        ("is it late?", "Is it late?"),
        ("Well said", "Well said"),
        ("", ""),
    ],
)
def test_as_written(typed: str, written: str) -> None:
    assert as_written(typed) == written


def test_facts_are_for_those_who_ask() -> None:
    assert concerns("I am so tired", ["rice"]) == frozenset()
    assert concerns("is it nearly the weekend", ["rice"]) == {"time"}
    assert concerns("do I have to wait for the rice", ["rice"]) == {"timers"}
    assert concerns("which room are you in") == {"room"}
    assert concerns("what did you just do") == {"done"}
    assert concerns("where does honey come from") == frozenset()
