"""Text as a recogniser writes it -> plain text for matching."""

from __future__ import annotations

import re
import unicodedata

from assistant.intent.courtesy import strip_courtesy
from assistant.intent.values.tokens import fold

__all__ = ["normalize", "strip_courtesy"]

_CONTRACTIONS = {
    "what's": "what is",
    "whats": "what is",
    "what're": "what are",
    "how's": "how is",
    "where's": "where is",
    "when's": "when is",
    "who's": "who is",
    "that's": "that is",
    "there's": "there is",
    "it's": "it is",
    "let's": "let us",
    "i'm": "i am",
    "i'd": "i would",
    "i'll": "i will",
    "i've": "i have",
    "you're": "you are",
    "we're": "we are",
    "can't": "cannot",
    "won't": "will not",
    "don't": "do not",
    "dont": "do not",
    "doesn't": "does not",
    "didn't": "did not",
    "isn't": "is not",
    "aren't": "are not",
    "o clock": "o'clock",
    "oclock": "o'clock",
}
_CONTRACTION = re.compile(
    r"(?<![\w'])(?:" + "|".join(map(re.escape, _CONTRACTIONS)) + r")(?![\w'])"
)

# What a recogniser makes of a word where nothing else can have been said.
_MISHEARD = (
    (re.compile(r"\bto[ -](morrow|night)\b"), r"to\1"),
    (re.compile(r"\bto-day\b"), "today"),
    (re.compile(r"\banilarm\b"), "an alarm"),
    (re.compile(r"\b(?:said|sat) (?=(?:an?|in|the) (?:alarm|timer|reminder)\b)"), "set "),
    (re.compile(r"\bset in (?=alarm\b)"), "set an "),
    (re.compile(r"\bset in (?=timer\b|reminder\b)"), "set a "),
)
_STUTTER = re.compile(r"\b(the|an|to|for|of|my|and|i|can you|could you)(?: \1)+\b")
_HESITATION = re.compile(r"\b(?:u+m+|u+h+m*|e+r+m+)\b")

# p.m., p. m. and "p m" after a number, never "a m..." in the middle of talk
_MERIDIEM = re.compile(r"(?<![^\W\d_])([ap])\.\s?m\b\.?")
_SPELLED_MERIDIEM = re.compile(r"(?<=\w)\s([ap])\sm(?=$|[\s.,!?])")
_LETTERS = re.compile(r"(?<![\w.])(?:[a-z]\.){2,}(?![a-z])")
_SENTENCE_MARKS = re.compile(r"[!?;…\"“”()\[\]{}¡¿*_~<>|\\]+")
_COMMA_OR_STOP = re.compile(r"[.,:](?!\d)|(?<!\d)[,:]")
_BARE_POINT = re.compile(r"(?<![\w.])\.(?=\d)")
_SPACE = re.compile(r"\s+")


def normalize(text: str) -> str:
    """Lower case, no punctuation, plain quotes and accents, contractions written out.

    Numbers keep their digits and signs ("1,000", "20.5", "7:30", "1/2", "-5", "50%", "½");
    words for numbers stay words. Hesitations ("um") are left out, and a few words that
    recognisers mishear are put right ("to-morrow", "said an alarm").
    """
    plain = _without_accents(fold(text))
    plain = _MERIDIEM.sub(r"\1m ", plain)
    plain = _LETTERS.sub(lambda match: match.group().replace(".", ""), plain)
    plain = _SENTENCE_MARKS.sub(" ", plain)
    # ".5" would lose its point with the punctuation and be five
    plain = _COMMA_OR_STOP.sub(" ", _BARE_POINT.sub("0.", plain))
    plain = _SPACE.sub(" ", _HESITATION.sub(" ", plain)).strip()
    plain = _STUTTER.sub(r"\1", plain)
    for pattern, word in _MISHEARD:
        plain = pattern.sub(word, plain)
    plain = _SPELLED_MERIDIEM.sub(r" \1m", plain)
    return _CONTRACTION.sub(lambda match: _CONTRACTIONS[match.group()], plain)


def _without_accents(text: str) -> str:
    """é -> e, ß -> ss; signs such as ½ and letters of other scripts stay."""
    split = unicodedata.normalize("NFD", text)
    bare = "".join(char for char in split if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare).replace("ß", "ss")
