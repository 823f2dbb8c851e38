"""Dice, coins, numbers and choices: every value on the die, and nothing beside it."""

from __future__ import annotations

import random
import re
from datetime import datetime
from pathlib import Path

import pytest

from assistant.config import Config
from assistant.intent.base import Intent
from assistant.intent.chance_slots import choices
from assistant.intent.grammar import Grammar
from assistant.skills.base import TurnContext
from assistant.skills.chance import skill
from assistant.skills.chance.skill import ChanceSkill
from assistant.state import State


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    built = Grammar([Path(skill.__file__).parent])
    built.load()
    return built


class Player:
    """Plays with a chance that is the same each time."""

    def __init__(self, folder: Path) -> None:
        self.state = State(folder / "state.db")
        self.skill = ChanceSkill(Config(), self.state, random.Random(3))
        self.turn = TurnContext(self.state.clock.now, self.state)

    def reply(self, name: str, **slots: object) -> str:
        return self.skill.handle(Intent(f"chance.{name}", dict(slots)), self.turn).reply

    def numbers(self, name: str, **slots: object) -> list[int]:
        return [int(n) for n in re.findall(r"\d+", self.reply(name, **slots))]


@pytest.fixture
def player(tmp_path: Path) -> Player:
    return Player(tmp_path)


def test_a_die_shows_each_of_its_sides(player: Player) -> None:
    rolled = {player.numbers("dice", count=1, sides=6)[0] for _ in range(200)}
    assert rolled == set(range(1, 7))
    rolled = {player.numbers("dice", count=1, sides=20)[0] for _ in range(600)}
    assert rolled == set(range(1, 21))


def test_several_dice_are_read_out_and_added_up(player: Player) -> None:
    for _ in range(50):
        *rolled, total = player.numbers("dice", count=3, sides=8)
        assert len(rolled) == 3
        assert sum(rolled) == total
    count, total = player.numbers("dice", count=40, sides=6)
    assert count == 40
    assert 40 <= total <= 240


def test_articles(player: Player) -> None:
    for _ in range(100):
        reply = player.reply("dice", count=1, sides=20)
        assert ("an 8." in reply) == (" 8." in reply)
        assert ("an 11." in reply) == (" 11." in reply)
        assert "an 1." not in reply


def test_a_coin_has_two_sides(player: Player) -> None:
    assert {player.reply("coin", count=1) for _ in range(50)} == {"Heads.", "Tails."}
    heads, tails = player.numbers("coin", count=7)
    assert heads + tails == 7
    assert "up to" in player.reply("coin", count=5000)


def test_numbers_stay_between_their_ends(player: Player) -> None:
    drawn = {player.numbers("number", low=3, high=5)[0] for _ in range(100)}
    assert drawn == {3, 4, 5}
    assert all(1 <= player.numbers("number")[0] <= 100 for _ in range(100))


def test_each_choice_is_made(player: Player) -> None:
    made = {player.reply("pick", options=["pizza", "pasta"]) for _ in range(50)}
    assert made == {"Pizza.", "Pasta."}


@pytest.mark.parametrize("said", ["again", "roll again", "one more time", "and again, please"])
def test_the_same_again(player: Player, said: str) -> None:
    last = Intent("chance.dice", {"count": 2, "sides": 6})
    assert player.skill.revise(last, said, player.turn) == last
    assert player.skill.revise(last, "what a roll", player.turn) is None


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("coffee tea or water", ["coffee", "tea", "water"]),
        ("red blue black or green", ["red", "blue", "black", "green"]),
        ("ice cream or cake", ["ice cream", "cake"]),
        ("dark blue or green", ["dark blue", "green"]),
        ("tomato soup or salad", ["tomato soup", "salad"]),
    ],
)
def test_choices_without_commas(said: str, parts: list[str]) -> None:
    assert choices(said, datetime.now()) == parts


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("soup fish or steak", ["soup", "fish", "steak"]),
        ("wine or beer?", ["wine", "beer"]),
        ("should we cook fish or chicken", ["fish", "chicken"]),
        ("what should I have for dinner, lasagne or chicken soup", ["lasagne", "chicken soup"]),
        ("apple juice or lemonade", ["apple juice", "lemonade"]),
    ],
)
def test_choices_without_a_word_around_them(
    grammar: Grammar, said: str, options: list[str]
) -> None:
    intent = grammar.understand(said)
    assert intent is not None
    assert (intent.name, intent.slots["options"]) == ("chance.pick", options)


@pytest.mark.parametrize(
    "said",
    [
        "sooner or later",
        "dead or alive",
        "is it fish or meat",
        "or",
        "banana bread",
        "peanut butter",
    ],
)
def test_what_is_no_choice_of_things(grammar: Grammar, said: str) -> None:
    assert grammar.understand(said) is None
