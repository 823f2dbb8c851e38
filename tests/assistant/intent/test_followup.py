"""What the words around a sentence do to the turn before."""

from __future__ import annotations

import pytest

from assistant.intent.followup import followup, points_back


@pytest.mark.parametrize(
    ("text", "kind", "rest", "denies"),
    [
        ("make it twenty", "correct", "twenty", False),
        ("make that half an hour please", "correct", "half an hour", False),
        ("change it to 7 am", "correct", "7 am", False),
        ("No, ten minutes.", "correct", "ten minutes", True),
        ("no I meant fifteen", "correct", "fifteen", True),
        ("wait, no, the bedroom", "correct", "the bedroom", True),
        ("actually, make it five", "correct", "five", True),
        ("Not ten, fifteen.", "correct", "fifteen", True),
        ("fifteen, not ten", "correct", "fifteen", True),
        ("not the kitchen one but the bedroom one", "correct", "the bedroom one", True),
        ("fifteen minutes instead", "correct", "fifteen minutes", True),
        ("no", "correct", "", True),
        ("and in the bedroom?", "also", "in the bedroom", False),
        ("What about tomorrow?", "also", "tomorrow", False),
        ("and what about Friday", "also", "friday", False),
        ("same for the kitchen", "also", "for the kitchen", False),
        ("do the same in the hall", "also", "in the hall", False),
        ("the bedroom too", "also", "the bedroom", False),
        ("oh and also bread", "also", "bread", False),
        ("now the kitchen", "also", "the kitchen", False),
        ("again", "again", "", False),
        ("do that again please", "again", "", False),
        ("a bit more", "more", "", False),
        ("a little less", "less", "", False),
        ("No problem, enjoy the show.", "bare", "no problem enjoy the show", False),
        ("the kitchen one", "bare", "the kitchen one", False),
        ("turn it off", "bare", "turn it off", False),
        ("what is the time", "bare", "what is the time", False),
        ("I do not want it", "bare", "i do not want it", False),
        ("please set a timer", "bare", "set a timer", False),
    ],
)
def test_words_around(text: str, kind: str, rest: str, denies: bool) -> None:
    found = followup(text)
    assert (found.kind, found.rest, found.denies) == (kind, rest, denies)


def test_pronouns_point_back() -> None:
    assert points_back("Turn it off!")
    assert not points_back("turn the lamp off")
