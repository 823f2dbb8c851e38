"""Which texts a template may begin with: nothing that it takes is ever left out."""

from __future__ import annotations

from typing import Any

import pytest
from hassil.parse_expression import parse_sentence

from assistant.intent.first_words import prefixes


def starts(template: str, **rules: str) -> set[str] | None:
    parsed: dict[str, Any] = {name: parse_sentence(body) for name, body in rules.items()}
    found = prefixes(parse_sentence(template), parsed)
    return None if found is None else set(found)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("set the timer", {"set"}),
        ("(set|start) the timer", {"set", "start"}),
        ("[please] set the timer", {"please", "set"}),
        ("[please] [do] stop", {"please", "do", "stop"}),
        ("timer[s]", {"timer"}),
        ("[the|my] {name}", None),
        ("{name} timer", None),
        ("[well]", None),
        ("(a|{name}) timer", None),
        ("set {name}", {"set"}),
        ("(turn (up|down)|louder) now", {"turn", "louder"}),
    ],
)
def test_starts(template: str, expected: set[str] | None) -> None:
    assert starts(template) == expected


def test_rules_are_followed() -> None:
    assert starts("<go> home", go="(walk|<run>)", run="[quickly] run") == {"walk", "quickly", "run"}
    assert starts("[<go>] {name}", go="walk") is None
    assert starts("<missing> home") is None


def test_rules_that_name_each_other_end() -> None:
    assert starts("<a> home", a="[x] <b>", b="[y] <a>") is None
