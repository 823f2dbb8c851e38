"""How an English word sounds, roughly, in one letter a sound: "knight" and "nite" are "nit".

Vowels: a e i o u. Consonants as written, and C (church), J (judge), S (ship), T (thin),
N (sing). It is a key for comparing words that a recogniser may have confused, no
transcription: the rules are few, and sounds that are often confused are near each other in
``confusion``.
"""

from __future__ import annotations

import re
from functools import lru_cache

_VOWELS = "aeiou"

# What a letter may begin, the first that fits; a letter without a rule sounds as written.
# "^" is the beginning of the word.
_SPELLINGS = {
    "a": (
        ("ar(?=s?$)", "ar"),
        ("augh(?=t)", "o"),
        ("au(?=gh$)", "a"),
        ("au|aw", "o"),
        ("ai|ay", "e"),
    ),
    "b": (("(?<=m)b$", ""),),
    "c": (
        ("ch(?=[rl])|cch|cq|ck|cc(?![eiy])", "k"),
        ("ch", "C"),
        ("ci(?=(?:on|al|an|ous|ent|a)(?:s|ly)?$)", "S"),
        ("cc(?=[eiy])", "ks"),
        ("c(?=[eiy])", "s"),
        ("c", "k"),
    ),
    "d": (("dge?(?=$|[^aou])", "J"),),
    "e": (
        ("^ex(?=pr)", "es"),
        ("er(?=s?$)", "ar"),
        ("eau", "o"),
        ("eigh|ey", "e"),
        ("ee|ea|ei", "i"),
        ("ew", "u"),
        ("es$(?<=..[^aeiou]es)|e$(?<=...e)", ""),
    ),
    "g": (
        ("^gn|gn$", "n"),
        ("^gh", "g"),
        ("gh$(?<=[lrtn]augh)|gh$(?<=[rtcn]ough)", "f"),
        ("gh", ""),
        ("gu(?=[eiy])|g(?=et|iv|ir|ift)|gg", "g"),
        ("g(?=[eiy])", "J"),
    ),
    "h": (("(?<![aeiouw])h(?=[aeiouy])|^h", "h"), ("h", "")),
    "i": (("igh", "i"), ("ir(?=s?$)", "ar"), ("ie", "i")),
    "j": (("j", "J"),),
    "k": (("^kn", "n"),),
    "l": (("le$", "l"),),
    "m": (("mb$", "m"),),
    "n": (("ng(?=$|[^aeiouy])", "N"),),
    "o": (
        ("ough(?=t)", "o"),
        ("(?:or|our)(?=s?$)", "ar"),
        ("oo|ou", "u"),
        ("oa|ow", "o"),
        ("oy", "oi"),
    ),
    "p": (("^pn", "n"), ("^ps", "s"), ("ph", "f")),
    "q": (("qu", "kw"), ("q", "k")),
    "r": (("re$", "ar"),),
    "s": (
        ("sch(?=e)", "sk"),
        ("s?si(?=(?:on|al|an)(?:s|ly)?$)|sci(?=(?:ous|ence)$)", "S"),
        ("sc(?=[eiy])|st(?=le?$|en$)", "s"),
        ("sh", "S"),
    ),
    "t": (
        ("tch", "C"),
        ("ti(?=(?:on|al|an|ous|ent)(?:s|ly)?$)", "S"),
        ("ture?(?=s?$)", "Cr"),
        ("th", "T"),
        ("tz", "s"),
    ),
    "u": (("ur(?=s?$)", "ar"), ("ue|ui", "u")),
    "w": (("^wr", "r"), ("^who(?!l)", "hu"), ("wh", "w")),
    "x": (("^x", "z"), ("x", "ks")),
    "y": (("^y(?=[aeiou])", "y"), ("y", "i")),
}
_RULES = {
    letter: [(re.compile(pattern), sounds) for pattern, sounds in spellings]
    for letter, spellings in _SPELLINGS.items()
}
_REPEATED = re.compile(r"(.)\1+")

# Sounds that recognisers confuse, and how far they are from each other; all others are 1.
_NEAR = {
    frozenset(pair): distance
    for pairs, distance in (
        ("pb td kg fv sz SJ SC CJ mn nN", 0.4),
        ("Tt Tf Ts Td zJ sS vb lr Ck kC wv dJ tC", 0.6),
    )
    for pair in pairs.split()
}
_VOWEL_DISTANCE = 0.4
_WEAK_DROP = 0.5


@lru_cache(maxsize=8192)
def sound_key(word: str) -> str:
    """The sounds of one word in lower case without signs; digits stay as they are."""
    sounds, i = "", 0
    while i < len(word):
        for pattern, value in _RULES.get(word[i], ()):
            match = pattern.match(word, i)
            if match:
                sounds, i = sounds + value, match.end()
                break
        else:
            sounds, i = sounds + word[i], i + 1
    return _REPEATED.sub(r"\1", sounds)


def confusion(one: str, other: str) -> float:
    """How unlike two sounds are: 0 for the same, 1 for strangers."""
    if one == other:
        return 0.0
    if one in _VOWELS and other in _VOWELS:
        return _VOWEL_DISTANCE
    return _NEAR.get(frozenset((one, other)), 1.0)


def loss(sound: str) -> float:
    """What it costs when a sound is left out: vowels and breaths go easily."""
    return _WEAK_DROP if sound in _VOWELS or sound in "hwyr" else 1.0
