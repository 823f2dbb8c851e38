"""What has one fitting answer gets it without the language model."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.dialogue.small_talk import FOR_WHAT, NO_QUESTION, PRIVATE, UNSURE, small_talk

NOW = datetime(2026, 3, 10, 14, 0, tzinfo=UTC)
TALK = Path(__file__).parents[2] / "data" / "intents" / "talk.txt"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("cool", "OK."),
        ("oh that's really great", "OK."),
        ("sounds good to me", "OK."),
        ("Yes please.", NO_QUESTION),
        ("nope", "OK."),
        ("ten minutes", FOR_WHAT),
        ("nine a m", FOR_WHAT),
        ("twenty", FOR_WHAT),
        ("in the morning", FOR_WHAT),
        ("how's it going today", "I'm fine, thank you. What can I do for you?"),
        ("good night", "Good night."),
        ("goodnight everyone", "Good night."),
        ("I'm going to bed now", "Good night."),
        ("see you tomorrow", "Goodbye."),
        ("you are so helpful", "Thank you, that's kind."),
        ("you're not very smart", "I'm sorry that I'm not more help."),
        ("that was wrong", "I'm sorry. Please tell me again in other words."),
        ("are you always listening to us", PRIVATE),
        ("do you send my voice to the internet", PRIVATE),
        ("who is listening to me", PRIVATE),
        ("are you sure about that", UNSURE),
        ("are you alexa", "No, I'm the voice assistant that runs on this device."),
        ("how many days until my birthday", "Sorry, I don't know when that is."),
        ("sing me a song", "Sorry, I can't sing."),
        ("great wall of china", ""),
        ("that was a good film", ""),
        ("how is the pasta going", ""),
        ("you are what you eat", ""),
        ("can you hear the sea in a shell", ""),
    ],
)
def test_answers(text: str, answer: str) -> None:
    assert small_talk(text, NOW) == answer


def test_doubt_about_a_command_tells_what_was_done() -> None:
    assert small_talk("are you sure", NOW, "Volume 30.") == "I said: Volume 30."


def test_talk_goes_to_the_model() -> None:
    lines = [line for line in TALK.read_text(encoding="utf-8").splitlines() if len(line) > 16]
    answered = {"do you like music", "I had a wonderful time today", "how do you spell necessary"}
    assert [line for line in lines if small_talk(line, NOW) and line not in answered] == []
