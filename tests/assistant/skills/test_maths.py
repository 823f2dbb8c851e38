"""Sums and conversions: exact, spoken well, and never guessed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.errors import SkillError
from assistant.intent.base import Intent
from assistant.intent.formula import parse_figure, parse_formula
from assistant.intent.measure import parse_measure
from assistant.intent.units import MONEY, UNITS, convert
from assistant.skills.maths import wording
from assistant.skills.maths.evaluate import evaluate
from tests.assistant.skills.talk import Talk


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Talk:
    return Talk(tmp_path_factory.mktemp("maths"))


def value(text: str) -> Fraction:
    node = parse_figure(text)
    assert node is not None, text
    return evaluate(node).number


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("seventeen plus twenty six", 43),
        ("9 minus 14", -5),
        ("three plus four times five", 23),
        ("the square of 15", 225),
        ("the cube of minus 2", -8),
        ("10 plus the square of 3", 19),
        ("split 90 between six people", 15),
        ("split 66 dollars four ways", 16.5),
        ("share 21 among 7", 3),
        ("divide 48 evenly between 4 of us", 12),
        ("20 divided by 4 minus 1", 4),
        ("10 minus 4 minus 3", 3),
        ("100 divided by 5 divided by 2", 10),
        ("(3+4)*5", 35),
        ("3x4", 12),
        ("6 × 7 ÷ 2", 21),
        ("25 percent of 120", 30),
        ("12.5% of 64", 8),
        ("80 plus 20 percent", 96),
        ("50 minus ten percent", 45),
        ("30 percent off 90", 63),
        ("increase 40 by 50 percent", 60),
        ("what percent of 60 is 15", 25),
        ("15 is what percent of 60", 25),
        ("a 20 percent tip on 45 dollars", 9),
        ("half of ninety", 45),
        ("two thirds of 90", 60),
        ("half of half of 8", 2),
        ("double 16", 32),
        ("one half plus one third", Fraction(5, 6)),
        ("three and a half times two", 7),
        ("twenty point five plus one", Fraction(43, 2)),
        ("0.1 plus 0.2", Fraction(3, 10)),
        ("seven squared", 49),
        ("2 cubed plus 1", 9),
        ("two to the power of ten", 1024),
        ("3 to the fourth", 81),
        ("2 to the power of minus 2", Fraction(1, 4)),
        ("2 to the power of 3 squared", 512),
        ("the square root of 144", 12),
        ("square root of 9 plus 16", 19),
        ("cube root of 27", 3),
        ("fourth root of 16", 2),
        ("six factorial", 720),
        ("the sum of 3, 4 and 5", 12),
        ("the average of 2, 4 and 9", 5),
        ("the difference between 30 and 12", 18),
        ("add 5 to 7", 12),
        ("subtract 5 from 12", 7),
        ("multiply 6 by 9", 54),
        ("divide 81 by 9", 9),
        ("17 mod 5", 2),
        ("minus five times minus three", 15),
        ("5 minus -3", 8),
        ("a quarter", Fraction(1, 4)),
        ("10/4", Fraction(5, 2)),
        ("1,000 times 1,000", 1_000_000),
        ("half a million plus 1", 500_001),
    ],
)
def test_sums(said: str, expected: Fraction) -> None:
    assert value(said) == expected


@pytest.mark.parametrize(
    "text",
    [
        "five",
        "ten minutes",
        "twenty percent",
        "five plus",
        "plus five",
        "24/7",
        "5/17/2030",
        "two for one",
        "half past six",
        "one of the best",
        "3 times a day",
        "the sum of all fears",
        "5 plus 3 apples",
        "over and over",
        "times",
        "(" * 50 + "1" + ")" * 50 + "+",
        "minus " * 59 + "5",
    ],
)
def test_what_is_no_sum(text: str) -> None:
    assert parse_formula(text) is None


def test_brackets_may_be_deep() -> None:
    assert value("(" * 20 + "1+1" + ")" * 20) == 2


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.sampled_from("+-*"))
def test_arithmetic_is_that_of_whole_numbers(one: int, other: int, op: str) -> None:
    assert (
        value(f"({one}) {op} ({other})")
        == {
            "+": one + other,
            "-": one - other,
            "*": one * other,
        }[op]
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("6 divided by 0", "zero"),
        ("5 mod 0", "zero"),
        ("0 to the power of minus 1", "zero"),
        ("the square root of minus 4", "no real root"),
        ("9 to the power of 9 to the power of 9", "too large"),
        ("5000 factorial", "too large"),
        ("half factorial", "whole numbers"),
    ],
)
def test_what_has_no_value(said: str, words: str) -> None:
    node = parse_formula(said)
    if node is None:
        node = parse_formula(said.replace("half", "0.5"))
    assert node is not None
    with pytest.raises(SkillError, match=words):
        evaluate(node)


@pytest.mark.parametrize(
    ("number", "spoken"),
    [
        (Fraction(12), "12"),
        (Fraction(-3), "minus 3"),
        (Fraction(1, 8), "0.125"),
        (Fraction(1, 3), "about 0.333"),
        (Fraction(-2, 3), "about minus 0.667"),
        (Fraction(22, 7), "about 3.143"),
        (Fraction(10000, 3), "about 3333.33"),
        (Fraction(1, 3000), "about 0.000333"),
        (Fraction(83810205), "83,810,205"),
        (Fraction(2**64), "about 18.447 quintillion"),
        (Fraction(10**18), "1 quintillion"),
        (Fraction(10**50), "about 1 times 10 to the power of 50"),
    ],
)
def test_numbers_as_they_are_said(number: Fraction, spoken: str) -> None:
    assert wording.number(number) == spoken


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**14))
def test_what_is_said_is_near(number: Fraction) -> None:
    said = wording.number(number).removeprefix("about ").replace(",", "")
    if "times" not in said:
        assert abs(Fraction(said) - number) <= max(number / 100, Fraction(1, 2000))


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("what is 15 percent of 80", "15 percent of 80 is 12."),
        ("what's 80 plus 20 percent", "80 plus 20 percent is 96."),
        ("what is a third", "One third is about 0.333."),
        ("what percent of 80 is 20", "20 is 25 percent of 80."),
        ("what's two times seven", "2 times 7 is 14."),
        ("what is 5 divided by zero", "Nothing can be divided by zero."),
        ("the square root of 2", "The square root of 2 is about 1.414."),
        ("convert 5 miles to kilometres", "5 miles is about 8.05 kilometres."),
        ("convert 5 miles", "5 miles is about 8.05 kilometres."),
        ("how many cups are in a litre", "1 litre is about 4.23 cups."),
        ("how many tablespoons in a third of a cup",
         "One third of a cup is about 5.33 tablespoons."),
        ("how many minutes in half an hour", "Half an hour is 30 minutes."),
        ("what is 70 fahrenheit in celsius",
         "70 degrees Fahrenheit is about 21.1 degrees Celsius."),
        ("how hot is 0 kelvin in fahrenheit", "0 kelvin is minus 459.67 degrees Fahrenheit."),
        ("minus 40 celsius in fahrenheit",
         "Minus 40 degrees Celsius is minus 40 degrees Fahrenheit."),
        ("five foot eleven in centimetres", "71 inches is 180.34 centimetres."),
        ("how many feet in a mile", "1 mile is 5280 feet."),
        ("how many ounces in a cup", "1 cup is 8 fluid ounces."),
        ("how many ounces in a pound", "1 pound is 16 ounces."),
        ("how many seconds in a day", "1 day is 86,400 seconds."),
        ("100 km/h in mph", "100 kilometres per hour is about 62.14 miles per hour."),
        ("how many square feet in an acre", "1 acre is 43,560 square feet."),
        ("how many megabytes in 2 gigabytes", "2 gigabytes is 2000 megabytes."),
    ],
)  # fmt: skip
def test_answers(talk: Talk, said: str, reply: str) -> None:
    assert talk.reply(said) == reply


def test_what_cannot_be_converted(talk: Talk) -> None:
    for said in ("how many euros is 20 dollars", "convert 5 pounds to yen", "convert $5 to euros"):
        outcome = talk.say(said)
        assert (outcome.ok, "no exchange rates" in outcome.reply) == (False, True), said
    assert talk.reply("convert 5 miles to kilograms") == (
        "Miles and kilograms measure different things."
    )


@pytest.mark.parametrize(
    ("said", "amount", "unit"),
    [
        ("two and a half hours", Fraction(5, 2), "hour"),
        ("half an inch", Fraction(1, 2), "inch"),
        ("three quarters of a cup", Fraction(3, 4), "cup"),
        ("a litre", 1, "litre"),
        ("6 foot 2", 74, "inch"),
        ("1 hour and 30 minutes", 90, "minute"),
        ("5km", 5, "kilometre"),
        ("20 °C", 20, "degree Celsius"),
        ("sixty miles per hour", 60, "mile per hour"),
    ],
)
def test_measures(said: str, amount: Fraction, unit: str) -> None:
    measure = parse_measure(said)
    assert measure is not None
    assert (measure.amount, measure.unit.name) == (amount, unit)


@pytest.mark.parametrize("said", ["", "ten", "a", "fahrenheit", "5 feet 3 pounds", "11 in 5 feet"])
def test_no_measures(said: str) -> None:
    assert parse_measure(said) is None


def test_there_and_back_again_is_exact() -> None:
    units = {unit for unit in UNITS.values() if unit.dimension != MONEY}
    amount = Fraction(355, 113)
    for one in units:
        for other in units:
            if one.dimension == other.dimension:
                assert convert(convert(amount, one, other), other, one) == amount


@pytest.mark.parametrize(
    ("last", "text", "reply"),
    [
        ("what is 5 plus 3", "times two", "The result of 5 plus 3, times 2 is 16."),
        ("what is 5 plus 3", "and half of that", "One half of the result of 5 plus 3, is 4."),
        ("what is 20 times 3", "divide that by 6", "20 times 3 divided by 6 is 10."),
        ("5 miles in kilometres", "and in feet?", "5 miles is 26,400 feet."),
        ("5 miles in kilometres", "what about 10 miles", "10 miles is about 16.09 kilometres."),
        ("5 miles in kilometres", "and ten", "10 miles is about 16.09 kilometres."),
    ],
)  # fmt: skip
def test_what_is_said_next(talk: Talk, last: str, text: str, reply: str) -> None:
    before = talk.grammar.understand(last)
    assert before is not None
    intent = talk.registry.revise(before, text, talk.turn(text))
    assert intent is not None
    assert talk.registry.handle(intent, talk.turn(text)).reply == reply


@pytest.mark.parametrize("text", ["and you?", "that is a lot", "in the garden", "nice", "no"])
def test_talk_after_a_sum_is_talk(talk: Talk, text: str) -> None:
    for last in (
        Intent("maths.sum", {"sum": "5 plus 3"}),
        Intent("maths.convert", {"amount": 5, "unit": "mile", "to": "kilometre"}),
    ):
        assert talk.registry.revise(last, text, talk.turn(text)) is None


def test_a_long_sum_does_not_take_long(talk: Talk, tmp_path: Path) -> None:
    assert value(" plus ".join(["1"] * 30)) == 30
    assert parse_formula(" plus ".join(["1"] * 200)) is None
