"""Text for matching."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.intent.normalize import normalize, strip_courtesy
from assistant.intent.values.number import find_numbers


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Set a timer for 5 minutes.", "set a timer for 5 minutes"),
        ("  What’s   the time?! ", "what is the time"),
        ("Whats the time", "what is the time"),
        ("Wake me at 7:30 p.m., please.", "wake me at 7:30 pm please"),
        ("Wake me at seven thirty a m", "wake me at seven thirty am"),
        ("At 10 P.M. sharp", "at 10 pm sharp"),
        ("half past seven o clock", "half past seven o'clock"),
        ("Volume: 50%.", "volume 50%"),
        ("It’s 1,000.5, not -20.", "it is 1,000.5 not -20"),
        ("add crème fraîche, eggs & bread", "add creme fraiche eggs & bread"),
        ("Straße", "strasse"),
        ("I'd like… “tea”", "i would like tea"),
        ("1/2 an hour — now", "1/2 an hour - now"),
        ("½ hour", "½ hour"),
        ("don't stop", "do not stop"),
        ("The U.S. time", "the us time"),
        ("dog's dinner", "dog's dinner"),
        ("音楽 ❤ music", "音楽 ❤ music"),
        ("Set a, um, timer for uh five minutes", "set a timer for five minutes"),
        ("Could you um turn the the hall lamp on", "could you turn the hall lamp on"),
        ("turn the fan on on monday", "turn the fan on on monday"),
        ("umbrella and ermine", "umbrella and ermine"),
        ("Wake me at six to-morrow.", "wake me at six tomorrow"),
        ("Said an alarm for half past eight to night.", "set an alarm for half past eight tonight"),
        ("Said Anilarm for ten p M..", "set an alarm for ten pm"),
        ("Set in alarm for noon.", "set an alarm for noon"),
        ("She said an hour", "she said an hour"),
        ("Um.", ""),
        ("", ""),
        ("...", ""),
    ],
)
def test_normalize(text: str, plain: str) -> None:
    assert normalize(text) == plain


@given(st.text(max_size=60))
def test_twice_is_once(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=4))
def test_numbers_stay(numbers: list[int]) -> None:
    text = "Set " + ", then ".join(f"lamp {n:,} to {n / 10}%" for n in numbers) + "."
    before = [span.value for span in find_numbers(text)]
    assert [span.value for span in find_numbers(normalize(text))] == before


PREFIXES = (
    "please", "could you", "can you please", "hey", "um", "okay", "would you", "hello there",
    "would you mind", "so", "uh", "excuse me", "could you please", "hi", "well um",
    "would you be so kind and", "be so good as to", "be a dear and", "if you do not mind",
    "when you have a moment", "you know what", "quick question", "i was wondering if you could",
    "i would be grateful if you could", "do you think you could", "may i ask you to",
    "pardon me", "sorry to bother you but", "let me see", "i mean", "maybe you could",
    "why do not you", "now then", "good afternoon", "computer", "help me", "thank you", "great",
)  # fmt: skip
SUFFIXES = (
    "please", "thank you", "thanks a lot", "for me", "would you", "um", "thank you very much",
    "please thank you", "if you can", "okay", "for me please", "thanks a million",
    "thank you in advance", "much appreciated", "i would appreciate it", "please and thank you",
    "whenever you are ready", "as soon as possible", "you know", "right now please", "my dear",
    "if that is okay", "if it is not too much trouble", "would you mind", "okay thanks", "boss",
    "right then", "if you would be so kind",
)  # fmt: skip
COMMANDS = ("set a timer for ten minutes", "what time is it", "stop", "volume to 30 percent")


@pytest.mark.parametrize("command", COMMANDS)
def test_courtesy_is_taken_off(command: str) -> None:
    for prefix in PREFIXES:
        assert strip_courtesy(f"{prefix} {command}") == command
        for suffix in SUFFIXES:
            assert strip_courtesy(f"{prefix} {command} {suffix}") == command


@pytest.mark.parametrize("text", ["thank you", "please", "hello", "okay", "", "well", "hey um"])
def test_nothing_but_courtesy_stays(text: str) -> None:
    assert strip_courtesy(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "right now",
        "play hey jude",
        "add thank you cards to the list",
        "add bread and honey",
        "play all you need is love",
        "watch apocalypse now",
        "remind me to call my dad then",
    ],
)
def test_words_of_the_command_stay(text: str) -> None:
    assert strip_courtesy(text) == text


def test_courtesy_that_is_to_be_said_stays() -> None:
    said = "remind me at five to say thank you"
    assert strip_courtesy(f"{said} please") == said
