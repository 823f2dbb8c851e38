"""Colours by name."""

from __future__ import annotations

import pytest

from assistant.intent.values.colour import parse_colour


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Red", "red"),
        ("light blue", "lightblue"),
        ("light-blue", "lightblue"),
        ("dark grey", "darkgray"),
        ("the colour teal", "teal"),
        ("a pink color", "pink"),
        ("navy blue", "navy"),
        ("lilac", "plum"),
        ("steel blue", "steelblue"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert parse_colour(text) == name


@pytest.mark.parametrize("text", ["", "colour", "the", "blue cheese", "bright", "7"])
def test_what_is_no_colour(text: str) -> None:
    assert parse_colour(text) is None
