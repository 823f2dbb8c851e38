"""Yes and no as people say them, and nothing else."""

from __future__ import annotations

import pytest

from assistant.intent.yes_no import yes_no


@pytest.mark.parametrize(
    "said",
    [
        "yes",
        "Yeah, sure.",
        "go on",
        "go ahead please",
        "please do",
        "yes please",
        "okay, do it",
        "I'm sure",
        "of course",
        "all of them",
        "why not",
        "all right then",
    ],
)
def test_yes(said: str) -> None:
    assert yes_no(said) is True


@pytest.mark.parametrize(
    "said",
    [
        "no",
        "Nope.",
        "no thanks",
        "no, that's enough",
        "never mind",
        "please don't",
        "not now",
        "of course not",
        "not sure",
        "I changed my mind",
        "no, stop",
        "leave it",
    ],
)
def test_no(said: str) -> None:
    assert yes_no(said) is False


@pytest.mark.parametrize(
    "said",
    [
        "",
        "milk",
        "maybe",
        "what time is it",
        "yes and what time is it",
        "no butter",
        "the yes men is a film",
        "no no no I said that you should set a timer",
    ],
)
def test_neither(said: str) -> None:
    assert yes_no(said) is None
