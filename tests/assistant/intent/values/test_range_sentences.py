"""Ranges in sentences made up for this test, with answers worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.intent.values.ranges import find_ranges, parse_range
from assistant.intent.values.when import find_times

NOW = datetime(2027, 6, 16, 10, 20, tzinfo=UTC)
"""A Wednesday."""

WHOLE_DAYS = {
    "what's on this week": "2027-06-14 2027-06-21",
    "is it going to rain next weekend": "2027-06-26 2027-06-28",
    "anything planned for the weekend": "2027-06-19 2027-06-21",
    "show me my lists from last month": "2027-05-01 2027-06-01",
    "how much did we spend last year": "2026-01-01 2027-01-01",
    "what is coming up in the next five days": "2027-06-17 2027-06-22",
    "remind me over the coming three weeks": "2027-06-17 2027-07-08",
    "we were away the past two weeks": "2027-06-02 2027-06-16",
    "the guests stay from thursday to sunday": "2027-06-17 2027-06-21",
    "book the cottage from july 3rd to july 10th": "2027-07-03 2027-07-11",
    "we are in italy august 5 through 19": "2027-08-05 2027-08-20",
    "closed between the 20th and the 24th of december": "2027-12-20 2027-12-25",
    "how many meetings in september": "2027-09-01 2027-10-01",
    "bills due early next month": "2027-07-01 2027-07-16",
    "let's paint the fence late august": "2027-08-16 2027-09-01",
    "sometime later this week": "2027-06-17 2027-06-21",
    "the second week of november": "2027-11-08 2027-11-15",
    "the last weekend of july": "2027-07-31 2027-08-02",
    "in the summer of 2031": "2031-06-01 2031-09-01",
    "we move house this autumn": "2027-09-01 2027-12-01",
    "ski trips next winter": "2027-12-01 2028-03-01",
    "that was in 2019": "2019-01-01 2020-01-01",
    "play music from the eighties": "1980-01-01 1990-01-01",
    "songs of the 1960s": "1960-01-01 1970-01-01",
    "painters of the 18th century": "1700-01-01 1800-01-01",
    "what do we plan in the third quarter": "2027-07-01 2027-10-01",
    "the results for q2 2026": "2026-04-01 2026-07-01",
    "who is on call in week 40": "2027-10-04 2027-10-11",
    "the week of july 20th": "2027-07-19 2027-07-26",
    "i'm off the rest of the month": "2027-06-16 2027-07-01",
    "nothing for the rest of this week": "2027-06-16 2027-06-21",
    "maybe the month after next": "2027-08-01 2027-09-01",
    "i was ill the week before last": "2027-05-31 2027-06-07",
    "it will arrive within the next ten days": "2027-06-16 2027-06-26",
    "water the plants for two weeks starting july 1st": "2027-07-01 2027-07-15",
    "from now until saturday": "2027-06-16 2027-06-20",
    "our bill of november 2026": "2026-11-01 2026-12-01",
    "from june to august": "2027-06-01 2027-09-01",
    "between 2021 and 2024": "2021-01-01 2025-01-01",
    "from march 2025 until may 2026": "2025-03-01 2026-06-01",
    "the fair is 25 to 28 june": "2027-06-25 2027-06-29",
    "next week from tuesday to thursday": "2027-06-22 2027-06-25",
    "from this friday till next tuesday": "2027-06-18 2027-06-23",
    "from christmas to new year": "2027-12-25 2028-01-02",
    "who visits on thanksgiving weekend": "2027-11-27 2027-11-29",
    "electricity used this quarter": "2027-04-01 2027-07-01",
    "films of the last decade": "2010-01-01 2020-01-01",
    "the last six months": "2026-12-16 2027-06-16",
    "due 12/2027": "2027-12-01 2028-01-01",
    "how was the past weekend": "2027-06-12 2027-06-14",
    "plans for the upcoming weekend": "2027-06-19 2027-06-21",
    "the next couple of weeks": "2027-06-17 2027-07-01",
    "in the first half of 2028": "2028-01-01 2028-07-01",
    "the year after next": "2029-01-01 2030-01-01",
    "all of next month": "2027-07-01 2027-08-01",
    "the first week of september": "2027-08-30 2027-09-06",
    "concerts in mid-october": "2027-10-10 2027-10-21",
    "hits of the nineties": "1990-01-01 2000-01-01",
    "the course runs may 28 - june 2": "2028-05-28 2028-06-03",
    "from the 21st to the 25th": "2027-06-21 2027-06-26",
}
HOURS = {
    "quiet from 10 pm to 6 am": "22:00 06:00",
    "between nine and eleven in the morning": "09:00 11:00",
    "heat the bathroom from 6:30 to 7:15": "18:30 19:15",
    "the shop is open 2 to 4 pm": "14:00 16:00",
    "from noon until three": "12:00 15:00",
    "half past eight to ten pm": "20:30 22:00",
    "i'm busy from 14:00 to 15:45": "14:00 15:45",
    "charge the car between 7am and 9am": "07:00 09:00",
    "from 9 am for two hours": "09:00 11:00",
    "for 90 minutes from 3 pm": "15:00 16:30",
    "remind me in the afternoon": "12:00 16:00",
    "close the blinds late in the evening": "18:00 20:00",
    "it rains in the early morning": "08:00 10:00",
    "call them at lunchtime": "11:00 13:00",
    "lock the door during the night": "20:00 00:00",
    "from quarter past four to five pm": "16:15 17:00",
    "no music 11pm-1am": "23:00 01:00",
    "only in business hours": "08:00 18:00",
    "from eight in the morning until noon": "08:00 12:00",
    "come between 11 and 2": "11:00 14:00",
}
MOMENTS = {
    "what's the weather tomorrow morning": "2027-06-17 08:00 2027-06-17 12:00",
    "anything on tonight": "2027-06-16 20:00 2027-06-17 00:00",
    "will it rain this evening": "2027-06-16 16:00 2027-06-16 20:00",
    "who rang last night": "2027-06-15 20:00 2027-06-16 00:00",
    "friday afternoon": "2027-06-18 12:00 2027-06-18 16:00",
    "on saturday between ten and noon": "2027-06-19 10:00 2027-06-19 12:00",
    "from 3 to 5 pm tomorrow": "2027-06-17 15:00 2027-06-17 17:00",
    "next monday from 9 to 10:30 am": "2027-06-21 09:00 2027-06-21 10:30",
    "july 4th from noon to midnight": "2027-07-04 12:00 2027-07-05 00:00",
    "in the morning on june 21": "2027-06-21 08:00 2027-06-21 12:00",
    "today from 1 pm till 2:30 pm": "2027-06-16 13:00 2027-06-16 14:30",
    "from 6 pm on friday to 10 am on sunday": "2027-06-18 18:00 2027-06-20 10:00",
    "what did i hear in the last 3 hours": "2027-06-16 07:20 2027-06-16 10:20",
    "the next 45 minutes": "2027-06-16 10:20 2027-06-16 11:05",
    "he'll be back within two hours": "2027-06-16 10:20 2027-06-16 12:20",
    "motion in the past hour": "2027-06-16 09:20 2027-06-16 10:20",
    "mute it for the rest of the day": "2027-06-16 10:20 2027-06-17 00:00",
    "i'll do it later today": "2027-06-16 12:00 2027-06-17 00:00",
    "between now and 5 pm": "2027-06-16 10:20 2027-06-16 17:00",
    "from today 4 pm to tomorrow 9 am": "2027-06-16 16:00 2027-06-17 09:00",
    "game on tuesday night": "2027-06-22 20:00 2027-06-23 00:00",
    "frost early tomorrow morning": "2027-06-17 08:00 2027-06-17 10:00",
    "yesterday afternoon": "2027-06-15 12:00 2027-06-15 16:00",
    "we cook tomorrow night": "2027-06-17 20:00 2027-06-18 00:00",
    "dentist thursday 2-4pm": "2027-06-17 14:00 2027-06-17 16:00",
    "sunday evening from 7 to 9": "2027-06-20 19:00 2027-06-20 21:00",
    "on christmas eve in the evening": "2027-12-24 16:00 2027-12-24 20:00",
    "a window tomorrow between 1 and 5 pm": "2027-06-17 13:00 2027-06-17 17:00",
}
OPEN = {
    "finish it before friday": "| 2027-06-18 00:00",
    "what happened since monday": "2027-06-14 00:00 |",
    "the offer holds until next friday": "| 2027-06-25 00:00",
    "pay by the end of the month": "| 2027-07-01 00:00",
    "be home before 8 pm": "| 2027-06-16 20:00",
    "after 10:30 tomorrow": "2027-06-17 10:30 |",
    "no later than noon on thursday": "| 2027-06-17 12:00",
    "3 pm or later": "2027-06-16 15:00 |",
    "models of 2024 and later": "2024-01-01 00:00 |",
    "a diet starting next week": "2027-06-21 00:00 |",
    "we live here since 2015": "2015-01-01 00:00 |",
    "anything before march 2028": "| 2028-03-01 00:00",
    "until 6 in the evening": "| 2027-06-16 18:00",
    "no news since last weekend": "2027-06-12 00:00 |",
    "not before 9 am": "2027-06-17 09:00 |",
    "since the beginning of may": "2027-05-01 00:00 |",
    "trips after 2030": "2031-01-01 00:00 |",
}
NONE = (
    "may i have a look",
    "march on",
    "two to four people",
    "turn the volume from 3 to 5",
    "the second half of the film",
    "add 2000 grams of flour",
    "a night in the museum",
    "good morning",
    "what is 7 minus 3",
    "play spring by vivaldi",
    "i can't fall asleep",
    "between you and me",
    "call me back in ten minutes",
    "read chapters 5 to 9",
    "every week",
    "we met two weeks ago",
    "heat the oven from 180 to 200 degrees",
)
FEASTS = {
    "the day after christmas": "2027-12-26",
    "two days before thanksgiving": "2027-11-23",
    "easter monday 2029": "2029-04-02",
    "the friday before labor day": "2027-09-03",
    "new year's eve 2030": "2030-12-31",
    "mother's day 2028": "2028-05-14",
    "when is memorial day": "2028-05-29",
    "whit monday 2028": "2028-06-05",
    "a week after halloween": "2027-11-07",
    "good friday next year": "2028-04-14",
    "the day before new year": "2027-12-31",
    "chinese new year 2028": "2028-01-26",
    "rosh hashanah 2027": "2027-10-02",
    "diwali 2027": "2027-10-29",
}


def ends(text: str, pattern: str) -> list[tuple[bool, bool, str]]:
    return [
        (
            found.value.has_date,
            found.value.has_time,
            " ".join(
                moment.strftime(pattern) if moment else "|"
                for moment in (found.value.start, found.value.stop)
            ),
        )
        for found in find_ranges(text, NOW)
    ]


@pytest.mark.parametrize("text", WHOLE_DAYS)
def test_ranges_of_whole_days(text: str) -> None:
    assert ends(text, "%Y-%m-%d") == [(True, False, WHOLE_DAYS[text])]


@pytest.mark.parametrize("text", HOURS)
def test_hours_without_a_day(text: str) -> None:
    assert ends(text, "%H:%M") == [(False, True, HOURS[text])]


@pytest.mark.parametrize("text", MOMENTS)
def test_hours_of_a_day(text: str) -> None:
    assert ends(text, "%Y-%m-%d %H:%M") == [(True, True, MOMENTS[text])]


@pytest.mark.parametrize("text", OPEN)
def test_ranges_with_one_end(text: str) -> None:
    (found,) = find_ranges(text, NOW)
    said = " ".join(
        moment.strftime("%Y-%m-%d %H:%M") if moment else "|"
        for moment in (found.value.start, found.value.end)
    )
    assert said == OPEN[text]


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_range(text: str) -> None:
    assert find_ranges(text, NOW) == []


@pytest.mark.parametrize("text", FEASTS)
def test_days_named_by_feasts(text: str) -> None:
    (found,) = find_times(text, NOW)
    assert (found.value.at.strftime("%Y-%m-%d"), found.value.has_time) == (FEASTS[text], False)


@pytest.mark.parametrize("text", ["this weekend", "on the weekend", "in june.", "until friday"])
def test_a_text_that_is_a_range(text: str) -> None:
    assert parse_range(text, NOW) is not None


@pytest.mark.parametrize("text", ["", "friday", "this weekend with you", "ten minutes"])
def test_a_text_that_is_more_or_something_else(text: str) -> None:
    assert parse_range(text, NOW) is None
