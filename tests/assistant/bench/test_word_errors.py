from __future__ import annotations

import pytest

from assistant.bench.word_errors import word_errors, words


def test_words_are_compared_without_case_punctuation_and_hyphens() -> None:
    assert words("It’s a half-hour TIMER, isn't it?") == [
        *("it's", "a", "half", "hour", "timer", "isn't", "it")
    ]


@pytest.mark.parametrize(
    ("reference", "heard", "errors"),
    [
        ("", "", 0),
        ("a b c", "a b c", 0),
        ("a b c", "", 3),
        ("", "a b", 2),
        ("a b c", "a x c", 1),
        ("a b c d", "b c d e", 2),
        ("turn it off", "turn off it", 2),
    ],
)
def test_fewest_changes(reference: str, heard: str, errors: int) -> None:
    assert word_errors(reference.split(), heard.split()) == errors
