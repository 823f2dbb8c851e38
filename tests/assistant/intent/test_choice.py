"""Which of the things on offer an answer means."""

from __future__ import annotations

import pytest

from assistant.intent.choice import choose

OFFERED = ["the pasta timer", "the rice timer", "the 10 minute timer"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("the second one", [1]),
        ("I mean the third", [2]),
        ("the last one please", [2]),
        ("the former", [0]),
        ("either", [0]),
        ("I don't care", [0]),
        ("any of them is fine", [0]),
        ("both of them", [0, 1, 2]),
        ("all", [0, 1, 2]),
        ("neither", []),
        ("none of those", []),
        ("Pasta.", [0]),
        ("the rice one", [1]),
        ("the fifth", None),
        ("timer", None),
        ("what time is it", None),
        ("my aunt", None),
    ],
)
def test_an_answer_among_three(text: str, places: list[int] | None) -> None:
    assert choose(text, OFFERED) == places


def test_a_number_is_a_place_only_as_such() -> None:
    assert choose("two", ["2 litres", "1 litre"]) is None
    assert choose("the second", ["2 litres", "1 litre"]) == [1]
