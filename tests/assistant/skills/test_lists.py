"""Lists by voice: what goes on, comes off, and is read out."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from assistant.intent.base import Intent
from assistant.skills.lists.store import Store
from tests.assistant.skills.talk import Talk


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    return Talk(tmp_path_factory.mktemp("lists"))


@pytest.fixture
def talk(device: Talk, tmp_path: Path) -> Talk:
    """The same sentences, and a device with no lists yet."""
    device.path = tmp_path / "state.db"
    device.restart()
    return device


def on(talk: Talk, name: str = "shopping") -> list[str]:
    return [item.text for item in Store(talk.state).items(name)]


def follow(talk: Talk, last: str, text: str) -> Intent | None:
    intent = talk.grammar.understand(last)
    assert intent is not None
    return talk.registry.revise(intent, text, talk.turn(text))


def test_things_by_their_places(talk: Talk) -> None:
    talk.say("add rice, leeks and oil to the shopping list")
    assert talk.reply("what is the second item on the list") == "It's leeks."
    assert talk.reply("remove the third item") == "Removed oil from the shopping list."
    assert talk.reply("tick off the first item on the shopping list") == "Ticked off rice."
    assert talk.reply("delete the fourth entry") == "There is one thing on the shopping list."
    assert on(talk) == ["leeks"]


def test_things_move_to_another_list(talk: Talk) -> None:
    talk.say("add nails, string and tea to the shopping list")
    outcome = talk.say("move nails and string to my hardware list")
    assert outcome.reply == "Moved nails and string to the hardware list."
    assert (on(talk), on(talk, "hardware")) == (["tea"], ["nails", "string"])
    assert outcome.undo is not None
    assert outcome.undo().reply == "Nails and string are back on the shopping list."
    assert (on(talk), on(talk, "hardware")) == (["nails", "string", "tea"], [])
    assert talk.reply("move tea from the shopping list to the to-do list") == (
        "Moved tea to the to-do list."
    )
    assert talk.reply("move soap to the shopping list") == "I can't find soap on any other list."
    assert on(talk, "to-do") == ["tea"]


def test_one_thing_and_several(talk: Talk) -> None:
    assert talk.reply("add milk to the shopping list") == "Added milk to the shopping list."
    reply = talk.reply("put eggs, butter and bread on my shopping list")
    assert reply == "Added 3 things to the shopping list: eggs, butter and bread."
    assert on(talk) == ["milk", "eggs", "butter", "bread"]
    talk.restart()
    reply = talk.reply("what's on the shopping list?")
    assert reply == "There are 4 things on the shopping list: milk, eggs, butter and bread."


ADJECTIVES = (
    "small red frozen organic large gluten-free spicy extra-strong half-price Dutch".split()
)
NOUNS = """marbles raisins walnuts hinges glitter sprockets oregano tent-pegs ink tortillas beeswax
twine lentils cardamom felt buttons chutney candles radishes clothes-pegs""".split()
JOINED = [
    "salt and vinegar crisps",
    "mac and cheese",
    "salt and pepper",
    "half and half",
    "fish and chips",
    "carrot and coriander soup",
    "cheese and onion pasties",
    "nuts and bolts",
    "black and white film",
    "sweet and sour sauce",
    "needle felt and sprocket oil",
    "head and shoulders",
]


def test_any_words_go_on_a_list(talk: Talk) -> None:
    rng = random.Random(16)
    singles = [*NOUNS, *(f"{a} {n}" for a in ADJECTIVES for n in NOUNS)]
    items = [*rng.sample(singles, 188), *JOINED]
    rng.shuffle(items)
    forms = ("add {} to the shopping list", "put {} on my shopping list, please")
    for item in items:
        talk.say(rng.choice(forms).format(item))
    assert on(talk) == items
    assert len(items) == 200


@pytest.mark.parametrize(
    ("said", "things"),
    [
        ("milk, salt and vinegar crisps and bread", ["milk", "salt and vinegar crisps", "bread"]),
        ("two pints of milk and a dozen eggs", ["two pints of milk", "a dozen eggs"]),
        ("the red wine and some cheese", ["red wine", "cheese"]),
        ("milk eggs and bread", ["milk", "eggs", "bread"]),
        ("milk and tomato soup", ["milk", "tomato soup"]),
        ("Käse, Brötchen und Müsli", ["Käse", "Brötchen und Müsli"]),
        ("1,500 paper clips", ["1,500 paper clips"]),
        ("7-up and AAA batteries", ["7-up", "AAA batteries"]),
        ("thank you cards", ["thank you cards"]),
        ("a letter to my brother", ["letter to my brother"]),
        ("bread and butter pudding", ["bread and butter pudding"]),
        ("what's-his-name's present", ["what's-his-name's present"]),
    ],
)
def test_what_is_one_thing_and_what_are_two(talk: Talk, said: str, things: list[str]) -> None:
    talk.say(f"add {said} to the shopping list")
    assert on(talk) == things


def test_tasks_go_on_the_to_do_list(talk: Talk) -> None:
    talk.say("put call the plumber and pay the rent on my list")
    talk.say("add wash and iron the shirts to my to do list")
    assert on(talk, "to-do") == ["call the plumber", "pay the rent", "wash and iron the shirts"]
    assert talk.reply("how many tasks do I have").startswith("There are 3 things")


def test_what_is_there_is_not_added_again(talk: Talk) -> None:
    talk.say("add eggs to the shopping list")
    outcome = talk.say("add an egg to the shopping list")
    assert (outcome.reply, outcome.action) == ("Egg is already on the shopping list.", None)
    reply = talk.reply("add eggs and milk to the shopping list")
    assert reply == "Added milk to the shopping list. Eggs are already on the shopping list."


def test_shopping_without_the_word_list(talk: Talk) -> None:
    talk.say("we need milk")
    talk.say("we're out of toilet paper")
    talk.say("add eggs and butter")
    assert on(talk) == ["milk", "toilet paper", "eggs", "butter"]
    assert talk.reply("what do I need to buy").endswith("milk, toilet paper, eggs and butter.")
    talk.say("I bought the milk")
    talk.say("we don't need eggs any more")
    assert on(talk) == ["toilet paper", "butter"]
    assert talk.grammar.understand("we need to talk") is None
    assert talk.grammar.understand("add a nice touch") is None


def test_items_come_off_by_any_of_their_words(talk: Talk) -> None:
    talk.say("add two pints of milk, paint and brushes, and tea to the shopping list")
    outcome = talk.say("remove milk from the shopping list")
    assert outcome.reply == "Removed two pints of milk from the shopping list."
    assert outcome.action is not None
    assert outcome.action["now"] == on(talk)
    reply = talk.reply("take the coffee off the list")
    assert reply == "I can't find coffee on any list."
    reply = talk.reply("remove tea and sugar from my shopping list")
    assert reply == "Removed tea from the shopping list. I can't find sugar."


def test_part_of_a_line_comes_off(talk: Talk) -> None:
    talk.say("add glitter and sprockets to the shopping list")
    assert on(talk) == ["glitter and sprockets"]
    assert talk.reply("remove sprockets from the list").startswith("Removed sprockets")
    assert on(talk) == ["glitter"]
    talk.reply("undo that")
    assert on(talk) == ["glitter and sprockets"]


def test_which_one_is_asked(talk: Talk) -> None:
    talk.say("add oat milk, soy milk and tea to the shopping list")
    outcome = talk.say("remove milk and tea from the shopping list")
    assert (outcome.reply, outcome.question) == ("Which one: oat milk or soy milk?", True)
    assert on(talk) == ["oat milk", "soy milk", "tea"], "nothing is done before it is clear"
    talk.say("the second one")
    assert on(talk) == ["oat milk"]
    talk.say("add almond milk to the shopping list")
    talk.say("remove milk from the shopping list")
    talk.say("both")
    assert on(talk) == []


def test_ticked_things_are_no_longer_read(talk: Talk) -> None:
    talk.say("add soap and candles to the shopping list")
    assert talk.reply("cross off soap on the shopping list") == "Ticked off soap."
    assert talk.reply("what's on my list") == "There is one thing on the shopping list: candles."
    talk.say("undo")
    assert on(talk) == ["soap", "candles"]


def test_long_lists_are_read_in_parts(talk: Talk) -> None:
    items = [f"thing number {n}" for n in range(1, 21)]
    Store(talk.state).add("shopping", items)
    outcome = talk.say("read me the shopping list")
    assert outcome.reply.startswith("There are 20 things on the shopping list: thing number 1, ")
    assert outcome.reply.endswith("thing number 8, and 12 more. Shall I go on?")
    outcome = talk.say("yes, go on")
    assert outcome.reply.endswith("thing number 16, and 4 more. Shall I go on?")
    outcome = talk.say("sure")
    assert outcome.reply.startswith("Then thing number 17,")
    assert not outcome.question
    talk.say("read the shopping list")
    assert talk.reply("no thanks") == "OK."


def test_a_list_that_hardly_is_too_long_is_read_at_once(talk: Talk) -> None:
    Store(talk.state).add("shopping", [f"item {n}" for n in range(10)])
    assert not talk.say("read me my shopping list").question


def test_clearing_asks_first_and_can_be_undone(talk: Talk) -> None:
    items = [f"item {n}" for n in range(12)]
    Store(talk.state).add("shopping", items)
    outcome = talk.say("clear my shopping list")
    assert outcome.reply == "Shall I clear all 12 items from the shopping list?"
    assert talk.reply("no") == "OK, the shopping list stays as it is."
    assert on(talk) == items
    talk.say("remove everything from the shopping list")
    assert talk.reply("yes please") == "The shopping list is empty now."
    assert on(talk) == []
    assert talk.reply("undo that") == "The shopping list is back: there are 12 things on it."
    assert on(talk) == items


def test_lists_of_any_name(talk: Talk) -> None:
    assert talk.reply("make a packing list") == "There is a packing list now."
    talk.say("add passport to the packing list")
    talk.say("add a tent to the camping list")
    assert talk.reply("what lists do I have") == (
        "There are 2 lists: packing with one item and camping with one item."
    )
    assert talk.reply("create a packing list").startswith("There is a packing list already")
    assert talk.say("make a list").question
    assert talk.reply("call it birthday presents") == "There is a birthday presents list now."
    assert talk.reply("what's on the birthday presents list").endswith("list is empty.")
    assert talk.say("delete the camping list").question
    assert talk.reply("yes") == "The camping list is deleted."
    outcome = talk.say("what's on the camping list")
    assert (outcome.ok, outcome.reply) == (False, "There is no camping list.")
    talk.say("undo that")
    assert on(talk, "camping") == ["tent"]


def test_a_name_that_was_misheard_finds_its_list(talk: Talk) -> None:
    talk.say("add milk to the shoping list")
    assert on(talk) == ["milk"]


def test_questions(talk: Talk) -> None:
    talk.say("add eggs and milk to the shopping list")
    assert talk.reply("is milk on the list") == "Yes, milk is on the shopping list."
    assert talk.reply("are eggs on the shopping list") == "Yes, eggs are on the shopping list."
    assert talk.reply("is tea on the shopping list") == "No, tea is not on the shopping list."
    reply = talk.reply("do I have eggs and tea on the shopping list")
    assert reply == "Eggs are on the shopping list, but tea is not on the shopping list."
    assert talk.reply("how many things are on the list") == (
        "There are 2 things on the shopping list."
    )
    assert on(talk) == ["eggs", "milk"]


def test_undo_of_what_was_added(talk: Talk) -> None:
    talk.say("add tea to the shopping list")
    talk.say("add jam and rice to the shopping list")
    assert talk.reply("undo that") == "Jam and rice are off the shopping list again."
    assert on(talk) == ["tea"]


@pytest.mark.parametrize(
    ("last", "text", "name", "slots"),
    [
        ("add milk to my list", "and butter", "lists.add", {"items": ["butter"]}),
        ("add milk to my list", "also Coca-Cola", "lists.add", {"items": ["Coca-Cola"]}),
        (
            "add call mum to the shopping list",
            "no, on the to-do list",
            "lists.add",
            {"items": ["call mum"], "list": "to-do"},
        ),
        ("add milk to my list", "make it two", "lists.add", {"items": ["2 milk"]}),
        ("add milk to my list", "make that two pints", "lists.add", {"items": ["2 pints of milk"]}),
        ("add milk to my list", "no, oat milk", "lists.add", {"items": ["oat milk"]}),
        ("add milk to my list", "take it off again", "lists.remove", {"items": ["milk"]}),
        ("remove milk from my list", "and the eggs", "lists.remove", {"items": ["eggs"]}),
        ("remove milk from my list", "put it back", "lists.add", {"items": ["milk"]}),
        (
            "make a packing list",
            "add my Passport to it",
            "lists.add",
            {"items": ["Passport"], "list": "packing"},
        ),
        (
            "what's on the packing list",
            "put socks and shoes on there",
            "lists.add",
            {"items": ["socks", "shoes"], "list": "packing"},
        ),
        (
            "make a packing list",
            "add a sleeping bag",
            "lists.add",
            {"items": ["sleeping bag"], "list": "packing"},
        ),
        ("make a packing list", "what's on it", "lists.read", {"list": "packing"}),
        (
            "add socks to the packing list",
            "take the socks off it",
            "lists.remove",
            {"items": ["socks"], "list": "packing"},
        ),
        ("is milk on my list", "and butter?", "lists.check", {"items": ["butter"]}),
        (
            "what's on the shopping list",
            "and on the packing list?",
            "lists.read",
            {"list": "packing"},
        ),
    ],
)
def test_what_is_said_next(
    talk: Talk, last: str, text: str, name: str, slots: dict[str, object]
) -> None:
    intent = follow(talk, last, text)
    assert intent is not None
    assert (intent.name, intent.slots) == (name, slots)


@pytest.mark.parametrize(
    "text", ["and then I went home", "nice", "what is it for", "and how are you", "no", "thanks"]
)
def test_talk_after_a_list_is_talk(talk: Talk, text: str) -> None:
    assert follow(talk, "add milk to the shopping list", text) is None


def test_names_and_items_are_words_to_listen_for(talk: Talk) -> None:
    talk.say("add gherkins to the packing list")
    assert {"gherkins", "packing list"} <= set(talk.registry.vocabulary())
