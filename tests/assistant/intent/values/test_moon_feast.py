"""Feasts of other calendars, against the days on which they were kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import partial

import pytest

from assistant.intent.values.moon_feast import (
    chinese_new_year,
    diwali,
    hanukkah,
    islamic,
    passover,
    rosh_hashanah,
)

KEPT: list[tuple[Callable[[int], date], str]] = [
    (rosh_hashanah, "2020-09-19 2021-09-07 2023-09-16 2024-10-03 2025-09-23 2026-09-12"),
    (passover, "2021-03-28 2024-04-23 2025-04-13 2026-04-02"),
    (hanukkah, "2021-11-29 2023-12-08 2024-12-26 2025-12-15 2026-12-05"),
    (
        chinese_new_year,
        "2015-02-19 2016-02-08 2017-01-28 2018-02-16 2019-02-05 2020-01-25 2021-02-12 2022-02-01"
        " 2023-01-22 2024-02-10 2025-01-29 2026-02-17",
    ),
    (diwali, "2018-11-07 2019-10-27 2020-11-14 2021-11-04 2022-10-24 2023-11-12 2025-10-20"),
    (partial(islamic, 9, 1), "2020-04-24 2021-04-13 2022-04-02 2023-03-23 2024-03-11 2025-03-01"),
    (partial(islamic, 10, 1), "2020-05-24 2021-05-13 2022-05-02 2023-04-21 2024-04-10"),
    (partial(islamic, 12, 10), "2020-07-31 2021-07-20 2022-07-09 2023-06-28 2024-06-16"),
]


@pytest.mark.parametrize(("feast", "kept"), KEPT)
def test_the_days_on_which_they_were_kept(feast: Callable[[int], date], kept: str) -> None:
    days = [date.fromisoformat(text) for text in kept.split()]
    assert [feast(day.year) for day in days] == days
