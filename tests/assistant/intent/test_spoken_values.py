"""Values as they are spoken and written, through the real sentences of the skills."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from unicode_rbnf import RbnfEngine

from assistant.intent.grammar import Grammar

ROOT = Path(__file__).resolve().parents[3]
NOW = datetime(2026, 3, 10, 11, 59, tzinfo=UTC)  # a minute before noon, a Tuesday
DURATIONS = yaml.safe_load((ROOT / "tests/data/durations.yaml").read_text(encoding="utf-8"))
RBNF = RbnfEngine.for_language("en")


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    sources = sorted(path.parent for path in (ROOT / "assistant/skills").glob("*/en.yaml"))
    grammar = Grammar(sources, now=lambda: NOW)
    grammar.load()
    return grammar


def slots(grammar: Grammar, text: str) -> dict[str, Any]:
    intent = grammar.understand(text)
    assert intent is not None, text
    return intent.slots


@pytest.mark.parametrize("row", DURATIONS["exact"], ids=lambda row: f"{row['seconds']} s")
def test_every_spelling_of_a_length_is_the_same_timer(
    grammar: Grammar, row: dict[str, Any]
) -> None:
    for said in row["say"]:
        if row["seconds"] >= 1 and not said.startswith("for "):
            wanted = pytest.approx(row["seconds"])
            assert slots(grammar, f"set a timer for {said}").get("duration") == wanted, said


@pytest.mark.parametrize("number", range(101))
def test_words_and_digits_are_the_same_level(grammar: Grammar, number: int) -> None:
    words = RBNF.format_number(number).text
    for said in (f"{number}", f"{number}%", f"{number} percent", words, f"{words} percent"):
        assert slots(grammar, f"set the volume to {said}") == {"level": number}, said


@pytest.mark.parametrize(
    ("said", "slots_wanted"),
    [
        ("volume zero", {"level": 0}),
        ("volume 0", {"level": 0}),
        ("volume 11", {"level": 11}),
        ("volume eleven", {"level": 11}),
        ("volume 130", {"level": 100, "said": 130}),
        ("volume -7", {"level": 0, "said": -7}),
        ("set the volume to max", {"level": 100}),
        ("volume half", {"level": 50}),
        ("set the volume to forty point five", {"level": 40.5}),
        ("set the volume to 40 point 5", {"level": 40.5}),
        ("set the volume to 40 and a half", {"level": 40.5}),
    ],
)
def test_levels(grammar: Grammar, said: str, slots_wanted: dict[str, Any]) -> None:
    assert slots(grammar, said) == slots_wanted


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("11 pm", "2026-03-10T23:00"),
        ("11:00pm", "2026-03-10T23:00"),
        ("eleven p m", "2026-03-10T23:00"),
        ("23:00", "2026-03-10T23:00"),
        ("2 PM", "2026-03-10T14:00"),
        ("two", "2026-03-10T14:00"),
        ("8 AM", "2026-03-11T08:00"),
        ("eight fifteen a m", "2026-03-11T08:15"),
        ("415 pm", "2026-03-10T16:15"),
        ("noon", "2026-03-10T12:00"),
        ("quarter to twelve", "2026-03-10T23:45"),
        ("6:45 am tomorrow", "2026-03-11T06:45"),
        ("6:45 am the day after tomorrow", "2026-03-12T06:45"),
        ("friday at half past six", "2026-03-13T06:30"),
        ("next friday at 7 am", "2026-03-20T07:00"),
        ("nine tonight", "2026-03-10T21:00"),
    ],
)
def test_alarms_are_the_next_such_time(grammar: Grammar, said: str, at: str) -> None:
    assert slots(grammar, f"set an alarm for {said}")["until"].startswith(at)


def test_directions_and_weeks_are_honoured(grammar: Grammar) -> None:
    day = 86_400
    for said, seconds in (
        ("in a week", 7 * day),
        ("in two weeks", 14 * day),
        ("in 3 hours", 10_800),
    ):
        found = slots(grammar, f"set an alarm {said}")
        until = found.get("until")
        after = (datetime.fromisoformat(until) - NOW).total_seconds() if until else 0
        assert seconds in (found.get("duration"), after), found
