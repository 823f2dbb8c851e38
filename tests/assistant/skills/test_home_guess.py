"""Free phrasing that may mean something else is asked about before anything moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.intent.base import Intent
from assistant.skills.home.confirm import NO_TIME, SURE
from tests.assistant.skills.house import furnish, living_in


@pytest.mark.parametrize(
    ("name", "slots", "question", "service"),
    [
        ("HassTurnOff", {"name": "Hall lamp"}, "Should I turn off the Hall lamp?", "turn_off"),
        ("HassTurnOn", {"name": "Curtain"}, "Should I open the Curtain?", "open_cover"),
        (
            "HassSetPosition",
            {"name": "Curtain", "position": "30"},
            "Should I set the Curtain to 30 percent?",
            "set_cover_position",
        ),
        ("HassTurnOff", {"name": "Front door"}, "Unlock the Front door: are you sure?", "unlock"),
    ],
)
def test_a_guess_is_asked_about(
    tmp_path: Path, name: str, slots: dict[str, Any], question: str, service: str
) -> None:
    with living_in(tmp_path, "Hall", furnish) as house:
        guess = Intent(f"home.{name}", slots, score=SURE - 0.05, source="heads")
        asked = house.handle(guess, "the hall lamp bothers me")
        assert (asked.question, asked.reply) == (True, question)
        assert house.calls == []
        house.say("yes please")
        assert [call[0].split(".")[-1] for call in house.calls] == [service]


def test_no_means_no(tmp_path: Path) -> None:
    with living_in(tmp_path, "Hall", furnish) as house:
        guess = Intent("home.HassTurnOff", {"name": "Hall lamp"}, score=0.5, source="heads")
        assert house.handle(guess, "the hall lamp bothers me").question
        assert house.registry.complete(house.expects, "no") is None
        assert house.calls == []


def test_what_is_sure_is_done(tmp_path: Path) -> None:
    with living_in(tmp_path, "Hall", furnish) as house:
        sure = Intent("home.HassTurnOff", {"name": "Hall lamp"}, score=0.99, source="heads")
        assert not house.handle(sure, "the hall lamp may go off").question
        assert len(house.calls) == 1


def test_questions_are_answered_at_once(tmp_path: Path) -> None:
    with living_in(tmp_path, "Hall", furnish) as house:
        guess = Intent("home.HassGetState", {"name": "Front door"}, score=0.5, source="heads")
        assert "locked" in house.handle(guess, "is the front door all right").reply


@pytest.mark.parametrize("said", ["turn the hall lamp off at seven", "the hall lamp off tomorrow"])
def test_what_is_for_a_time_is_not_done_at_once(tmp_path: Path, said: str) -> None:
    with living_in(tmp_path, "Hall", furnish) as house:
        sure = Intent("home.HassTurnOff", {"name": "Hall lamp"}, score=0.99, source="heads")
        outcome = house.handle(sure, said)
        assert (outcome.ok, outcome.reply) == (False, NO_TIME)
        assert house.calls == []
