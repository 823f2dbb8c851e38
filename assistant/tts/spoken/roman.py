"""Roman numerals: "World War II", "Henry VIII", "Chapter IV"; a lone "I" stays a word."""

from __future__ import annotations

import re

from assistant.tts.spoken.numbers import cardinal, ordinal

_ROMAN = r"(?=[IVXLC])(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}

_COUNTED = (
    "War|Chapter|Part|Book|Act|Scene|Volume|Section|Article|Appendix|Type|Phase|Class|Stage|"
    "Level|Title|Bowl|Figure|Table|Grade|Episode|Season|Round|Step|Group|Unit|Lesson|Mark|"
    "Division|Schedule|Verse|Canto|Symphony|Sonata|Apollo|Rocky|Fantasy"
)
_RULERS = (
    "Henry|Louis|Elizabeth|George|Charles|Edward|William|James|Richard|Philip|Napoleon|Paul|"
    "Pius|Benedict|Francis|Leo|Gregory|Alexander|Catherine|Nicholas|Peter|Ramses|Ramesses|"
    "Ptolemy|Mary|Frederick|Wilhelm|Otto|Ivan|Innocent|Urban|Clement|John|Constantine|"
    "Christian|Gustav|Carl|Harald|Haakon|Olav|Margaret|Margrethe|Robert|David|Malcolm|Kenneth|"
    "Alfonso|Ferdinand|Isabella|Carlos|Felipe|Albert|Leopold|Willem|Amenhotep|Thutmose|"
    "Cleopatra|Mehmed|Murad|Selim|Suleiman|Darius|Xerxes|Theodosius|Joseph|Franz|Rudolf|"
    "Maximilian|Umberto|Boniface|Adrian|Sixtus|Julius|Celestine|Stephen|Andrew|Victor|Pedro"
)
_COUNT = re.compile(rf"\b(?P<cue>{_COUNTED}) (?P<n>{_ROMAN})(?![\w'’])")
_RULER = re.compile(rf"\b(?P<name>{_RULERS}) (?P<n>{_ROMAN})(?!\w)")
_CROWN = re.compile(r"\b(?:King|Queen|Pope|Emperor|Empress|Tsar|Czar|Kaiser|Elizabeth)\b")
_CENTURY = re.compile(rf"\b(?P<n>{_ROMAN})(?:th|st|nd|rd)?(?= centur)")
_BARE = re.compile(r"(?<=\w )\b(?P<n>II|III|VI|VII|VIII|IX|XI|XII|XIII|XIV|XV|XVI)(?![\w'’.])")


def roman(text: str) -> str:
    """Roman numerals as words, where something says that they are numerals."""
    text = _COUNT.sub(lambda m: f"{m['cue']} {cardinal(_value(m['n']))}", text)
    text = _RULER.sub(_ruler, text)
    text = _CENTURY.sub(lambda m: ordinal(_value(m["n"])), text)
    return _BARE.sub(lambda m: cardinal(_value(m["n"])), text)


def _ruler(match: re.Match[str]) -> str:
    numeral = match["n"]
    if numeral == "I":
        # "With Mary I went home" has no queen in it.
        before = match.string[max(0, match.start() - 20) : match.end("name")]
        if not _CROWN.search(before):
            return match[0]
    elif len(numeral) == 1 and numeral in "LC":
        return match[0]
    return f"{match['name']} the {ordinal(_value(numeral))}"


def _value(numeral: str) -> int:
    values = [_VALUES[c] for c in numeral]
    following = [*values[1:], 0]
    return sum(-v if v < n else v for v, n in zip(values, following, strict=True))
