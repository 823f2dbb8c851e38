"""Titles, abbreviations and initials: "Dr. Lee", "12 Oak Dr.", "e.g.", "J. R. R."."""

from __future__ import annotations

import re

from assistant.tts.abbreviations import (
    AFTER_NAMES,
    BEFORE_NUMBERS,
    STARTERS,
    STREETS,
    TITLES,
    UNDOTTED,
    WORDS,
)


def _any(words: dict[str, str]) -> str:
    return "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))


_NUMBERED = re.compile(rf"\b(?P<word>{_any(BEFORE_NUMBERS)})\.\s?(?=\d)")
_ADDRESS = re.compile(
    r"(?P<before>(?:(?<!\w)\d+(?:st|nd|rd|th)?[A-Za-z]?|\b[A-Z][a-z]+(?:-[A-Z][a-z]+)?) )"
    rf"(?P<word>{_any(STREETS)})\b(?P<dot>\.?)(?P<end>(?= ?[,;:!?)]|\s*$|\s+[a-z])|(?=\s+[A-Z]))"
)
_HOUSE = re.compile(
    rf"(?P<before>(?<!\w)\d+[A-Za-z]? (?:[A-Z][\w'-]+ )+)(?P<word>{_any(STREETS)})\b(?P<dot>\.?)"
)
_SAINT = re.compile(r"\bSt\b\.?(?= [A-Z])")
_TITLE = re.compile(rf"\b(?P<word>{_any(TITLES)})\b(?P<dot>\.?)(?= ?[A-Z])")
_ALWAYS = re.compile(r"\b(?P<word>Mr|Mrs|Ms)\b\.?")
_NAME_END = re.compile(rf"(?P<before>\w,? )(?P<word>{_any(AFTER_NAMES)})\.")
_JUNIOR = re.compile(r"(?<=[a-z] )(?P<word>Jr|Sr)\b")
_DOTTED = re.compile(rf"(?<![\w.])(?P<word>{_any(WORDS)})\.(?!\w)", re.IGNORECASE)
_UNDOTTED = re.compile(rf"(?<![\w./])(?P<word>{_any(UNDOTTED)})(?![\w.])(?P<gap>\s?)")
_DEGREE = re.compile(r"\bPh\.?\s?D\b\.?")
_INITIALISM = re.compile(r"(?<![\w.])(?P<letters>(?:[A-Z]\.){2,})(?P<end>\s*$)?")
_INITIAL = re.compile(r"(?<![\w'’.])(?P<letter>[A-Z])\.(?=\s?[A-Za-z])")
_NUMBER_OF = re.compile(r"#\s?(?=\d)")

_LOWER = {w.lower(): s for w, s in WORDS.items()}


def numbered(text: str) -> str:
    """Abbreviations in front of figures: "No. 5", "#1", "p. 12"."""
    text = _NUMBERED.sub(lambda m: f"{BEFORE_NUMBERS[m['word']]} ", text)
    return _NUMBER_OF.sub("number ", text)


def words(text: str) -> str:
    """Abbreviated words in full; run while house numbers are still figures."""
    text = _HOUSE.sub(_house, text)
    text = _ADDRESS.sub(_address, text)
    text = _TITLE.sub(_title, text)
    text = _ALWAYS.sub(lambda m: TITLES[m["word"]], text)
    text = _SAINT.sub("Saint", text)
    text = _NAME_END.sub(lambda m: m["before"] + AFTER_NAMES[m["word"]] + _stop(m), text)
    text = _JUNIOR.sub(lambda m: AFTER_NAMES[m["word"]], text)
    text = _DEGREE.sub("P H D", text)
    text = _DOTTED.sub(lambda m: _LOWER[m["word"].lower()] + _stop(m), text)
    text = _UNDOTTED.sub(lambda m: UNDOTTED[m["word"]] + (m["gap"] or " "), text)
    text = _INITIALISM.sub(_initialism, text)
    return _INITIAL.sub(lambda m: m["letter"], text)


def _stop(match: re.Match[str]) -> str:
    """The dot of an abbreviation also ends the sentence when nothing follows."""
    return "." if not match.string[match.end() :].strip("\"')” ") else ""


def _house(match: re.Match[str]) -> str:
    return match["before"] + STREETS[match["word"]] + (_stop(match) if match["dot"] else "")


def _address(match: re.Match[str]) -> str:
    word, before = match["word"], match["before"]
    following = re.match(r"\s+([A-Z][\w']*)", match.string[match.end() :])
    if following and word in ("St", "Dr", "Ct", "Sq"):
        # A name follows: "Saint Louis", unless it is the next sentence.
        ordinal = before[0].isdigit()
        if not ordinal and not (match["dot"] and following[1] in STARTERS):
            return match[0]
    if not before[0].isdigit() and before.strip() in STARTERS:
        return match[0]
    return before + STREETS[word] + (_stop(match) if match["dot"] else "")


def _title(match: re.Match[str]) -> str:
    word = match["word"]
    if not match["dot"] and word not in ("Mr", "Mrs", "Ms", "Dr", "Prof", "Mt"):
        return match[0]
    return TITLES[word] + ("" if match.string[match.end() :].startswith(" ") else " ")


def _initialism(match: re.Match[str]) -> str:
    letters = match["letters"].replace(".", "")
    said = letters if len(letters) > 2 else " ".join(letters)
    return said + ("." if match["end"] is not None else "")
