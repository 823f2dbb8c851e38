"""Requests that no skill takes are told from talk about the same things."""

from __future__ import annotations

import pytest

from assistant.dialogue.requests import unable
from assistant.intent.base import Intent
from assistant.skills.base import Outcome, Skill, TurnContext

ORDERS = """
turn on the light
Could you please switch off the bedroom lamp?
switch the radio off
turn everything off
porch lights on
dim the lights a bit
set the thermostat to 19 degrees
make the kitchen lights green
open the garage
close the shutters please
lock the back door
start the robot vacuum
play something by mozart
can you play some jazz
put on some music
next song
pause the music
I want to listen to classical music
add oat milk to the shopping list
remove the bread from my shopping list
remind me to water the plants
remind me in an hour to check the oven
set an alarm every day at seven
set two timers for ten minutes
snooze for five minutes
pause the timer
call grandma
text my brother
send a message to tom
order a pizza
book a table for two
cancel my dentist appointment
take a photo
look up the opening hours
restart yourself
""".strip().splitlines()

QUESTIONS = """
what's the weather like
how is the weather tomorrow
will it rain on friday
is it going to snow
do I need an umbrella
how cold is it outside
what's in the news today
who won the game last night
when does the next train leave
what time does the library close
where are my glasses
what's on tv tonight
what is on my calendar today
""".strip().splitlines()

TALK = """
who turned on the lights
I already turned off the light
turn on the light is a song
do you play chess
play is important for children
call me Anna
what do you call a baby goat
what is a light year
how does a thermostat work
should I turn off the oven
how do I set an alarm on my phone
tell me a story about a robot vacuum
make up a story about a lamp
make me laugh
put yourself in my shoes
add some humor to it
open your heart
set the scene
take it easy
remind me who you are
recommend a book
I love music
is it hot in the sahara desert
what is a weather balloon
who won the battle of hastings
where is vienna
what is my name
what is on your mind
turn it into a poem
next please
change the subject
the alarm woke me
write a poem
""".strip().splitlines()


class Standing(Skill):
    """A skill of any name."""

    def __init__(self, name: str, abilities: tuple[str, ...], examples: tuple[str, ...]) -> None:
        self.name, self.abilities, self.examples = name, abilities, examples

    def handle(self, intent: Intent, turn: TurnContext) -> Outcome:
        return Outcome()


ALL = tuple(
    Standing(name, (f"do {name}",), (f"say {name}",))
    for name in ("timer", "reminder", "lists", "home", "media", "weather")
)


@pytest.mark.parametrize("text", ORDERS + QUESTIONS)
def test_something_is_said_whatever_is_there(text: str) -> None:
    for skills in ((), ALL):
        assert unable(text, skills).endswith(".")


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("turn on the porch light", "no devices"),
        ("is the stove still on", "no devices"),
        ("are any windows open", "no devices"),
        ("did I leave the oven on", "no devices"),
        ("play something by mozart", "music player"),
        ("put the radio on", "music player"),
        ("what's the weather like", "weather service"),
        ("how much snow will there be", "weather service"),
    ],
)
def test_what_has_nothing_to_act_on_says_so(text: str, missing: str) -> None:
    idle = [Standing(name, (), ("say so",)) for name in ("home", "media", "weather")]
    assert missing in unable(text, idle)


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("set an alarm every other blue moon", "alarms"),
        ("remind me about the thing", "Reminders"),
        ("add jam to my list of lists", "Lists"),
        ("turn on the porch light", "devices"),
        ("will it rain", "weather"),
    ],
)
def test_what_is_switched_off_says_so(text: str, off: str) -> None:
    said = unable(text, ())
    assert off in said
    assert "switched off in my settings" in said


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("set an alarm every other blue moon", "timer"),
        ("remind me about the thing", "reminder"),
        ("make an alarm called music lesson", "timer"),
        ("add jam to my list of lists", "lists"),
        ("turn the porch purple off", "home"),
        ("will it rain frogs", "weather"),
        ("next song", "media"),
    ],
)
def test_what_is_there_is_never_refused(text: str, name: str) -> None:
    assert f"say {name}" in unable(text, ALL)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("call grandma", "call anyone"),
        ("order a pizza", "order or book"),
        ("cancel my dentist appointment", "calendar"),
        ("what is on my calendar today", "calendar"),
        ("take a photo", "pictures"),
        ("what's in the news today", "news"),
        ("when does the next train leave", "look things up"),
        ("restart yourself", "restart"),
    ],
)
def test_what_no_skill_has_is_named(text: str, missing: str) -> None:
    assert missing in unable(text, ALL)


@pytest.mark.parametrize("text", TALK)
def test_talk(text: str) -> None:
    assert unable(text, ALL) == ""
    assert unable(text) == ""


def test_long_sentences_are_stories() -> None:
    assert unable("turn on the light " + "and then she went home " * 4) == ""
