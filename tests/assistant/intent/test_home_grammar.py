"""The sentences of a home: Home Assistant's own, ours, and what is none of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.home.base import Area, Entity, Snapshot
from assistant.intent import home_matcher, home_sentences
from assistant.intent.home_grammar import HomeGrammar, as_said
from assistant.intent.home_matcher import Matcher
from assistant.intent.home_names import Names, plain

DATA = Path(__file__).resolve().parents[2] / "data"

COMMANDS_OF_A_HOME = {
    "turn on the lights in the kitchen",
    "turn off the television",
    "play something by mozart",
}
"""Talk only where there is no home."""


def _cases() -> list[Any]:
    rows = yaml.safe_load((DATA / "home_sentences.yaml").read_text(encoding="utf-8"))
    return [pytest.param(row, text, id=text) for row in rows for text in row["sentences"]]


@pytest.fixture(scope="module")
def grammar(home: Snapshot) -> HomeGrammar:
    grammar = HomeGrammar(lambda: home)
    grammar.load()
    return grammar


@pytest.mark.parametrize(("row", "sentence"), _cases())
def test_sentence(grammar: HomeGrammar, row: dict[str, Any], sentence: str) -> None:
    intent = grammar.understand(sentence)
    assert intent is not None
    assert (intent.name, intent.slots) == (row["intent"], row["slots"])
    for key, value in row["slots"].items():
        assert type(intent.slots[key]) is type(value), "whole numbers are ints"


QUESTIONS = """is the tv on|are the lights on|is the kitchen light off|is the front door unlocked
did i turn off the kettle|did you turn off the tv|have i left the kettle on|what is on
which windows are open|how many lights are on|are all the lights off|is everything off
is everything locked|are the blinds closed|is the left curtain open|is the skylight shut
who is home|is mina home|where is otto|how warm is it in the bedroom|is it cold in here
what's the temperature of the bedroom radiator|what is the living room thermostat set to
why is the kettle on|when did the front door open|who turned off the lights
should i turn off the tv|how do i turn on the kettle|what does the kettle do
is the bedroom fan running|are any doors unlocked|did i lock up|is the garage open
what's the state of the garage door|do you know if the tv is on|tell me if the kettle is on
can you see whether the desk lamp is on|is the desk lamp on or off|which lights are off
are there any lights on in the kitchen|what lights are on upstairs|is anything on in the study
how bright is the floor lamp|what colour is the floor lamp|is the garden valve open
are the spots on in the kitchen|is there a light on downstairs|is the hall motion detected
was the tv on yesterday|will the lights be on tonight|is it possible to turn off the tv
would the desk lamp fit there|have you turned on the heating|did the vacuum start
how long has the tv been on|what if i turn off the lights|is it too dark in here""".replace(
    "\n", "|"
).split("|")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_never_changes_anything(grammar: HomeGrammar, question: str) -> None:
    for text in (question, question.capitalize() + "?"):
        intent = grammar.understand(text)
        assert intent is None or intent.name in {
            "home.HassGetState",
            "home.HassClimateGetTemperature",
        }


def talk() -> Iterator[str]:
    for line in (DATA / "intents" / "talk.txt").read_text(encoding="utf-8").splitlines():
        if line and line not in COMMANDS_OF_A_HOME:
            yield line


TALK = """turn off your brain for a minute|turn on the charm|i turned off the lights yesterday
don't turn on the tv|never open the garage door|do not lock the front door
open a book and read|close your eyes|set your mind at rest|kitchen|bathroom humour is not funny
the desk|lamp post|light as a feather|lights camera action|start a fight|stop it you two
lock and load|what is love|is the museum open|is the bank closed on sunday
is the game on tonight|how hot is the sun|who is the president|where is paris
is anyone listening|my favourite colour is red|i painted the kitchen red|dim sum is tasty
the curtain falls at ten|a garage band is a band|vacuum is empty space|clean energy is cheap
turn over a new leaf|switch to another topic|brighten my day with a joke""".replace(
    "\n", "|"
).split("|")


@pytest.mark.parametrize("text", [*talk(), *TALK])
def test_talk_is_no_command(grammar: HomeGrammar, text: str) -> None:
    intent = grammar.understand(text)
    assert intent is None or intent.name.startswith(("timer.", "clock.", "system."))


@pytest.mark.parametrize(
    ("text", "name", "slots"),
    [
        ("cancel all kitchen timers", "timer.cancel", {"which": "all", "name": "kitchen"}),
        ("pause the pizza timer", "timer.pause", {"name": "pizza"}),
        ("add 5 minutes to timer in the kitchen", "timer.add", {"name": "kitchen", "amount": 300}),
        ("what time is it", "clock.time", {}),
        ("set the volume to 40", "volume.set", {"level": 40}),
        ("turn the volume down by twenty percent", "volume.down", {"step": 20}),
        ("hello home assistant", "system.hello", {}),
        ("put honey on my shopping list", "lists.add", {"items": ["honey"], "list": "shopping"}),
    ],
)
def test_what_our_skills_do_goes_to_them(
    grammar: HomeGrammar, text: str, name: str, slots: dict[str, Any]
) -> None:
    intent = grammar.understand(text)
    assert intent is not None
    assert (intent.name, intent.slots) == (name, slots)


PREFIXES = ("", "please", "hey", "could you", "would you please", "okay now", "I'd like you to")
SUFFIXES = ("", "please", "thank you", "for me", "would you", "if you can", "thanks a lot")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_courtesy_changes_nothing(grammar: HomeGrammar, prefix: str, suffix: str) -> None:
    for command in ("turn on the desk lamp", "set the bedroom blinds to 30 percent"):
        intent = grammar.understand(f"{prefix} {command} {suffix}".strip())
        assert intent == grammar.understand(command)


def test_what_may_go_on_is_not_finished(grammar: HomeGrammar) -> None:
    for text in ("bedroom lamp", "the tv", "turn on the living", "turn off the coffee"):
        intent = grammar.understand(text)
        assert intent is not None
        assert intent.asks
    for text in ("turn on the bedroom lamp", "is the tv on", "lights off", "tv off"):
        intent = grammar.understand(text)
        assert intent is not None
        assert not intent.asks


def test_what_is_there_is_never_called_unknown(grammar: HomeGrammar) -> None:
    for text in ("close the front door", "dim the kettle"):
        intent = grammar.understand(text)
        assert intent is None or intent.name != "home.unknown_name"


def test_each_name_is_found_exactly(home: Snapshot) -> None:
    names = ["Lamp 1", "Lamp 2", "Lamp 3", "Lamp 11", "Lamp 12", "Lamp", "TV", "TV Mute", "TV 2"]
    names += ["Hall Lamp", "Hall Lamp Left", "Lamp One B", "Big Lamp 1", "Lamp 1 Left"]
    entities = tuple(Entity(f"light.x{i}", name) for i, name in enumerate(names))
    grammar = HomeGrammar(lambda: Snapshot(entities=entities, version=1))
    grammar.load()
    for name in names:
        intent = grammar.understand(f"turn on {name.lower()}")
        assert intent is not None
        assert intent.slots == {"name": name}


def test_names_are_read_again_when_the_version_changes(home: Snapshot) -> None:
    now = [home]
    grammar = HomeGrammar(lambda: now[0])
    grammar.load()
    attic = Area("attic", "Attic", floor="top")
    changed = replace(home, areas=(*home.areas, attic), version=1)
    now[0] = changed
    intent = grammar.understand("turn on the attic lights")
    assert intent is not None
    assert intent.name == "home.unknown_name", "the version tells when to read"
    now[0] = replace(changed, version=2)
    intent = grammar.understand("turn on the attic lights")
    assert intent is not None
    assert intent.slots == {"area": "Attic", "domain": "light"}


def test_an_empty_home_still_reports_names() -> None:
    grammar = HomeGrammar(Snapshot)
    grammar.load()
    intent = grammar.understand("turn on the kitchen light")
    assert intent is not None
    assert (intent.name, intent.slots["said"]) == ("home.unknown_name", "kitchen light")


def test_free_words_keep_their_letters() -> None:
    assert as_said("kind of blue", "Play Kind of Blue!") == "Kind of Blue"
    assert as_said("beyonce", "play Beyoncé, please") == "Beyoncé"
    assert as_said("not there", "play something") == "not there"


def test_long_and_odd_texts_are_no_commands(grammar: HomeGrammar) -> None:
    for text in ("", "   ", "?", "turn on " * 100, "{name}", "[(|)]", "💡"):
        assert grammar.understand(text) is None


def test_the_choice_of_templates_leaves_none_out_that_fits(home: Snapshot) -> None:
    """Compares with the library trying every template."""
    from hassil import recognize_all
    from hassil.intents import Intent as Meaning
    from hassil.intents import Intents

    sentences = home_sentences.compile_sentences([home_sentences.package(), home_sentences.own()])
    matcher, names = Matcher(sentences), Names(home)
    every: dict[str, Any] = {}
    for template in sentences.templates:
        every.setdefault(template.intent, Meaning(template.intent)).data.append(template.data)
    for text in [plain(case.values[1]) for case in _cases()[::6]] + ["the weather is nice"]:
        mentions = list(names.mentions(text))
        lists = {**sentences.lists, **home_matcher.name_lists(mentions)}
        intents = Intents("en", every, slot_lists=lists, expansion_rules=sentences.rules)
        results = recognize_all(text, intents, intent_context={"area": home_matcher.HERE})
        fitting = {result.intent_sentence.text for result in results}
        chosen = {t.data.sentence_texts[0] for t in matcher.candidates(text, mentions)}
        assert fitting <= chosen


def test_a_large_home_is_quick(home: Snapshot) -> None:
    rooms = [Area(f"room{i}", f"Room {chr(65 + i)}") for i in range(12)]
    things = ["Ceiling", "Wall Light", "Floor Lamp", "Fan", "Heater", "Left Blind", "TV", "Plug"]
    kinds = ["light", "light", "light", "fan", "climate", "cover", "media_player", "switch"]
    entities = [
        Entity(f"{kind}.{room.id}_{number}", f"{room.name} {thing}", area=room.id)
        for room in rooms
        for number, (thing, kind) in enumerate(zip(things, kinds, strict=True))
    ]
    snapshot = Snapshot(areas=tuple(rooms), entities=tuple(entities), version=1)
    grammar = HomeGrammar(lambda: snapshot)
    grammar.load()
    texts = [f"turn on the {entity.name.lower()}" for entity in entities[::4]]
    texts += [f"is the {entity.name.lower()} on in {rooms[0].name}" for entity in entities[::8]]
    for text in texts:
        grammar.understand(text)
    # of this thread alone, and a busy machine needs more of it
    started = time.thread_time()
    for text in texts:
        grammar.understand(text)
    assert (time.thread_time() - started) / len(texts) < 0.25, "far above what it takes"
