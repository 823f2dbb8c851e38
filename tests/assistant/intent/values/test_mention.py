"""Everything about time in a sentence, and what neighbours share."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.intent.values.mention import find_mentions
from assistant.intent.values.moment import When
from assistant.intent.values.range_value import Range
from assistant.intent.values.recurrence import Recurrence

NOW = datetime(2027, 6, 16, 10, 20, tzinfo=UTC)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("meet next week on monday or thursday", ["2027-06-21", "2027-06-24"]),
        ("next week monday, wednesday and friday", ["2027-06-21", "2027-06-23", "2027-06-25"]),
        ("monday or thursday", ["2027-06-21", "2027-06-17"]),
        ("next week monday, and call me on friday", ["2027-06-21", "2027-06-18"]),
    ],
)
def test_days_of_a_named_week(text: str, days: list[str]) -> None:
    found = [span.value for span in find_mentions(text, NOW)]
    assert [isinstance(v, When) and v.at.strftime("%Y-%m-%d") for v in found] == days


def test_the_part_of_the_day_is_of_both_days() -> None:
    found = [span.value for span in find_mentions("friday or saturday afternoon", NOW)]
    assert [isinstance(v, Range) and str(v.start)[:16] for v in found] == [
        "2027-06-18 12:00",
        "2027-06-19 12:00",
    ]


def test_the_longest_wording_counts_once() -> None:
    (found,) = find_mentions("out tomorrow from 3 to 5 pm", NOW)
    assert isinstance(found.value, Range)
    assert (found.start, found.end) == (4, 27)


def test_a_new_hour_at_the_end() -> None:
    first, second = find_mentions("move the 3 pm meeting to 4", NOW)
    assert isinstance(first.value, When)
    assert isinstance(second.value, When)
    assert (first.value.at.hour, second.value.at.hour % 12) == (15, 4)
    assert len(find_mentions("i get from 3 pm to 4 what i want", NOW)) < 3


def test_kinds_beside_each_other() -> None:
    found = find_mentions("every monday for two hours until the end of august", NOW)
    assert [type(span.value) for span in found] == [Recurrence, int, Range]
