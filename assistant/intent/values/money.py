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


_SIGNS = dict(
    pair.split(":")
    for pair in (
        "$:USD €:EUR £:GBP ¥:JPY ₹:INR ₩:KRW ₽:RUB ₭:LAK ₱:PHP ₪:ILS ₫:VND ฿:THB ₴:UAH ₦:NGN"
        " ₺:TRY ₸:KZT ₾:GEL ₡:CRC ₲:PYG ₵:GHS ₿:BTC"
    ).split()
)
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
        "ZAR": "rand rands zar",
        "BTC": "bitcoin bitcoins btc",
        "ILS": "shekel shekels ils",
        "THB": "baht bahts thb",
        "VND": "dong vnd",
        "IDR": "rupiah rupiahs idr",
        "MYR": "ringgit ringgits myr",
        "UAH": "hryvnia hryvnias uah",
        "HUF": "forint forints huf",
        "NGN": "naira nairas ngn",
        "KES": "kes",
        "HKD": "hkd",
        "SGD": "sgd",
        "TWD": "twd",
        "PHP": "php",
        "SAR": "riyal riyals sar",
        "AED": "dirham dirhams aed",
        "EGP": "egp",
        "ARS": "ars",
        "CLP": "clp",
        "COP": "cop",
        "LAK": "kip lak",
        "BDT": "taka bdt",
        "PKR": "pkr",
        "LKR": "lkr",
        "KWD": "kwd",
        "BGN": "bgn",
        "RON": "ron",
        "ISK": "isk",
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
    "united states": "USD",
    "new zealand": "NZD",
    "hong kong": "HKD",
    "singapore": "SGD",
    "taiwan": "TWD",
    "jamaican": "JMD",
    "japanese": "JPY",
    "chinese": "CNY",
    "indian": "INR",
    "pakistani": "PKR",
    "sri lankan": "LKR",
    "turkish": "TRY",
    "russian": "RUB",
    "belarusian": "BYN",
    "korean": "KRW",
    "south korean": "KRW",
    "polish": "PLN",
    "czech": "CZK",
    "icelandic": "ISK",
    "egyptian": "EGP",
    "lebanese": "LBP",
    "syrian": "SYP",
    "scottish": "GBP",
    "saudi": "SAR",
    "iranian": "IRR",
    "kuwaiti": "KWD",
    "iraqi": "IQD",
    "jordanian": "JOD",
    "argentine": "ARS",
    "chilean": "CLP",
    "colombian": "COP",
    "cuban": "CUP",
    "philippine": "PHP",
    "brazilian": "BRL",
    "south african": "ZAR",
    "israeli": "ILS",
    "thai": "THB",
    "vietnamese": "VND",
    "indonesian": "IDR",
    "malaysian": "MYR",
    "ukrainian": "UAH",
    "hungarian": "HUF",
    "nigerian": "NGN",
    "moroccan": "MAD",
    "lao": "LAK",
    "laotian": "LAK",
}
_KINDS = frozenset(
    """dollar dollars pound pounds franc francs rupee rupees yen yuan renminbi peso pesos ruble
    rubles rouble roubles won lira liras dinar dinars rial rials riyal riyals real reais krona
    kronor krone kroner crowns koruna zloty zlotys rand rands shekel shekels baht dong rupiah
    ringgit hryvnia forint naira dirham dirhams kip""".split()
)
_CODES = frozenset(word for word in _WORDS if len(word) == 3 and _WORDS[word] == word.upper())


_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}


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
    sign, start = _before_number(tokens, i)
    number = match_number(tokens, start, signed=False)
    if number is None and word_at(tokens, i) in ("a", "an"):
        unit = _unit_at(tokens, i + 1)
        return (Money(1, unit[0]), unit[1]) if unit else None
    if number is None:
        return None
    value, end = number.value, number.end
    if value < 1 and word_at(tokens, end) in ("a", "an"):
        end += 1  # "half a euro"
    if sign:
        code, scale = sign
        return Money(plain(value * scale), code), end
    if word_at(tokens, end) == "-" and word_at(tokens, end + 1) in (*_CHANGE, *_WORDS):
        end += 1  # "a 12-cent stamp"
    if word_at(tokens, end) in _CHANGE:
        currency = _CHANGE[tokens[end].text][0]
        lone_p = tokens[end].text == "p" and not tokens[end].glued
        return None if lone_p else (Money(plain(value / 100), currency), end + 1)
    millions = word_at(tokens, end)
    if millions[:1] == "m" and millions[1:] in _CODES:
        return Money(plain(value * 1_000_000), _WORDS[millions[1:]]), end + 1
    unit = _unit_at(tokens, end)
    if unit is None:
        return None
    millions = word_at(tokens, unit[1])
    if millions in _SCALES:  # "75 usd million"
        return Money(plain(value * _SCALES[millions]), unit[0]), unit[1] + 1
    change = _change_at(tokens, *unit)
    if change is not None and value.denominator == 1:
        value, end = value + change[0], change[1]
        return Money(plain(value), unit[0]), end
    return Money(plain(value), unit[0]), unit[1]


def _before_number(tokens: Tokens, i: int) -> tuple[tuple[str, int] | None, int]:
    """The currency before a number and its factor, with the place of the number: "$", "us $",
    "c $", "eur", "meur" (millions)."""
    word, follow = word_at(tokens, i), word_at(tokens, i + 1)
    if word in _SIGNS:
        return (_SIGNS[word], 1), i + 1
    if follow == "$" and word in ("c", "ca", "a", "au", "us", "nz", "hk", "s"):
        dollars = {"c": "CAD", "ca": "CAD", "a": "AUD", "au": "AUD", "nz": "NZD", "hk": "HKD"}
        return (dollars.get(word, "USD" if word == "us" else "SGD"), 1), i + 2
    if follow == "$" and word in _CODES and word_at(tokens, i + 2)[:1].isdecimal():
        return (_WORDS[word], 1), i + 2  # "mxn$ 15"
    if follow[:1].isdecimal() and word in ("dollar", "euro", "pound"):
        return (_WORDS[word], 1), i + 1
    if follow[:1].isdecimal() and word in _CODES and word not in ("try", "cop", "ron", "all"):
        return (_WORDS[word], 1), i + 1
    if follow[:1].isdecimal() and word[:1] == "m" and word[1:] in _CODES:
        return (_WORDS[word[1:]], 1_000_000), i + 1
    return None, i


def _unit_at(tokens: Tokens, i: int) -> tuple[str, int] | None:
    """The currency and the index after it: "dollars", "us dollars", "€"."""
    word = word_at(tokens, i)
    for length in (2, 1):
        nation = " ".join(token.text for token in tokens[i : i + length])
        if nation in _NATIONS and word_at(tokens, i + length) in _KINDS | _WORDS.keys():
            return _NATIONS[nation], i + length + 1
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
