"""Sums of money: "$5", "five euros fifty", "two pounds and 20 pence", "3.50 EUR"."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from assistant.intent.values.cardinal import Tokens, word_at
from assistant.intent.values.number import match_number, plain
from assistant.intent.values.span import Span
from assistant.intent.values.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Money:
    """amount in the currency's main unit; currency: its ISO 4217 code."""

    amount: int | float
    currency: str


_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB"}
_WORDS = {
    word: code
    for code, words in {
        "USD": "dollar dollars buck bucks usd",
        "EUR": "euro euros eur",
        "GBP": "pound pounds quid sterling gbp",
        "JPY": "yen jpy",
        "CHF": "franc francs chf",
        "INR": "rupee rupees inr",
        "CNY": "yuan renminbi cny rmb",
        "SEK": "krona kronor sek",
        "NOK": "nok",
        "DKK": "dkk",
        "PLN": "zloty zlotys pln",
        "CZK": "czk koruna",
        "AUD": "aud",
        "CAD": "cad",
        "NZD": "nzd",
        "BRL": "real reais brl",
        "MXN": "peso pesos mxn",
        "KRW": "won krw",
        "RUB": "ruble rubles rouble roubles rub",
        "TRY": "lira try",
        "ZAR": "rand zar",
    }.items()
    for word in words.split()
}
_CHANGE = {
    **dict.fromkeys(("cent", "cents", "¢"), ("USD", "EUR", "AUD", "CAD", "NZD", "ZAR")),
    **dict.fromkeys(("penny", "pence", "pennies", "p"), ("GBP", "USD")),
}
"""Hundredths, and the currencies that have them so named; alone they are of the first."""
_NATIONS = {
    "us": "USD",
    "american": "USD",
    "canadian": "CAD",
    "australian": "AUD",
    "swiss": "CHF",
    "british": "GBP",
    "swedish": "SEK",
    "norwegian": "NOK",
    "danish": "DKK",
    "mexican": "MXN",
}


def parse_money(text: str) -> Money | None:
    """The sum that the whole text is, or None; a bare number is none."""
    tokens = tokenize(text)
    while tokens and tokens[-1].text in (".", "!", "?", ","):
        tokens.pop()
    hit = _match_money(tokens, 0)
    return hit[0] if hit and hit[1] == len(tokens) else None


def find_money(text: str) -> list[Span[Money]]:
    """All sums in a sentence, from left to right."""
    tokens = tokenize(text)
    spans: list[Span[Money]] = []
    i = 0
    while i < len(tokens):
        hit = _match_money(tokens, i)
        if hit is None:
            number = match_number(tokens, i)
            i = number.end if number else i + 1
            continue
        spans.append(Span(tokens[i].start, tokens[hit[1] - 1].end, hit[0]))
        i = hit[1]
    return spans


def _match_money(tokens: Tokens, i: int) -> tuple[Money, int] | None:
    sign = _SIGNS.get(word_at(tokens, i), "")
    number = match_number(tokens, i + 1 if sign else i, signed=False)
    if number is None and word_at(tokens, i) in ("a", "an"):
        unit = _unit_at(tokens, i + 1)
        return (Money(1, unit[0]), unit[1]) if unit else None
    if number is None:
        return None
    value, end = number.value, number.end
    if value < 1 and word_at(tokens, end) in ("a", "an"):
        end += 1  # "half a euro"
    if sign:
        return Money(plain(value), sign), end
    if word_at(tokens, end) in _CHANGE:
        currency = _CHANGE[tokens[end].text][0]
        lone_p = tokens[end].text == "p" and not tokens[end].glued
        return None if lone_p else (Money(plain(value / 100), currency), end + 1)
    unit = _unit_at(tokens, end)
    if unit is None:
        return None
    change = _change_at(tokens, *unit)
    if change is not None and value.denominator == 1:
        value, end = value + change[0], change[1]
        return Money(plain(value), unit[0]), end
    return Money(plain(value), unit[0]), unit[1]


def _unit_at(tokens: Tokens, i: int) -> tuple[str, int] | None:
    """The currency and the index after it: "dollars", "us dollars", "€"."""
    word = word_at(tokens, i)
    if word in _NATIONS and word_at(tokens, i + 1) in (*_WORDS, "crowns", "kroner", "krone"):
        return _NATIONS[word], i + 2
    code = _WORDS.get(word, "") or _SIGNS.get(word, "")
    return (code, i + 1) if code else None


def _change_at(tokens: Tokens, currency: str, i: int) -> tuple[Fraction, int] | None:
    """Hundredths after the main unit: "fifty", "and fifty cents"."""
    joined = word_at(tokens, i) == "and"
    number = match_number(tokens, i + joined, signed=False)
    if number is None or number.value.denominator != 1 or not 0 < number.value < 100:
        return None
    if currency in _CHANGE.get(word_at(tokens, number.end), ()):
        return number.value / 100, number.end + 1
    bare = not joined and number.value >= 10 and word_at(tokens, number.end) in ("", ".", ",", "?")
    return (number.value / 100, number.end) if bare else None
