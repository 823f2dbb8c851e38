"""Written English as a person would say it: "$500" -> "five hundred dollars".

One file a subject; each is a pass over the text. The order matters: a pass takes what
it is sure of and leaves words behind, which later passes do not touch.
"""

from __future__ import annotations

from assistant.tts.spoken.codes import codes
from assistant.tts.spoken.dates import dates, years
from assistant.tts.spoken.money import money
from assistant.tts.spoken.plain import numbers, ordinals
from assistant.tts.spoken.roman import roman
from assistant.tts.spoken.symbols import operators, signs, unify
from assistant.tts.spoken.times import times
from assistant.tts.spoken.units import units
from assistant.tts.spoken.words import numbered, words

_PASSES = (
    unify,
    codes,
    dates,
    times,
    numbered,
    money,
    units,
    years,
    operators,
    words,
    ordinals,
    roman,
    numbers,
    signs,
)

_ROUNDS = 6
"""A round may uncover an abbreviation; ordinary text settles in one."""


def to_spoken(text: str) -> str:
    """The spoken form of ``text``: no digits, no signs, only words and pauses.

    Text that is already in spoken form comes back unchanged; text with nothing to say
    gives "".
    """
    for _ in range(_ROUNDS):
        before = text
        for change in _PASSES:
            text = change(text)
        if text == before:
            break
    return text
