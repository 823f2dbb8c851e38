"""Money: "$3.50", "€1,200.99", "$1.5 million", "50¢", "20 USD"."""

from __future__ import annotations

import re

from assistant.tts.spoken.context import is_attributive
from assistant.tts.spoken.numbers import NUMBER, is_one, number
from assistant.tts.spoken.units import per

_DOLLAR = ("dollar", "dollars", "cent", "cents")
_EURO = ("euro", "euros", "cent", "cents")
_POUND = ("pound", "pounds", "penny", "pence")
_YEN = ("yen", "yen", "", "")
_RUPEE = ("rupee", "rupees", "paisa", "paise")


def _of(nation: str, unit: tuple[str, str, str, str]) -> tuple[str, str, str, str]:
    return (f"{nation} {unit[0]}", f"{nation} {unit[1]}", unit[2], unit[3])


SYMBOLS: dict[str, tuple[str, str, str, str]] = {
    "$": _DOLLAR,
    "US$": _of("US", _DOLLAR),
    "A$": _of("Australian", _DOLLAR),
    "AU$": _of("Australian", _DOLLAR),
    "C$": _of("Canadian", _DOLLAR),
    "CA$": _of("Canadian", _DOLLAR),
    "NZ$": _of("New Zealand", _DOLLAR),
    "HK$": _of("Hong Kong", _DOLLAR),
    "R$": ("real", "reais", "centavo", "centavos"),
    "£": _POUND,
    "€": _EURO,
    "¥": _YEN,
    "₹": _RUPEE,
    "₩": ("won", "won", "", ""),
    "₽": ("ruble", "rubles", "kopeck", "kopecks"),
    "₺": ("lira", "lira", "", ""),
    "₪": ("shekel", "shekels", "", ""),
    "฿": ("baht", "baht", "", ""),
    "₿": ("bitcoin", "bitcoins", "", ""),
}
"""Symbol -> unit, units, hundredth, hundredths."""

CODES: dict[str, tuple[str, str, str, str]] = {
    "USD": _of("US", _DOLLAR),
    "EUR": _EURO,
    "GBP": _POUND,
    "JPY": _YEN,
    "INR": _RUPEE,
    "CAD": _of("Canadian", _DOLLAR),
    "AUD": _of("Australian", _DOLLAR),
    "CHF": ("Swiss franc", "Swiss francs", "centime", "centimes"),
    "CNY": ("yuan", "yuan", "", ""),
    "SEK": ("Swedish krona", "Swedish kronor", "", ""),
    "NOK": ("Norwegian krone", "Norwegian kroner", "", ""),
    "DKK": ("Danish krone", "Danish kroner", "", ""),
    "PLN": ("zloty", "zlotys", "", ""),
}

_SCALES = {
    "k": "thousand",
    "K": "thousand",
    "m": "million",
    "M": "million",
    "mn": "million",
    "b": "billion",
    "B": "billion",
    "bn": "billion",
    "T": "trillion",
    "tn": "trillion",
}

_EUROPEAN = r"\d{1,3}(?:\.\d{3})+,\d\d(?!\d)|\d+,\d\d(?![\d,])"
_AMOUNT = rf"(?:{_EUROPEAN}|{NUMBER})"
_SCALE = (
    r"(?:\s?(?P<scale>hundred|thousand|million|billion|trillion|bn|mn|tn|[kKmMbBT])"
    r"(?![A-Za-z0-9]))?"
)
_NAMES = "|".join(re.escape(s) for s in sorted(SYMBOLS | CODES, key=len, reverse=True))
_TAIL = r"(?P<per>\s?/\s?(?P<each>[A-Za-z]+\b))?"

_BEFORE = re.compile(
    rf"(?<![\w$.])(?P<minus>-)?(?P<unit>{_NAMES})\s?(?P<minus2>-)?(?P<low>{_AMOUNT})"
    rf"(?:\s?[-–]\s?(?:{_NAMES})?(?P<high>{_AMOUNT}))?{_SCALE}\+?{_TAIL}"
)
_AFTER = re.compile(
    rf"(?<![\w.,/])(?P<minus>-)?(?P<low>{_AMOUNT})(?:\s?[-–]\s?(?P<high>{_AMOUNT}))?{_SCALE}"
    rf"\s?(?P<unit>{_NAMES})(?![A-Za-z0-9$]){_TAIL}"
)
_CENTS = re.compile(rf"(?<![\w.,/])(?P<n>{NUMBER})\s?(?P<unit>¢|p\b)")


def money(text: str) -> str:
    """Amounts of money as words."""
    text = _BEFORE.sub(_amount, text)
    text = _AFTER.sub(_amount, text)
    return _CENTS.sub(_cents, text)


def _amount(match: re.Match[str]) -> str:
    groups = match.groupdict()
    unit = SYMBOLS.get(groups["unit"]) or CODES[groups["unit"]]
    low, high, scale = groups["low"], groups["high"], groups["scale"]
    negative = bool(groups.get("minus") or groups.get("minus2"))
    single = is_attributive(match.string, match.start(), match.end())
    tail = f" per {per(groups['each'])}" if groups["per"] else ""
    if high or scale:
        words = number(_plain(low))
        if high:
            words += f" to {number(_plain(high))}"
        if scale:
            words += f" {_SCALES.get(scale, scale)}"
        said = f"{words} {unit[0] if single else unit[1]}"
    else:
        said = _exact(_plain(low), unit, single)
    return ("minus " if negative else "") + said + tail


def _plain(text: str) -> str:
    """An amount with a decimal point and without separators."""
    if re.fullmatch(_EUROPEAN, text):
        text = text.replace(".", "").replace(",", ".")
    return text.replace(",", "")


def _exact(text: str, unit: tuple[str, str, str, str], single: bool) -> str:
    one, many, cent, cents = unit
    whole, _, part = text.partition(".")
    if len(part) == 2 and (cent or part == "00"):
        coins = int(part)
        small = f"{number(str(coins))} {cent if coins == 1 else cents}"
        if coins and not int(whole or 0):
            return small
        large = f"{number(whole)} {one if single or is_one(whole) else many}"
        return f"{large} and {small}" if coins else large
    return f"{number(text)} {one if single or is_one(text) else many}"


def _cents(match: re.Match[str]) -> str:
    n = match["n"]
    if match["unit"] == "p":
        # "1080p" is a picture, "99p" is a price.
        if not n.isdecimal() or int(n) > 99:
            return match[0]
        return f"{number(n)} {'penny' if is_one(n) else 'pence'}"
    return f"{number(n)} {'cent' if is_one(n) else 'cents'}"
