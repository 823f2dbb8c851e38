"""Lengths of time, from the table and made at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from unicode_rbnf import RbnfEngine

from assistant.intent.values.duration import find_duration, find_durations, parse_duration

TABLE = yaml.safe_load(
    (Path(__file__).parents[3] / "data" / "durations.yaml").read_text(encoding="utf-8")
)
EXACT = [(text, row["seconds"]) for row in TABLE["exact"] for text in row["say"]]


def test_the_table_is_as_large_as_promised() -> None:
    assert len(EXACT) >= 120
    assert len({text for text, _ in EXACT}) == len(EXACT)


@pytest.mark.parametrize(("text", "seconds"), EXACT)
def test_whole_text(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(("text", "seconds"), [row for row in EXACT if row[0].count(":") < 2])
def test_the_same_inside_a_sentence(text: str, seconds: float) -> None:
    span = find_duration(f"set a timer for {text} please")
    assert span is not None
    assert span.value == seconds


@pytest.mark.parametrize("row", TABLE["inside"], ids=lambda row: row["text"])
def test_found_in_a_sentence(row: dict[str, Any]) -> None:
    span = find_duration(row["text"])
    assert span is not None
    assert (row["text"][span.start : span.end], span.value) == (row["part"], row["seconds"])


@pytest.mark.parametrize("text", TABLE["refused"])
def test_refused(text: str) -> None:
    assert parse_duration(text) is None
    span = find_duration(f"set it to {text}")
    assert span is None, span


def test_half_an_hour_is_never_seven_hours() -> None:
    for text in ("half an hour", "Half an hour.", "for half an hour", "a half an hour"):
        assert parse_duration(text) == 1800


def test_whole_seconds_are_integers() -> None:
    assert isinstance(parse_duration("1.5 minutes"), int)
    assert isinstance(parse_duration("a third of a minute"), int)
    assert isinstance(parse_duration("one and a half seconds"), float)


def test_a_bare_number_needs_a_unit_from_the_caller() -> None:
    assert parse_duration("ninety", default_unit="second") == 90
    assert parse_duration("two and a half", default_unit="minute") == 150
    assert parse_duration("minus two", default_unit="minute") is None
    assert parse_duration("lots", default_unit="minute") is None


def test_a_colon_is_read_as_the_caller_says() -> None:
    assert parse_duration("1:30") is None
    assert parse_duration("1:30", colon="m:s") == 90
    assert parse_duration("1:30", colon="h:m") == 5400
    assert parse_duration("0:45", colon="m:s") == 45
    assert parse_duration("1:75", colon="m:s") is None
    assert parse_duration("1:30:00", colon="m:s") == 5400


def test_several_durations() -> None:
    spans = find_durations("one timer for 5 minutes and one for an hour and a half")
    assert [span.value for span in spans] == [300, 5400]


def test_offsets_are_those_of_the_text_as_given() -> None:
    text = "  İstanbul ’s pot: TWO  HOURS — now"
    span = find_duration(text)
    assert span is not None
    assert text[span.start : span.end] == "TWO  HOURS"


RBNF = RbnfEngine.for_language("en")


def in_words(number: int, hyphen: str) -> str:
    return RBNF.format_number(number).text.replace("-", hyphen)


def count(number: int, style: str, hyphen: str) -> str:
    return str(number) if style == "digits" else in_words(number, hyphen)


UNITS = (("hour", "hr", "h"), ("minute", "min", "m"), ("second", "sec", "s"))


@given(
    numbers=st.tuples(st.integers(0, 200), st.integers(0, 59), st.integers(0, 59)),
    style=st.sampled_from(("digits", "words")),
    hyphen=st.sampled_from(("-", " ")),
    last=st.sampled_from((" and ", " ", ", ", ", and ")),
)
def test_what_is_rendered_is_read_back(
    numbers: tuple[int, int, int], style: str, hyphen: str, last: str
) -> None:
    parts = [
        f"{count(number, style, hyphen)} {unit[0]}{'' if number == 1 else 's'}"
        for number, unit in zip(numbers, UNITS, strict=True)
        if number
    ]
    if not parts:
        return
    text = last.join([" ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
    assert parse_duration(text) == numbers[0] * 3600 + numbers[1] * 60 + numbers[2], text


@given(
    numbers=st.tuples(st.integers(0, 200), st.integers(0, 59), st.integers(0, 59)),
    short=st.sampled_from((1, 2)),
    space=st.sampled_from(("", " ")),
)
def test_short_forms_are_read_back(numbers: tuple[int, int, int], short: int, space: str) -> None:
    if short == 2 and space and not numbers[0]:
        return  # "5 m" may be metres
    parts = [
        f"{number}{space}{unit[short]}"
        for number, unit in zip(numbers, UNITS, strict=True)
        if number
    ]
    if parts:
        text = space.join(parts)
        assert parse_duration(text) == numbers[0] * 3600 + numbers[1] * 60 + numbers[2], text


@given(
    whole=st.integers(1, 40),
    fraction=st.sampled_from((("a half", 2), ("a quarter", 4), ("a third", 3))),
    unit=st.sampled_from((("minute", 60), ("hour", 3600), ("day", 86_400))),
    after=st.booleans(),
)
def test_mixed_numbers_are_read_back(
    whole: int, fraction: tuple[str, int], unit: tuple[str, int], after: bool
) -> None:
    word, size = unit
    name = in_words(whole, "-")
    if after:
        text = f"{name} {word}{'s' if whole > 1 else ''} and {fraction[0]}"
    else:
        text = f"{name} and {fraction[0]} {word}s"
    assert parse_duration(text) == whole * size + size / fraction[1], text


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for value in (parse_duration(text), parse_duration(text, default_unit="minute")):
        assert value is None or value >= 0
    for span in find_durations(text):
        assert 0 <= span.start < span.end <= len(text)
