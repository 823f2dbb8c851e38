"""Cuts a text into words, numbers and signs, each with its place in the text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_SIGNS = {
    "‘": "'",
    "’": "'",
    "ʼ": "'",
    "´": "'",
    "`": "'",
    "“": '"',
    "”": '"',
    "‐": "-",
    "‑": "-",
    "‒": "-",
    "–": "-",
    "—": "-",
    "−": "-",
    "⁄": "/",
    "∕": "/",
    "∶": ":",
    "％": "%",
}

_TOKEN = re.compile(
    r"""
    \d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)       # 1,000 and 12,500.75
  | \d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?(?!\d) # 12,34,567 as in India
  | (?<!\d,)\d+,\d{2}(?![\d,])               # 5,50 as on the Continent
  | (?<=\d\.)\d+|\d+(?=(?:\.\d+){2})         # the parts of 192.168.0.1
  | \d+(?:\.\d+)?                            # 7, 0.5 (and 7.30)
  | (?<![^\W_])[ap]\.\s?m(?![^\W_])\.?       # a.m.
  | (?<![^\W_])to(?:[ -](?:morrow|night)|-day)(?![^\W_])(?!\ (?:light|mode|shift))
                                             # as some recognisers write them
  | [¼½¾⅐-⅞]                                 # fractions in one sign
  | [^\W\d_]+(?:'[^\W\d_]+)*                 # words, o'clock
  | [^\s\w]                                  # one sign
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """text: lower case, quotes and dashes folded ("p.m." is "pm", "to-morrow" "tomorrow").

    start, end: offsets in the text as given; glued: no space before it.
    """

    text: str
    start: int
    end: int
    glued: bool

    @property
    def is_number(self) -> bool:
        return self.text[0].isdecimal()

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha()


def fold(text: str) -> str:
    """Lower case, plain quotes, dashes and digits; every character keeps its place."""
    return "".join(map(_fold_char, text))


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    for folded in (unicodedata.normalize("NFKC", char), char):
        if len(folded.lower()) == 1:
            return folded.lower()
    return char


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text`` in order; white space and underscores are left out."""
    tokens: list[Token] = []
    end = -1
    for match in _TOKEN.finditer(fold(text)):
        word = match.group()
        if word[0] in "ap" and word[1:2] == ".":
            word = word[0] + "m"
        elif len(word) > 2 and word[2] in " -":
            word = "to" + word[3:]
        tokens.append(Token(word, match.start(), match.end(), match.start() == end))
        end = match.end()
    return tokens
