"""Days in digits: 2026-05-05, 5/5, 5.5.2026.

"5/6" is the sixth of May unless ``day_first``; a first number above 12 is the day.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from assistant.intent.values.calendar_day import (
    DayHit,
    coming_day,
    exact_day,
    full_year,
    match_month_day,
    month_at,
)
from assistant.intent.values.cardinal import Tokens, word_at


def match_numeric(
    tokens: Tokens, i: int, today: date, *, day_first: bool = False, sure: bool = False
) -> DayHit | None:
    """2026-05-05, 5/5, 5/5/2026, 5.5.2026, and 5-5 where it is ``sure`` to be a date."""
    year_first = _match_year_first(tokens, i, today)
    if year_first is not None:
        return year_first
    odd = _match_spaced(tokens, i) or _match_year_between(tokens, i) or _match_compact(tokens, i)
    odd = odd or _match_wide(tokens, i, day_first)
    if odd is not None:
        return odd
    sure = sure or word_at(tokens, i - 1) == "on"
    parts, end = _numeric_parts(tokens, i, sure=sure)
    if len(parts) == 3 and len(parts[0]) == 4:
        return exact_day(int(parts[0]), int(parts[1]), int(parts[2]), end)
    if len(parts) not in (2, 3) or any(len(part) > 2 for part in parts[:2]):
        return None
    month, day = int(parts[0]), int(parts[1])
    if month > 12 or (day_first and day <= 12):
        month, day = day, month
    if len(parts) == 2:
        year_after = word_at(tokens, end) == "," and word_at(tokens, end + 1)
        if year_after and len(year_after) == 4 and year_after[:2] in ("19", "20"):
            return exact_day(int(year_after), month, day, end + 2)  # "11/12, 2016"
        # "4/2 = 2" and "1/2 cup" are no days
        if word_at(tokens, end) in ("=", "+", "*") or word_at(tokens, i - 1) in ("=", "+", "*"):
            return None
        found = coming_day(month, day, today, end)
        fraction = int(parts[0]) < int(parts[1]) <= 4
        return replace(found, loose=True) if found and fraction else found
    year = full_year(int(parts[2]), today) if len(parts[2]) == 2 else int(parts[2])
    return exact_day(year, month, day, end)


def _match_year_first(tokens: Tokens, i: int, today: date) -> DayHit | None:
    """2019-sep-1, 2019/1/sep, "2019 sep 1st"; "2019 5 may" may be anything."""
    year = word_at(tokens, i)
    if len(year) != 4 or not year.isdecimal() or year[:2] not in ("19", "20"):
        return None
    signed = word_at(tokens, i + 1) in ("/", "-", ",")
    named = match_month_day(tokens, i + 1 + signed, today)
    if named is None or not named.yearless or not (signed or month_at(tokens, i + 1)):
        return None
    return named.in_year(int(year))


def _match_compact(tokens: Tokens, i: int) -> DayHit | None:
    """20261016"""
    text = word_at(tokens, i)
    if len(text) != 8 or not text.isdecimal() or text[:2] not in ("19", "20"):
        return None
    return exact_day(int(text[:4]), int(text[4:6]), int(text[6:]), i + 1)


def _match_spaced(tokens: Tokens, i: int) -> DayHit | None:
    """2016 10 16"""
    texts = [token.text for token in tokens[i : i + 3]]
    if not all(text.isdecimal() for text in texts) or word_at(tokens, i + 3).isdecimal():
        return None
    if [len(text) for text in texts] not in ([4, 2, 2], [4, 1, 2]):
        return None
    return exact_day(int(texts[0]), int(texts[1]), int(texts[2]), i + 3)


def _match_wide(tokens: Tokens, i: int, day_first: bool) -> DayHit | None:
    """7 - 25 - 2017 and 7 / 25 / 2017, with spaces around the signs"""
    texts = [token.text for token in tokens[i : i + 5]]
    if texts[1::2] not in (["-", "-"], ["/", "/"]) or tokens[i + 1].glued:
        return None
    if not all(text.isdecimal() for text in texts[::2]):
        return None
    month, day, year = (int(text) for text in texts[::2])
    if len(texts[4]) != 4:
        return None
    if month > 12 or (day_first and day <= 12):
        month, day = day, month
    return exact_day(year, month, day, i + 5)


def _match_year_between(tokens: Tokens, i: int) -> DayHit | None:
    """23-2020-september"""
    day, year = word_at(tokens, i), word_at(tokens, i + 2)
    month = month_at(tokens, i + 4)
    dashes = word_at(tokens, i + 1) == "-" == word_at(tokens, i + 3)
    if month is None or not dashes or not (day.isdecimal() and year.isdecimal()):
        return None
    return exact_day(int(year), month[0], int(day), month[1]) if len(year) == 4 else None


def _numeric_parts(tokens: Tokens, i: int, *, sure: bool) -> tuple[list[str], int]:
    """The numbers of a numeric date and the index after it; no numbers when it is none."""
    parts: list[str] = []
    sign, at = "", i
    while at < len(tokens) and tokens[at].is_number and len(parts) < 3:
        text = tokens[at].text
        pieces = text.split(".") if "." in text else [text]
        if not all(piece.isdecimal() for piece in pieces):
            return [], i
        parts += pieces
        at += 1
        if "." in text and sign not in ("", "."):
            return [], i
        sign = sign or ("." if "." in text else "")
        follow = word_at(tokens, at)
        if len(parts) >= 3 or follow not in ("/", "-", ".") or (sign and follow != sign):
            break
        if not (tokens[at].glued and at + 1 < len(tokens) and tokens[at + 1].glued):
            break
        sign, at = follow, at + 1
    if len(parts) == 2 and sign != "/" and not sure:
        return [], i
    return (parts, at) if 2 <= len(parts) <= 3 else ([], i)
