"""Small numbers as recognisers write them, in words or in digits."""

from __future__ import annotations

from assistant.asr.cleanup import words_of

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()

DIGITS = {word: str(i) for i, word in enumerate(_ONES)} | {
    word: str(10 * i) for i, word in enumerate(_TENS, start=2)
}
"""Digits by word."""


def numbers_in(text: str) -> list[int]:
    """The whole numbers in a text: "twenty five or 7" has 25 and 7."""
    found: list[int] = []
    tens = False
    for word in words_of(text.replace("-", " ")):
        digits = DIGITS.get(word, word)
        if not digits.isdecimal():
            tens = False
            continue
        if tens and 0 < int(digits) < 10:
            found[-1] += int(digits)
        else:
            found.append(int(digits))
        tens = word in _TENS
    return found


def other_numbers(one: str, other: str) -> bool:
    """Whether both texts hold numbers, and not the same."""
    first, second = numbers_in(one), numbers_in(other)
    return bool(first and second) and first != second
