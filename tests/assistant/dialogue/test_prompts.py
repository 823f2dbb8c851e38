"""The system message."""

from __future__ import annotations

from datetime import datetime

from assistant.dialogue.prompts import MAX_TIMERS, facts, system_text


def test_nothing_known_says_nothing() -> None:
    assert facts() == ()
    assert system_text("Be kind.") == "Be kind."


def test_facts_follow_the_instructions() -> None:
    known = facts(datetime(2026, 3, 5, 7, 4), timers=("pasta, 2 minutes left", "tea"), room="attic")
    assert system_text("Be kind.", known) == (
        "Be kind.\n\nFacts:\n"
        "- It is Thursday, 5 March 2026, 07:04.\n"
        "- You are in the attic.\n"
        "- Running timers: pasta, 2 minutes left; tea."
    )


def test_many_timers_do_not_fill_the_prompt() -> None:
    timers = tuple(f"timer {i}" for i in range(50))
    assert "".join(facts(timers=timers)).count("timer ") == MAX_TIMERS
