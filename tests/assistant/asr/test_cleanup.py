from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.asr.cleanup import clean, cut_loops, is_all_loop, words_of


@pytest.mark.parametrize("text", ["", " ", "?", ".", "♪♪", "...", "-", "\n", "♪ ♪ �"])
def test_text_without_a_word_is_nothing(text: str) -> None:
    assert clean(text) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Turn  it\n off. ", "Turn it off."),
        ("the the the the the the", "the"),
        ("Go to bed. Go to bed. Go to bed. Go to bed.", "Go to bed."),
        ("Set a timer for ten ten ten ten ten ten minutes", "Set a timer for ten minutes"),
        ("one two one two one two one two one", "one two"),
        # An unfinished round, cut off by the longest text.
        (
            "we know how it was we know how it was we know how it was we know how it was we know",
            "we know how it was",
        ),
    ],
)
def test_loops_are_cut(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "No, no, no!",
        "Very, very, very, very good.",
        "Five five five one two one two.",
        "bye bye",
        "Call 555 555.",
        "It's 3.5 degrees, isn't it?",
        "안녕하세요",
    ],
)
def test_what_people_say_is_left_alone(text: str) -> None:
    assert clean(text) == text


def test_all_loop() -> None:
    assert is_all_loop("I'll go home. I'll go home. I'll go home.")
    assert is_all_loop("one two one two one two one")
    assert not is_all_loop("stop stop stop")
    assert not is_all_loop("go home, go home")
    assert not is_all_loop("")


def test_words() -> None:
    assert words_of("It’s 10:30, O'Neill!") == ["it's", "10", "30", "o'neill"]


@given(st.text(alphabet="ab c.,'", max_size=80))
def test_cutting_twice_changes_nothing_more(text: str) -> None:
    once = cut_loops(text)
    assert cut_loops(once) == once
    assert set(words_of(once)) == set(words_of(text))
