"""What the assistant knows of itself is not left to the language model."""

from __future__ import annotations

import pytest

from assistant.dialogue.itself import NO_PLACE, NOTHING, about_itself


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Which room are you in?", "I'm in the utility room."),
        ("where am I", "I'm in the utility room."),
        ("are you in the utility room right now", "Yes, I'm in the utility room."),
        ("are you in the attic", "No, I'm in the utility room."),
        ("what did you just do", "I said: Volume 30."),
        ("What was that?", "I said: Volume 30."),
        ("where are my keys", ""),
        ("where are you going with this", ""),
        ("what did you do last summer in Spain", ""),
    ],
)
def test_what_it_knows(text: str, answer: str) -> None:
    assert about_itself(text, area="Utility room", done="Volume 30.") == answer


def test_what_it_does_not_know() -> None:
    assert about_itself("where are we", area="", done="") == NO_PLACE
    assert about_itself("what did you just do", area="", done="") == NOTHING
