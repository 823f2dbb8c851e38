"""Its own voice in the microphone is told from what is said to it."""

from __future__ import annotations

import pytest

from assistant.own_words import beyond


@pytest.mark.parametrize(
    ("heard", "saying", "left"),
    [
        ("stop", "Your tea timer is done.", "stop"),
        ("tea timer is done. Stop!", "Your tea timer is done.", "stop"),
        ("your bus stop timer", "Your bus stop timer is done.", ""),
        ("stop", "Your bus stop timer is done.", ""),
        ("bus stop timer is done stop", "Your bus stop timer is done.", "stop"),
        ("be quiet", "", "be quiet"),
        ("", "Your tea timer is done.", ""),
    ],
)
def test_what_is_beyond_its_own_words(heard: str, saying: str, left: str) -> None:
    assert beyond(heard, saying) == left
