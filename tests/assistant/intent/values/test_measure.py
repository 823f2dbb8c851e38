"""Measures, ages, sums and zones inside sentences."""

from __future__ import annotations

import pytest

from assistant.intent.values.measure import Measure, find_ages, find_measures
from assistant.intent.values.money import Money, find_money
from assistant.intent.values.zone import find_zones


@pytest.mark.parametrize(
    ("text", "measures"),
    [
        ("a shelf of 90 cm", [Measure(90, "centimeter")]),
        ("six feet 3 inches", [Measure(6.25, "foot")]),
        ("half a litre and two tablespoons", [Measure(0.5, "liter"), Measure(2, "tablespoon")]),
        ("40 square meters", [Measure(40, "square meter")]),
        ("at 30 km/h", [Measure(30, "kilometer per hour")]),
        ("a 12-inch record", [Measure(12, "inch")]),
        ("play it in five minutes", []),
        ("two in the room", []),
    ],
)
def test_measures(text: str, measures: list[Measure]) -> None:
    assert [span.value for span in find_measures(text)] == measures


@pytest.mark.parametrize(
    ("text", "ages"),
    [
        ("our cat is nine years old", [Measure(9, "year")]),
        ("a 3-month-old puppy", [Measure(3, "month")]),
        ("at thirty years of age", [Measure(30, "year")]),
        ("nine years ago", []),
    ],
)
def test_ages(text: str, ages: list[Measure]) -> None:
    assert [span.value for span in find_ages(text)] == ages


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        ("it costs usd 19.50", [Money(19.5, "USD")]),
        ("us $ 3 million", [Money(3_000_000, "USD")]),
        ("two hundred turkish lira", [Money(200, "TRY")]),
        ("50 hong kong dollars", [Money(50, "HKD")]),
        ("a 60-cent stamp", [Money(0.6, "USD")]),
        ("12 MEUR", [Money(12_000_000, "EUR")]),
        ("try 3 more", []),
    ],
)
def test_sums(text: str, sums: list[Money]) -> None:
    assert [span.value for span in find_money(text)] == sums


@pytest.mark.parametrize(
    ("text", "zones"),
    [
        ("the call is at 5 pm pst", ["America/Los_Angeles"]),
        ("tokyo time or berlin time", ["Asia/Tokyo", "Europe/Berlin"]),
        ("utc+3 it is", ["Etc/GMT-3"]),
        ("a trip to paris", []),
        ("what time is it", []),
    ],
)
def test_zones(text: str, zones: list[str]) -> None:
    assert [span.value for span in find_zones(text)] == zones
