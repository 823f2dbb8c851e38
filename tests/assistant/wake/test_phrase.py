from __future__ import annotations

import pytest

from assistant.wake.phrase import sounds_like_wake, strip_wake


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("Hey Jarvis, what's the time?", "hey_jarvis", "what's the time?"),
        ("Hey, Jarvis. Start a timer.", "hey_jarvis", "Start a timer."),
        ("Hey Travis stop", "hey_jarvis", "stop"),
        ("jarvis louder", "hey_jarvis", "louder"),
        ("Hey Jarvis.", "hey_jarvis", ""),
        ("Alexa, volume up", "alexa", "volume up"),
        ("Okay, Nabu, how long is left?", "okay_nabu", "how long is left?"),
        ("Hey Mycroft good morning", "hey_mycroft", "good morning"),
        ("Hey, what's the time?", "hey_jarvis", "Hey, what's the time?"),
        ("Start a timer for an hour", "hey_jarvis", "Start a timer for an hour"),
        ("", "hey_jarvis", ""),
        ("...", "hey_jarvis", "..."),
    ],
)
def test_strip_wake(text: str, word: str, expected: str) -> None:
    assert strip_wake(text, word) == expected


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("My name is Jarvis.", "hey_jarvis", True),
        ("You can call me Alexa any time.", "alexa", True),
        ("It's half past nine.", "hey_jarvis", False),
        ("", "alexa", False),
    ],
)
def test_own_name_is_noticed(text: str, word: str, expected: bool) -> None:
    assert sounds_like_wake(text, word) is expected
