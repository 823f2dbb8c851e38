"""What sounds alike, and above all what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.intent.sound_alike import best_match, matches, similarity
from assistant.intent.sound_key import sound_key

HOME = [
    "lamp 1",
    "lamp 3",
    "TV",
    "TV mute",
    "front door",
    "back door",
    "Reading light",
    "sofa lamp",
]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("ceiling light", "sealing lite"),
        ("bed room", "bedroom"),
        ("the sofa lamp", "so far lamp"),
        ("expresso", "espresso"),
        ("office", "off is"),
        ("granny's radio", "Grannys Radio"),
        ("quest room", "guest room"),
        ("t v", "TV"),
        ("disk lamp", "desk lamp"),
        ("machiato", "macchiato"),
        ("hazel nut", "hazelnut"),
        ("fone", "phone"),
        ("nite light", "night light"),
    ],
)
def test_what_was_misheard_is_alike(said: str, name: str) -> None:
    assert similarity(said, name) >= 0.8
    assert best_match(said, ["carport", name]) == name


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("lamp 2", "lamp 7"),
        ("lamp", "lamp 7"),
        ("plug b", "plug a"),
        ("second lamp", "first lamp"),
        ("fourteen", "forty"),
        ("tv", "tv mute"),
        ("living room", "living room fan"),
        ("conditioner", "air conditioner"),
        ("big thermostat", "thermostat"),
        ("back door", "front door"),
        ("upstairs lights", "downstairs lights"),
        ("bedroom", "bathroom"),
        ("hall", "hallway"),
        ("kitchen", "chicken"),
        ("porch", "carport"),
        ("left blind", "right blind"),
        ("", "lamp"),
        ("", ""),
        ("...", "!!!"),
    ],
)
def test_other_things_are_not(said: str, name: str) -> None:
    assert similarity(said, name) < 0.8
    assert best_match(said, [name]) is None


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Lamp one", "lamp 1"),
        ("lamp three", "lamp 3"),
        ("the tv", "TV"),
        ("tv mute", "TV mute"),
        ("front door", "front door"),
        ("reading light", "Reading light"),
        ("lamp too", None),
        ("lamp", None),
        ("garage", None),
    ],
)
def test_exact_names_beat_those_that_sound_like_it(said: str, name: str | None) -> None:
    assert best_match(said, HOME) == name


def test_a_number_that_was_heard_as_another_word() -> None:
    assert best_match("plug to", ["plug 2", "plug 3"]) == "plug 2"
    assert best_match("plug for", ["plug 2", "plug 3"]) is None


def test_two_that_are_as_near_give_none_but_both_are_listed() -> None:
    names = ["Anna's lamp", "Anne's lamp"]
    assert best_match("annie's lamp", names) is None
    assert {match.name for match in matches("annie's lamp", names)} == set(names)
    assert best_match("anne's lamp", names) == "Anne's lamp"


def test_matches_are_the_best_first() -> None:
    found = matches("kitchen lite", ["chicken", "kitten light", "Kitchen light"])
    assert [match.name for match in found][:1] == ["Kitchen light"]
    assert all(match.score >= 0.8 for match in found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("knight", "nite"),
        ("phone", "fone"),
        ("wright", "rite"),
        ("quick", "kwik"),
        ("tough", "tuf"),
    ],
)
def test_keys_of_words_that_sound_the_same(one: str, other: str) -> None:
    assert sound_key(one) == sound_key(other)


WORDS = st.lists(st.text("abcdeghiklmnoprstuwyz", min_size=2, max_size=8), min_size=1, max_size=3)


@given(WORDS, WORDS)
def test_it_is_a_likeness(one: list[str], other: list[str]) -> None:
    left, right = " ".join(one), " ".join(other)
    assert 0 <= similarity(left, right) <= 1
    assert similarity(left, right) == pytest.approx(similarity(right, left))
    assert similarity(left, left.upper()) == 1


@given(st.integers(0, 200), st.integers(0, 200))
def test_numbers_are_never_near(one: int, other: int) -> None:
    assert (similarity(f"lamp {one}", f"lamp {other}") >= 0.8) is (one == other)
