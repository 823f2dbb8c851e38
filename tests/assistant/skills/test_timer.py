"""Timers by voice, one turn and two."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.config import Config
from assistant.dialogue.several import several
from tests.assistant.skills.talk import Talk


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    return Talk(tmp_path_factory.mktemp("talk"))


@pytest.fixture
def talk(shared: Talk, tmp_path: Path) -> Talk:
    """A fresh device; only the compiled sentences are shared."""
    fresh = Talk.__new__(Talk)
    fresh.__dict__.update(shared.__dict__)
    fresh.time = type(shared.time)()
    fresh.path = tmp_path / "state.db"
    fresh.restart()
    return fresh


def test_confirmation_reads_the_length_back(talk: Talk) -> None:
    outcome = talk.say("set a timer for one and a half hours called pasta")
    assert outcome.reply == "Pasta timer set for 1 hour 30 minutes."
    assert outcome.action is not None
    assert (
        outcome.action.items()
        >= {
            "skill": "timer",
            "do": "set",
            "seconds": 5400,
            "name": "pasta",
            "due": "2026-03-10T15:30:00+00:00",
        }.items()
    )
    assert type(outcome.action["seconds"]) is int


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("set a timer for 1 second", "Timer set for 1 second."),
        ("set a timer for half an hour", "Timer set for 30 minutes."),
        ("set a timer for seven minutes", "Timer set for 7 minutes."),
        ("set a timer for 61 minutes and 5 seconds", "Timer set for 1 hour 1 minute 5 seconds."),
        ("set a timer for 1.5 seconds", "Timer set for 1.5 seconds."),
        ("set a timer for two days", "Timer set for 2 days."),
        ("wake me up in 20 minutes", "Wake-up timer set for 20 minutes."),
        ("set a timer until 4 pm", "Timer set for 4 PM, in 2 hours."),
        (
            "set a timer for ten to seven tomorrow morning",
            "Timer set for 6:50 AM tomorrow, in 16 hours 50 minutes.",
        ),
    ],
)
def test_lengths_and_times(talk: Talk, said: str, reply: str) -> None:
    assert talk.reply(said) == reply


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("set a timer for zero seconds", "A timer needs at least one second."),
        ("set a timer for half a second", "A timer needs at least one second."),
        ("set a timer for 31 days", "I can set timers for up to 30 days."),
        ("set a timer until today at 9 am", "That time has already passed."),
    ],
)
def test_lengths_that_are_refused(talk: Talk, said: str, reply: str) -> None:
    outcome = talk.say(said)
    assert (outcome.reply, outcome.action, outcome.ok) == (reply, None, False)
    assert talk.reply("what timers are set") == "No timers are set."


def test_thirty_days_are_allowed(talk: Talk) -> None:
    assert talk.say("set a timer for 30 days").ok


def test_answer_completes_the_command(talk: Talk) -> None:
    outcome = talk.say("set a timer called green tea")
    assert (outcome.reply, outcome.question, outcome.action) == ("For how long?", True, None)
    assert talk.reply("four minutes, please") == "Green tea timer set for 4 minutes."


@pytest.mark.parametrize("answer", ["five minutes", "for 5 minutes", "make it five minutes"])
def test_answers(talk: Talk, answer: str) -> None:
    talk.say("set a timer")
    assert talk.reply(answer) == "Timer set for 5 minutes."


def test_bare_number_is_asked_about_and_never_guessed(talk: Talk) -> None:
    assert talk.reply("set a timer for ten") == "10 seconds, minutes or hours?"
    assert talk.reply("minutes") == "Timer set for 10 minutes."
    talk.say("start a rice timer")
    assert talk.reply("twelve") == "12 seconds, minutes or hours?"
    assert talk.reply("12 minutes") == "Rice timer set for 12 minutes."


def test_never_mind_and_another_topic_end_the_question(talk: Talk) -> None:
    talk.say("set a timer called soup")
    assert talk.say("never mind").control == "stop"
    assert talk.registry.complete(talk.expects, "five minutes") is None
    talk.say("set a timer called soup")
    assert talk.reply("what time is it") == "It's 2 PM."
    assert talk.registry.complete(talk.expects, "five minutes") is None
    talk.say("set a timer called soup")
    assert talk.reply("set a timer for 3 minutes") == "Timer set for 3 minutes."
    assert talk.reply("what timers are set") == "The 3 minute timer has 3 minutes left."


@pytest.mark.parametrize("talked", ["why is the sky blue", "I don't know", "five", "the big one"])
def test_talk_is_no_answer_to_how_long(talk: Talk, talked: str) -> None:
    talk.say("set a timer")
    intent = talk.registry.complete(talk.expects, talked)
    assert intent is None or "duration" not in intent.slots


def test_list_and_time_left(talk: Talk) -> None:
    assert talk.reply("do I have any timers") == "No timers are set."
    talk.say("set a ten minute timer")
    talk.say("set a pasta timer for 1 hour 12 minutes")
    talk.time.wait(90)
    assert talk.reply("how much time is left on the pasta timer") == (
        "The pasta timer has 1 hour 10 minutes left."
    )
    assert talk.reply("how long is left on the ten minute timer") == (
        "The 10 minute timer has 8 minutes 30 seconds left."
    )
    assert talk.reply("what timers are set") == (
        "You have 2 timers. The 10 minute timer has 8 minutes 30 seconds left."
        " The pasta timer has 1 hour 10 minutes left."
    )


def kitchen(talk: Talk) -> None:
    for said in ("pasta timer for 8 minutes", "egg timer for 5 minutes", "timer for 10 minutes"):
        talk.say(f"set a {said}")


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("cancel the pasta timer", "Pasta timer cancelled."),
        ("stop the eggs timer", "Egg timer cancelled."),
        ("cancel the ten minute timer", "10 minute timer cancelled."),
        ("cancel the last timer", "10 minute timer cancelled."),
        ("cancel the first timer", "Pasta timer cancelled."),
        ("cancel all timers", "3 timers cancelled."),
    ],
)
def test_cancel_what_was_named(talk: Talk, said: str, reply: str) -> None:
    kitchen(talk)
    assert talk.reply(said) == reply


def test_cancel_the_only_one(talk: Talk) -> None:
    assert talk.say("cancel the timer").ok is False
    talk.say("set a timer for 9 minutes")
    assert talk.reply("cancel the timer") == "9 minute timer cancelled."


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ("pasta", "Pasta timer cancelled."),
        ("the pasta one please", "Pasta timer cancelled."),
        ("the ten minute timer", "10 minute timer cancelled."),
        ("ten minutes", "10 minute timer cancelled."),
        ("the first one", "Egg timer cancelled."),
        ("all of them", "3 timers cancelled."),
        ("the last one", "10 minute timer cancelled."),
    ],
)
def test_asks_which_one(talk: Talk, answer: str, reply: str) -> None:
    kitchen(talk)
    outcome = talk.say("cancel the timer")
    assert outcome.question
    assert outcome.reply == ("Which one: the egg timer, the pasta timer or the 10 minute timer?")
    assert talk.reply(answer) == reply


def test_which_one_of_two_alike(talk: Talk) -> None:
    talk.say("set a timer for 10 minutes")
    talk.time.wait(120)
    talk.say("set a timer for 10 minutes")
    assert talk.reply("cancel the ten minute timer") == (
        "Which one: the 10 minute timer with 8 minutes left"
        " or the 10 minute timer with 10 minutes left?"
    )
    assert talk.say("the second one").ok
    assert talk.reply("what timers are set") == "The 10 minute timer has 8 minutes left."


def test_unknown_name_is_said_back(talk: Talk) -> None:
    kitchen(talk)
    for said in ("cancel the quiche timer", "how much time is left on the quiche timer"):
        outcome = talk.say(said)
        assert not outcome.ok
        assert outcome.action is None
        assert "quiche" in outcome.reply
        assert "the pasta timer" in outcome.reply
    talk.say("cancel the timer")
    assert "quiche" in talk.reply("the quiche one")


def test_exact_name_beats_a_longer_one(talk: Talk) -> None:
    talk.say("set a timer called tea for 3 minutes")
    talk.say("set a timer called green tea for 4 minutes")
    assert talk.reply("cancel the tea timer") == "Tea timer cancelled."
    assert talk.reply("cancel the tea timer") == "Green tea timer cancelled."


def test_longer_and_shorter(talk: Talk) -> None:
    talk.say("set a timer for 10 minutes called ham")
    assert talk.reply("add five minutes to the ham timer") == (
        "5 minutes added to the ham timer. 15 minutes left."
    )
    assert talk.reply("take two minutes off the timer") == (
        "2 minutes taken off the ham timer. 13 minutes left."
    )
    outcome = talk.say("take an hour off the ham timer")
    assert (outcome.ok, outcome.reply) == (False, "The ham timer has only 13 minutes left.")
    assert not talk.say("add 30 days to the ham timer").ok
    talk.say("set a timer for 1 hour")
    assert talk.reply("add a minute to the timer").startswith("Which one")
    assert talk.reply("the ham one") == "1 minute added to the ham timer. 14 minutes left."


@pytest.mark.parametrize("said", ["stop", "cancel", "cancel the timer", "stop the oven timer"])
def test_ringing_ends_in_each_way(talk: Talk, said: str) -> None:
    scheduler = talk.registry.scheduler
    assert scheduler is not None
    talk.say("set an oven timer for 1 minute")
    talk.say("set a timer for 1 hour")
    talk.time.wait(61)
    assert [t.name for t in scheduler.due().rings] == ["oven"]
    assert talk.reply("how much time is left on the oven timer") == "The oven timer is up."
    outcome = talk.say(said)
    assert outcome.control == "stop"
    assert outcome.action is not None
    assert outcome.action["name"] == "oven"
    assert scheduler.timers("ringing") == []
    assert len(scheduler.timers()) == 1, "the other one runs on"


def test_missed_ones_are_said_once(talk: Talk) -> None:
    talk.say("set a timer for 10 minutes called rice")
    talk.say("set a timer for 20 minutes")
    talk.time.reboot(86_400)
    talk.restart()
    assert talk.registry.notices(talk.turn()) == [
        "You missed the rice timer: it ended at 2:10 PM yesterday.",
        "You missed the 20 minute timer: it ended at 2:20 PM yesterday.",
    ]
    assert talk.registry.notices(talk.turn()) == []
    assert talk.reply("what timers are set") == "No timers are set."


def test_asking_for_timers_tells_of_missed_ones(talk: Talk) -> None:
    talk.say("set a timer for 10 minutes called rice")
    talk.time.wait(3600)
    assert talk.reply("what timers are set") == (
        "You missed the rice timer: it ended at 2:10 PM. No timers are set."
    )
    assert talk.reply("what timers are set") == "No timers are set."


def test_there_is_a_limit(talk: Talk) -> None:
    scheduler = talk.registry.scheduler
    assert scheduler is not None
    for i in range(100):
        scheduler.add(f"n{i}", 1000 + i)
    outcome = talk.say("set a timer for 5 minutes")
    assert (outcome.ok, outcome.action) == (False, None)


def test_names_are_in_the_vocabulary(talk: Talk) -> None:
    talk.say("set a timer for 10 minutes called bouillabaisse")
    assert "bouillabaisse" in talk.registry.vocabulary()
    assert "timer" in talk.registry.vocabulary()


def test_twenty_four_hours(tmp_path: Path) -> None:
    cfg = Config.model_validate({"skills": {"clock": {"twenty_four_hour": True}}})
    talk = Talk(tmp_path, cfg)
    assert talk.reply("set a timer until 4 pm") == "Timer set for 16:00, in 2 hours."


def test_several_timers_in_one_sentence(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    assert talk.reply("set timers for 4 and 9 minutes") == "2 timers set: 4 minutes and 9 minutes."
    outcome = talk.say("start two timers for an hour and ten minutes")
    assert outcome.reply == "2 timers set: 1 hour and 10 minutes."
    assert outcome.undo is not None
    assert outcome.undo().reply == "2 timers cancelled."
    assert talk.reply("cancel everything") == "2 timers cancelled."
    assert talk.reply("cancel everything") == "There is nothing to cancel."
    assert talk.reply("turn it off") == "There is nothing to turn off."
    assert talk.reply("stop") == "OK."


@pytest.mark.parametrize(
    ("said", "lengths"),
    [
        ("three timers: two minutes, four minutes and six minutes", [120, 240, 360]),
        ("set timers for 3, 6 and 9 minutes", [180, 360, 540]),
        ("timers for two minutes thirty seconds and eight minutes", [150, 480]),
        ("set 3 timers for one, one and a half and two hours", [3600, 5400, 7200]),
    ],
)
def test_lengths_in_a_row_are_a_timer_each(talk: Talk, said: str, lengths: list[int]) -> None:
    talk.say(said)
    assert [timer.seconds for timer in talk.registry.scheduler.timers()] == lengths  # type: ignore[union-attr]


def test_one_for_this_and_one_for_that_are_two(talk: Talk) -> None:
    text = "start a timer for 40 minutes for the bread and one for 25 minutes for the soup"
    whole = talk.grammar.understand(text)
    assert whole is None, "the name would be a sentence"
    assert several(text, talk.grammar.understand)[1].slots == {"duration": 1500, "name": "soup"}
