"""One time of day in every wording: the right answer follows from how each is built."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from assistant.intent.values.when import find_times

NOW = datetime(2026, 11, 2, tzinfo=UTC)
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
MINUTES = {5: "five", 10: "ten", 18: "eighteen", 25: "twenty-five"}


def _wordings(hour: int) -> Iterator[tuple[str, int]]:
    """A time and its minutes after (or before) the hour."""
    word = NUMBERS[hour - 1]
    for spoken, digits in ((word, str(hour)), (str(hour), word)):
        yield from ((f"half past {spoken}", 30), (f"a quarter after {digits}", 15))
        yield from ((f"quarter til {spoken}", -15), (f"quarter of {spoken}", -15))
    for minutes, name in MINUTES.items():
        yield from ((f"{name} past {word}", minutes), (f"{minutes} past {hour}", minutes))
        yield from (
            (f"{name} minutes until {word}", -minutes),
            (f"{minutes} mins to {hour}", -minutes),
        )
    yield from ((f"{hour}ish", 0), (f"{word}ish", 0), (f"{hour} o'clock", 0), (f"{hour} sharp", 0))


@pytest.mark.parametrize("hour", range(1, 13))
def test_an_open_time(hour: int) -> None:
    for text, minutes in _wordings(hour):
        for sentence in (f"It's {text}", f"let's meet at {text} together"):
            found = [span.value.at for span in find_times(sentence, NOW)]
            minute_of_half_day = (hour * 60 + minutes) % 720
            assert [(at.hour % 12) * 60 + at.minute for at in found] == [minute_of_half_day], (
                sentence
            )


@pytest.mark.parametrize(
    ("text", "hour", "minute"),
    [
        ("I'll be back at 19h", 19, 0),
        ("I'll be back at 7h", 7, 0),
        ("I'll be back lunchtime", 12, 0),
        ("see you at noontime", 12, 0),
        ("let's meet at ten past midnight together", 0, 10),
        ("let's meet at 10 to midnight together", 23, 50),
        ("I'll be back 2 o'clock midnight", 2, 0),
        ("I'll be back 11 o'clock noon", 11, 0),
        ("12:00 midnight", 0, 0),
        ("12 o'clock at midnight", 0, 0),
        ("call me 9:15 p", 21, 15),
        ("5 early in the morning", 5, 0),
    ],
)
def test_a_sure_time(text: str, hour: int, minute: int) -> None:
    assert [(s.value.at.hour, s.value.at.minute) for s in find_times(text, NOW)] == [(hour, minute)]


@pytest.mark.parametrize("time", ["at quarter to 5 pm", "@ 4:45pm", "4:45 p.m."])
def test_a_day_after_a_comma(time: str) -> None:
    found = [span.value.at for span in find_times(f"Let's meet {time}, in 3 days.", NOW)]
    assert found == [datetime(2026, 11, 5, 16, 45, tzinfo=UTC)]


@pytest.mark.parametrize("text", ["stay for 7h", "it lasts 19h", "play lunchtime jazz"])
def test_no_time(text: str) -> None:
    assert find_times(text, NOW) == []
