"""Sums of money."""

from __future__ import annotations

import pytest

from assistant.intent.values.money import Money, find_money, parse_money


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("$7", 7, "USD"),
        ("£3.50", 3.5, "GBP"),
        ("€ 12", 12, "EUR"),
        ("nine euros", 9, "EUR"),
        ("nine euros eighty", 9.8, "EUR"),
        ("four pounds and 20 pence", 4.2, "GBP"),
        ("60 cents", 0.6, "USD"),
        ("75p", 0.75, "GBP"),
        ("a dollar", 1, "USD"),
        ("twenty bucks.", 20, "USD"),
        ("15 canadian dollars", 15, "CAD"),
        ("$2 million", 2_000_000, "USD"),
        ("3.20 EUR", 3.2, "EUR"),
        ("half a euro", 0.5, "EUR"),
    ],
)
def test_sums(text: str, amount: float, currency: str) -> None:
    assert parse_money(text) == Money(amount, currency)


@pytest.mark.parametrize("text", ["", "seven", "dollars", "7 p", "five apples", "$", "20 percent"])
def test_what_is_no_sum(text: str) -> None:
    assert parse_money(text) is None


def test_in_a_sentence() -> None:
    text = "split $40 and ten euros fifty among 3 people"
    assert [(text[s.start : s.end], s.value) for s in find_money(text)] == [
        ("$40", Money(40, "USD")),
        ("ten euros", Money(10, "EUR")),
    ]
