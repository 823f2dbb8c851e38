"""Numbers in words and digits, ordinals, and numbers inside sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unicode_rbnf import RbnfEngine

from assistant.intent.values.number import find_numbers, parse_number, parse_ordinal
from assistant.intent.values.place import find_places

RBNF = RbnfEngine.for_language("en")
ABOVE = (
    101,
    105,
    110,
    120,
    250,
    999,
    1000,
    1005,
    1900,
    2026,
    12_345,
    100_000,
    1_000_000,
    2_500_300,
)


def in_words(number: int) -> str:
    return RBNF.format_number(number).text


@pytest.mark.parametrize("number", [*range(101), *ABOVE])
def test_words_and_digits_are_equal(number: int) -> None:
    words = in_words(number)
    spellings = {str(number), f"{number:,}", words, words.replace("-", " "), words.title() + "."}
    for spelling in spellings:
        value = parse_number(spelling.removesuffix("."))
        assert value == number, spelling
        assert isinstance(value, int)
        (span,) = find_numbers(f"set it to {spelling} please")
        assert span.value == number


@given(st.integers(0, 10**12))
def test_whole_numbers_are_read_back(number: int) -> None:
    words = in_words(number)
    assert parse_number(words) == number
    assert parse_number(words.replace("-", "")) in (number, None)


@given(st.integers(0, 300), st.integers(0, 999))
def test_decimals_are_read_back(whole: int, decimals: int) -> None:
    digits = f"{decimals:03d}"
    spoken = " ".join("oh" if digit == "0" else in_words(int(digit)) for digit in digits)
    expected = float(f"{whole}.{digits}")
    assert parse_number(f"{in_words(whole)} point {spoken}") == expected
    assert parse_number(f"{whole} point {digits}") == expected
    assert parse_number(f"{whole}.{digits}") == expected


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("a hundred", 100),
        ("a hundred and one", 101),
        ("one hundred and five", 105),
        ("eleven hundred", 1100),
        ("a thousand and one", 1001),
        ("3 thousand", 3000),
        ("40 000", 40_000),
        ("1 250 000", 1_250_000),
        ("1.5 million", 1_500_000),
        ("one point five million", 1_500_000),
        ("half a million", 500_000),
        ("12k", 12_000),
        ("a dozen", 12),
        ("half a dozen", 6),
        ("three dozen", 36),
        ("a couple", 2),
        ("oh", 0),
        ("nought point two", 0.2),
        ("point five", 0.5),
        (".5", 0.5),
        ("twenty point five", 20.5),
        ("20 point 5", 20.5),
        ("20 and a half", 20.5),
        ("twenty and a half", 20.5),
        ("nineteen point two five", 19.25),
        ("nineteen point twenty five", 19.25),
        ("half", 0.5),
        ("a half", 0.5),
        ("three quarters", 0.75),
        ("three-quarters", 0.75),
        ("two fifths", 0.4),
        ("an eighth", 0.125),
        ("5/8", 0.625),
        ("⅝", 0.625),
        ("1½", 1.5),
        ("2 3/4", 2.75),
        ("four and three quarters", 4.75),
        ("minus eight", -8),
        ("negative three and a half", -3.5),
        ("-12", -12),
        ("−3.5", -3.5),
        ("１２", 12),
        ("- 12", -12),
        ("5,50", 5.5),
        ("12,34,567", 1_234_567),
        ("1.5b", 1_500_000_000),
        ("three and a half million", 3_500_000),
        ("a half dozen", 6),
        ("two hundred and three dozen", 236),
        ("a million and a quarter million", 1_250_000),
        ("two hundred forty fifths", 200 / 45),
    ],
)
def test_other_wordings(text: str, number: float) -> None:
    assert parse_number(text) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "-",
            "and",
            "point",
            "a",
            "an",
            "hello",
            "five apples",
            "ten ten",
            "twenty fifteen",
        ),
        *("one two three", "first", "21st", "twenty-first", "a few", "1/0", "5/5/2030", "7:30"),
        *("hundred and", "five and", "five point", "9" * 40, "two second", "a second"),
    ],
)
def test_what_is_not_one_number_is_refused(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("first", 1),
        ("the second", 2),
        ("third", 3),
        ("fifth", 5),
        ("eighth", 8),
        ("ninth", 9),
        ("twelfth", 12),
        ("twentieth", 20),
        ("twenty-first", 21),
        ("twenty first", 21),
        ("the 22nd", 22),
        ("33rd", 33),
        ("44th", 44),
        ("hundredth", 100),
        ("one hundred and third", 103),
        ("two hundredth", 200),
        ("five thousandth", 5000),
        ("one", None),
        ("twenty", None),
        ("first floor", None),
        ("one first", None),
        ("", None),
    ],
)
def test_ordinals(text: str, place: int | None) -> None:
    assert parse_ordinal(text) == place


@pytest.mark.parametrize("number", range(1, 200))
def test_ordinals_in_figures_and_words(number: int) -> None:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    figures = f"{number}{'th' if 10 < number % 100 < 14 else ending}"
    assert parse_ordinal(figures) == number
    words = in_words(number).split(" ")
    stem = words[-1]
    irregular = {"one": "first", "two": "second", "three": "third", "five": "fifth"}
    irregular |= {"eight": "eighth", "nine": "ninth", "twelve": "twelfth"}
    head, dash, tail = stem.rpartition("-")
    last = irregular.get(tail) or (tail[:-1] + "ieth" if tail.endswith("y") else tail + "th")
    assert parse_ordinal(" ".join([*words[:-1], head + dash + last])) == number


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("turn lamp 2 to forty percent", [2, 40]),
        ("two eggs, a dozen rolls and 1,500 grams of flour", [2, 12, 1500]),
        ("the first one and the 2nd", []),
        ("this one or that one", []),
        ("one of them", [1]),
        ("from minus three to +5", [-3, 5]),
        ("pages 5-10", [5, 10]),
        ("play seven nation army twice", [7]),
        ("lamp 2 100 percent", [2, 100]),
        ("29km and 250ml in 3 bowls", [3]),
        ("", []),
    ],
)
def test_numbers_in_a_sentence(text: str, values: list[float]) -> None:
    assert [span.value for span in find_numbers(text)] == values


def test_places_in_a_sentence() -> None:
    text = "cancel the second timer and the 21st alarm, keep two thirds"
    assert [(text[s.start : s.end], s.value.number) for s in find_places(text)] == [
        ("second", 2),
        ("21st", 21),
    ]


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    parse_number(text)
    parse_ordinal(text)
    for span in [*find_numbers(text), *find_places(text)]:
        assert 0 <= span.start < span.end <= len(text)


def test_parts_of_addresses_and_measures() -> None:
    assert [span.value for span in find_numbers("ping 10.0.7.12 twice")] == [10, 0, 7, 12]
    assert find_numbers("a 5m rope and 3gb") == []
    assert [span.value for span in find_numbers("12,2016 and 10,000,5")] == [12, 2016, 10_000, 5]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("two and a half dozen eggs", [30]),
        ("a two-hundred-page book", [200]),
        ("1.5M people", [1_500_000]),
        ("5m of rope", []),
        ("take another one", []),
        ("the other one", []),
        ("add -.75 to it", [-0.75]),
    ],
)
def test_numbers_joined_to_other_words(text: str, numbers: list[int]) -> None:
    assert [span.value for span in find_numbers(text)] == numbers
