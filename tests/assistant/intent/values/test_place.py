"""Places in a row, counted from the start, the end or where one is."""

from __future__ import annotations

import pytest

from assistant.intent.values.place import Place, find_places, parse_place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("the first", Place(1)),
        ("22nd", Place(22)),
        ("the last", Place(0, "end")),
        ("the final one", Place(0, "end")),
        ("third to last", Place(-2, "end")),
        ("the next to last", Place(-1, "end")),
        ("second from the end", Place(-1, "end")),
        ("the penultimate", Place(-1, "end")),
        ("the one before the last", Place(-1, "end")),
        ("next", Place(1, "current")),
        ("the previous one", Place(-1, "current")),
        ("the current", Place(0, "current")),
    ],
)
def test_places(text: str, place: Place) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["", "the", "first to last", "one", "two thirds", "the lamp"])
def test_what_is_none(text: str) -> None:
    assert parse_place(text) is None


def test_they_are_found_in_sentences() -> None:
    text = "skip the first song, then play the second to last and the last one"
    spans = find_places(text)
    assert [(text[s.start : s.end], s.value) for s in spans] == [
        ("first", Place(1)),
        ("the second to last", Place(-1, "end")),
        ("last one", Place(0, "end")),
    ]
    assert find_places("two thirds of the cake") == []


def test_digits_with_commas_and_the_last_but_one() -> None:
    for text, place in (
        ("the 1,001st", Place(1001)),
        ("the second last", Place(-1, "end")),
        ("the last but one", Place(-1, "end")),
    ):
        assert [span.value for span in find_places(text)] == [place]
