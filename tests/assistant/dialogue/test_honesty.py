"""A claim of an action is told from a statement, an offer, advice or a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from assistant.dialogue.honesty import HONEST, NOT_LOOKED, HonestyFilter, claims_action, honest

MORE = yaml.safe_load(
    (Path(__file__).parents[2] / "data" / "claims.yaml").read_text(encoding="utf-8")
)

CLAIMS = """
I've set a timer for twelve minutes.
I have set your alarm for half past six.
I’ve added oat milk to your shopping list.
I turned off the bedroom light.
I turned it off.
I just switched on the fan for you.
I already closed the blinds.
I've gone ahead and ordered a pizza.
I set the thermostat to 19 degrees.
I called your sister.
I've put that on the list.
I'll remind you to water the plants.
I will wake you at five.
I'll make sure to turn them on again tomorrow.
I'm going to lower the volume.
I'm about to lock the door.
I'm turning the heating up.
I promise to call you a taxi.
I'll be glad to play some music for you.
Let me turn that off for you.
We'll dim the lights now.
Turning off the lights.
Okay, setting a timer for three minutes.
Sure! Adding eggs to your list.
Playing your favourite songs.
Timer set for 5 minutes.
Okay, reminder created.
Lights off.
Your timer is set.
The alarm has been cancelled.
Your meeting is now scheduled for Tuesday.
The living room lights are off.
The front door is locked.
The music is playing now.
Done!
Okay, done.
All set.
It's done.
Consider it done.
That's taken care of.
""".strip().splitlines()

OTHERS = """
The capital of Italy is Rome.
I can't turn off the lights.
I'm sorry, but I can't set a timer.
I haven't set any timer.
I have not added it to the list.
I did not turn off the lights.
I will not order a pizza for you.
I never lock the door.
I can set a timer for you if you ask.
Would you like me to set a timer?
Shall I turn off the lights?
Did I turn off the light?
To set a timer, say how long it should run.
You can turn the lights off at the switch.
You should set an alarm.
You can't switch on the lamp with your voice.
You can call on him at the door.
Please do not order on a Sunday.
Turn off the water before you begin.
Make sure the oven is turned off before you leave.
If the light is off, check the bulb.
Once the timer is set, put the pasta in.
Setting a timer is a good way to boil eggs.
Opening a window helps to cool the room.
People set alarms to wake up in time.
The radio was invented more than a century ago.
The first alarm clock was made by a monk.
Light is made of many colours.
The sun has set.
The table is round.
Your pasta timer has four minutes left.
I'll tell you a story about a fox.
I will try to help you.
I have a joke for you.
I'm listening.
Let me know if you need anything.
I don't know that.
A timer counts down to zero.
""".strip().splitlines()


@pytest.mark.parametrize("sentence", CLAIMS)
def test_claims(sentence: str) -> None:
    assert claims_action(sentence)
    assert claims_action(sentence.lower())
    assert claims_action(f" {sentence.rstrip('.!')} ")


@pytest.mark.parametrize("sentence", MORE["claims"])
def test_more_claims(sentence: str) -> None:
    assert claims_action(sentence)


@pytest.mark.parametrize("sentence", [*OTHERS, *MORE["others"]])
def test_others(sentence: str) -> None:
    assert not claims_action(sentence)


def test_one_honest_sentence_takes_the_place_of_all_claims() -> None:
    honesty = HonestyFilter()
    checked = [
        honesty.check(s)
        for s in ["Good evening.", " I've set a timer.", " Your alarm is set.", " Sleep well."]
    ]
    assert checked == ["Good evening.", f" {HONEST}", "", " Sleep well."]


def test_the_honest_sentence_is_no_claim() -> None:
    assert not claims_action(HONEST)


def test_claims_of_having_looked_have_their_own_sentence() -> None:
    assert HonestyFilter().check("I checked your calendar.") == NOT_LOOKED
    assert not claims_action(NOT_LOOKED)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_pieces_of_any_size(size: int) -> None:
    text = "Hello. I turned off the light. The sky is blue. It is now switched on. Bye"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(honest(pieces)) == f"Hello. {HONEST} The sky is blue. Bye"


def test_a_whole_sentence_is_not_held_back() -> None:
    def pieces() -> Iterator[str]:
        yield "Good evening."
        pytest.fail("asked for the next sentence before giving out this one")

    assert next(honest(pieces())) == "Good evening."
