"""What is to be done later is done once, or told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.skills.home.later import KEY, Later, Task
from assistant.skills.home.skill import HomeSkill
from assistant.state import State
from tests.assistant.skills.clocks import FakeClock
from tests.assistant.skills.house import House, living_in
from tests.patience import PATIENCE_S


def due(house: House) -> list[str]:
    """Time has passed: what the thread would do now, and what is told of it."""
    looking = later(house)
    # what it has begun by itself is done first
    looking.close()
    if looking._thread is not None:
        looking._thread.join(PATIENCE_S)
    looking.run_due()
    return house.registry.notices(house.turn())


def later(house: House) -> Later:
    (skill,) = [skill for skill in house.registry.skills if isinstance(skill, HomeSkill)]
    return skill._later


def test_done_when_it_is_due(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        said = house.say("turn off the hall lamp in five minutes")
        assert said.reply == "Okay, I'll turn off the hall lamp in 5 minutes."
        assert said.action is not None
        house.time.wait(299)
        assert due(house) == []
        assert house.calls == []
        house.time.wait(2)
        due(house)
        assert house.calls == [("light.turn_off", ("light.hall",), {})]
        assert later(house).pending() == []


def test_the_thread_does_it_by_itself(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        house.say("turn off the lights in 10 minutes")
        house.time.wait(601)
        later(house)._wake.set()
        house.server.wait_for_calls(1)
        assert house.calls[0][1] == ("light.ceiling", "light.counter", "light.k")


def test_it_can_be_taken_back(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        house.say("turn off the hall lamp in five minutes")
        assert house.reply("undo that") == "Okay, I won't."
        house.time.wait(400)
        due(house)
        assert house.calls == []


def test_what_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with living_in(tmp_path, "Hall") as house:
        outcome = house.say("close the blinds in ten minutes")
        assert not outcome.ok
        assert later(house).pending() == []


def test_a_door_is_asked_for_now(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        assert house.say("open the garage door in five minutes").question
        assert later(house).pending() == []
        assert "5 minutes" in house.reply("yes")
        house.time.wait(301)
        due(house)
        assert [call[0] for call in house.calls] == ["cover.open_cover"]


def test_what_fails_then_is_told(tmp_path: Path) -> None:
    with living_in(tmp_path) as house:
        house.say("turn off the hall lamp in five minutes")
        house.server.set_state("light.hall", "unavailable")
        house.settle("light.hall", "unavailable")
        house.time.wait(301)
        assert due(house) == ["I could not turn off the hall lamp: The Hall lamp did not answer."]
        assert due(house) == []


def test_a_restart_keeps_it_and_a_long_absence_is_told(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "state.db"
    done: list[Task] = []
    commands = [{"intent": "home.HassTurnOff", "slots": {"domain": "light"}}]
    before = State(path, clock.clock)
    Later(before, done.append).add(300, commands, "turn off the lights")
    Later(before, done.append).add(900, commands, "turn off the fan")
    before.close()
    clock.reboot(310)
    state = State(path, clock.clock)
    after, other = Later(state, done.append), Later(state, done.append)
    after.run_due()
    other.run_due()
    assert [(t.said, list(t.commands)) for t in done] == [("turn off the lights", commands)]
    clock.wait(3600)
    after.run_due()
    assert len(done) == 1
    assert after.take_told() == ["I was not there when I should have done this: turn off the fan."]
    assert json.loads(json.dumps(state.get(KEY))) == []
    state.close()


def test_only_so_many_and_so_long(tmp_path: Path) -> None:
    from assistant.errors import SkillError

    state = State(tmp_path / "state.db", FakeClock().clock)
    keeper = Later(state, lambda task: None)
    with pytest.raises(SkillError, match="seven days"):
        keeper.add(8 * 86_400, [], "x")
    for _ in range(50):
        keeper.add(60, [], "x")
    with pytest.raises(SkillError, match="already 50"):
        keeper.add(60, [], "x")
    assert len(keeper.pending()) == 50
    state.close()
