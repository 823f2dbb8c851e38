"""Characters: one form for each before the rules run, no sign left after them."""

from __future__ import annotations

import re
import unicodedata

from assistant.tts.spoken.numbers import cardinal, number

_UNIFY = str.maketrans(
    {
        "\u2212": "-",
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "–",
        "\u2015": "—",
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u201b": "'",
        "\u02bc": "'",
        "\u00b4": "'",
        "`": "'",
        "\u2032": "'",
        "\u2033": '"',
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u00ab": '"',
        "\u00bb": '"',
        "\u2044": "/",
        "\u2215": "/",
        "\u00ba": "°",
        "\u2103": "°C",
        "\u2109": "°F",
        "\u2116": "No. ",
        "\u3002": ". ",
        "\u3001": ", ",
        "\u00d7": "×",
        "\u2715": "×",
        "\u2022": ", ",
    }
)
_SUPERSCRIPTS = str.maketrans("⁰¹⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01456789" + "0123456789")

_POWER = re.compile(r"\^\s?\(?\{?(-?\d+)\}?\)?")
_TIMES = re.compile(r"(?<=\d)\s?(?P<sign>[×*]|[xX](?=\s?\d))\s?(?=\d|[a-z]\b|\()")
_FOLD = re.compile(r"(?<=\d)[xX×](?!\w)")
_MINUS = re.compile(r"(?<=\d)\s+[-–]\s+(?=\d)|(?<=\d)[-–](?=\d+(?:\.\d+)?\s?=)")
_PLUS_MINUS = re.compile(r"\s*(?:±|\+/-)\s*")
_FORMULA = re.compile(r"[=+×*÷√^]|\d\s?/\s?\d|\d [-–] \d")

_WORDS = {
    "&": " and ",
    "@": " at ",
    "+": " plus ",
    "=": " equals ",
    "÷": " divided by ",
    "×": " times ",
    "≈": " approximately ",
    "≠": " is not equal to ",
    "≤": " is at most ",
    "≥": " is at least ",
    "→": " to ",
    "⇒": " so ",
    "√": " the square root of ",
    "∞": " infinity ",
    "π": " pi ",
    "°": " degrees ",
    "©": " copyright ",
    "§": " section ",
    "%": " percent ",
    "$": " dollars ",
    "£": " pounds ",
    "€": " euros ",
    "¢": " cents ",
    "²": " squared ",
    "³": " cubed ",
    "µ": " micro ",
    "^": " to the power of ",
}
_WORD_SIGNS = re.compile("|".join(re.escape(s) for s in _WORDS))
_ARROW = re.compile(r"\s*(?:<?[-=]+>|⟶|➔|➜|➡)\s*")
_LESS = re.compile(r"(?<=[\w) ])\s*(?P<sign><=|>=|<|>)\s*(?=[\w(-])")
_ABOUT = re.compile(r"(?<!\w)~\s?(?=\d|[a-z]+\b)")
_JOINED_LETTERS = re.compile(r"\b([A-Z]{1,3})&([A-Z]{1,3})\b")
_EITHER = re.compile(
    r"\b(he|she|him|her|his|hers|yes|no|on|off)/(she|he|her|his|him|hers|no|yes|off|on)\b", re.I
)
_AND_OR = re.compile(r"\b(and|And)/(or)\b")
_SLASH = re.compile(r"\s*/\s*")
_BETWEEN = re.compile(r"(?<=\w)\s?–\s?(?=\w)")
_DASH = re.compile(r"\s*(?:—|--+|(?<=\s)[-–](?=\s)|–)\s*")
_OPEN = re.compile(r"\s*[(\[{]\s*")
_CLOSE = re.compile(r"\s*[)\]}]")
_LEFT = re.compile(r"[^\w\s.,!?;:'…-]|_")
_QUOTE_MARK = re.compile(r"(?<!\w)'|'(?!\w)")
_LOOSE_HYPHEN = re.compile(r"(?<!\w)-|-(?!\w)")

_KEPT = ("L", "M", "N", "P", "S", "Z")


def unify(text: str) -> str:
    """One character for each meaning, one space between words, nothing invisible."""
    text = unicodedata.normalize("NFC", text)
    if not text.isascii():
        text = "".join(map(_character, text)).translate(_UNIFY).translate(_SUPERSCRIPTS)
    text = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text)
    text = re.sub(r"\.{2,}|…+\.*", "…", text)
    return " ".join(text.split())


def _character(char: str) -> str:
    if char.isascii():
        return char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    decomposition = unicodedata.decomposition(char)
    if decomposition.startswith("<fraction>"):
        return " " + unicodedata.normalize("NFKC", char).replace("\u2044", "/")
    if decomposition.startswith(("<wide>", "<font>", "<square>", "<compat> 0066", "<narrow>")):
        return unicodedata.normalize("NFKC", char)
    category = unicodedata.category(char)
    if category == "Cf" or (category == "Mn" and "VARIATION" in unicodedata.name(char, "")):
        return ""
    return char if category[0] in _KEPT else " "


def operators(text: str) -> str:
    """Signs of arithmetic between figures, while they are still figures."""
    formula = _FORMULA.search(text) is not None
    text = _PLUS_MINUS.sub(" plus or minus ", text)
    text = _POWER.sub(lambda m: _power(int(m[1])) if len(m[1]) < 16 else " ", text)
    text = re.sub(r"(?<=[\dA-Za-z)])²", " squared", text)
    text = re.sub(r"(?<=[\dA-Za-z)])³", " cubed", text)
    text = _TIMES.sub(_times, text)
    text = _FOLD.sub(" times", text)
    if formula and re.search("[=+×*÷√]", text):
        text = _MINUS.sub(" minus ", text)
        text = re.sub(r"(?<=\d) / (?=\d)", " divided by ", text)
        text = re.sub(r"(?<=[a-z])\s?-\s(?=\d)", " minus ", text)
    return text


def _power(exponent: int) -> str:
    if exponent in (2, 3):
        return " squared" if exponent == 2 else " cubed"
    return f" to the power of {number(str(exponent))}"


def _times(match: re.Match[str]) -> str:
    text = match.string
    if match["sign"] in "xX" and "=" not in text:
        before = re.search(r"\d+$", text[: match.start()])
        after = re.match(r"\d+", text[match.end() :])
        if before and after and (len(before[0]) > 2 or len(after[0]) > 2):
            return " by "
    return " times "


def signs(text: str) -> str:
    """Every sign that is left as a word or a pause; run last."""
    text = _JOINED_LETTERS.sub(lambda m: f"{' '.join(m[1])} and {' '.join(m[2])}", text)
    text = _EITHER.sub(r"\1 or \2", text)
    text = _AND_OR.sub(r"\1 \2", text)
    text = _ARROW.sub(" to ", text)
    text = _ABOUT.sub("about ", text)
    text = _LESS.sub(_less, text)
    text = _WORD_SIGNS.sub(lambda m: _WORDS[m[0]], text)
    text = _SLASH.sub(" ", text)
    text = _BETWEEN.sub(_between, text)
    text = _DASH.sub(", ", text)
    text = _OPEN.sub(", ", text)
    text = _CLOSE.sub(", ", text)
    text = _LEFT.sub(" ", text)
    text = re.sub(r"\d+", lambda m: " " + cardinal(int(m[0])) + " ", text)
    text = _QUOTE_MARK.sub(" ", text)
    return _tidy(_LOOSE_HYPHEN.sub(" ", text))


def _less(match: re.Match[str]) -> str:
    words = {"<=": "is at most", ">=": "is at least", "<": "is less than", ">": "is greater than"}
    return f" {words[match['sign']]} "


def _between(match: re.Match[str]) -> str:
    before = re.search(r"\w+$", match.string[: match.start()])
    after = match.string[match.end() : match.end() + 1]
    capitals = before is not None and before[0][0].isupper() and after.isupper()
    return " to " if capitals else ("-" if len(match[0]) == 1 else ", ")


def _tidy(text: str) -> str:
    """Spaces and pauses in their places, none at the start; nothing speakable gives ""."""
    if not any(c.isalnum() for c in text):
        return ""
    text = " ".join(text.split())
    text = re.sub(r"\s+(?=[.,!?;:…])", "", text)
    text = re.sub(r"[,;:]+(?=[.!?…])|(?<=[,;:])[,;:]+", "", text)
    text = re.sub(r"(?<=[!?…])[,;:]+|(?<=(?<!\.\w)\.)[,;:]+", "", text)
    text = re.sub(r"(?<=[!?])\.+|(?<=\.)\.+", "", text)
    text = re.sub(r"([,;:!?…])(?=[^\W\d])", r"\1 ", text)
    return re.sub(r"^[\s.,!?;:…-]+", "", text).strip()
