"""Judges the parsers of values on rows of a public specification (Recognizers-Text).

Every row is judged. It is right when exactly the expected values are found in its sentence,
in order; where the specification lists several readings, one of them must be met. A value of
a kind that the assistant cannot read counts as wrong. Rows of extractors have no values: they
are right when the values stand at the expected words (a preposition or article before them
does not count).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from assistant.bench.specification_sets import timex, unhalved
from assistant.bench.specification_times import agree, same_range
from assistant.intent.values.duration import find_durations
from assistant.intent.values.measure import Measure, find_ages, find_measures
from assistant.intent.values.mention import find_mentions
from assistant.intent.values.moment import When
from assistant.intent.values.money import Money, find_money
from assistant.intent.values.number import find_numbers
from assistant.intent.values.number_range import NumberRange, find_number_ranges
from assistant.intent.values.percent import find_percents
from assistant.intent.values.place import find_places
from assistant.intent.values.range_value import Range
from assistant.intent.values.ranges import find_ranges
from assistant.intent.values.recurrence import find_recurrences
from assistant.intent.values.span import Span
from assistant.intent.values.temperature import find_temperatures
from assistant.intent.values.when import find_times
from assistant.intent.values.zone import find_zones
from assistant.intent.yes_no import leaning

Row = dict[str, Any]

_PERIODS = {
    "DatePeriod": "daterange",
    "TimePeriod": "timerange",
    "DateTimePeriod": "datetimerange",
}
_MODES = (
    *("", "CalendarMode", "ComplexCalendar", "ExperimentalMode", "ExtendedTypes"),
    *("SplitDateAndTime", "TasksMode"),
)
"""Settings of the specification's own program; the assistant reads all of them alike."""


def judge(row: Row) -> bool:
    """Whether the row is right."""
    return JUDGES[row["model"]](row)


def reference(row: Row) -> datetime:
    """The present time of the row, in UTC."""
    text = row.get("context", {}).get("ReferenceDateTime", "2016-11-07T00:00:00")
    return datetime.fromisoformat(text[:19]).replace(tzinfo=UTC)


def _close(found: float, expected: str) -> bool:
    return math.isclose(found, float(expected), rel_tol=1e-9, abs_tol=1e-12)


def _same(found: Sequence[Any], expected: Sequence[Any], agree: Callable[[Any, Any], bool]) -> bool:
    return len(found) == len(expected) and all(map(agree, found, expected))


def _numbers(row: Row) -> bool:
    found = [span.value for span in find_numbers(row["input"])]
    return _same(found, [result["Resolution"]["value"] for result in row["results"]], _close)


def _measures(find: Callable[[str], list[Span[Measure]]], row: Row) -> bool:
    found = [span.value for span in find(row["input"])]
    # a unit without a number is no value
    expected = [r["Resolution"] for r in row["results"] if r["Resolution"]["value"] is not None]
    return _same(
        found,
        expected,
        lambda mine, theirs: (
            _close(mine.number, theirs["value"]) and mine.unit == theirs["unit"].lower()
        ),
    )


_HUNDREDTHS = ("Cent", "Pence", "Penny")


def _sums(row: Row) -> bool:
    """A currency of several countries ("dollars") has no code there; any will do."""
    found = [span.value for span in find_money(row["input"])]
    expected = [r["Resolution"] for r in row["results"] if r["Resolution"]["value"] is not None]

    def agrees(mine: Money, theirs: dict[str, Any]) -> bool:
        amount = mine.amount * (100 if theirs["unit"] in _HUNDREDTHS else 1)
        return _close(amount, theirs["value"]) and (
            theirs.get("isoCurrency", mine.currency) == mine.currency
        )

    return _same(found, expected, agrees)


_UNKNOWN_OFFSET = -10_000
_SEASONS = (datetime(2026, 1, 15), datetime(2026, 7, 15))


def _zones(row: Row) -> bool:
    """Winter and summer time of a zone are both right: the assistant reads the place."""
    found = [span.value for span in find_zones(row["input"])]
    expected = [
        int(value.get("UtcOffsetMins", value.get("utcOffsetMins", _UNKNOWN_OFFSET)))
        for value in (result["Value"]["TimeZoneResolution"] for result in row["results"])
    ]

    def agrees(mine: str, theirs: int) -> bool:
        offsets = (ZoneInfo(mine).utcoffset(day) for day in _SEASONS)
        minutes = [offset.total_seconds() / 60 for offset in offsets if offset is not None]
        return theirs == _UNKNOWN_OFFSET or theirs in minutes

    return _same(found, expected, agrees)


def _ordinals(row: Row) -> bool:
    """ "The last" is "end+0" and "the next one" "current+1" in the specification's values."""
    found = [span.value for span in find_places(row["input"])]
    expected = [result["Resolution"]["value"] for result in row["results"]]
    return _same(
        found,
        expected,
        lambda mine, theirs: (
            theirs == (str(mine.number) if mine.of == "start" else f"{mine.of}{mine.number:+d}")
        ),
    )


def _ordinals_from_start(row: Row) -> bool:
    """With this setting the specification leaves out "the last" and "the next one"."""
    found = [span.value for span in find_places(row["input"]) if span.value.of == "start"]
    expected = [result["Resolution"]["value"] for result in row["results"]]
    return _same(found, expected, lambda mine, theirs: theirs == str(mine.number))


def _number_ranges(row: Row, *, far_end: bool) -> bool:
    """far_end: whether, in this setting, the 5 of "between 3 and 5" belongs to it."""
    found = [span.value for span in find_number_ranges(row["input"])]
    expected = [result["Resolution"]["value"] for result in row["results"]]
    return _same(found, expected, lambda mine, theirs: _same_interval(mine, theirs, far_end))


def _same_interval(mine: NumberRange, theirs: str, far_end: bool) -> bool:
    """theirs: "[3,5)", "(,10]"."""
    low, _, high = theirs[1:-1].partition(",")
    opens = "[" if mine.with_low else "("
    closes = "]" if mine.with_high and (far_end or not mine.spanned) else ")"
    ends = ((mine.low, low), (mine.high, high))
    return (opens, closes) == (theirs[0], theirs[-1]) and all(
        _close(number, text) if number is not None and text else number is None and not text
        for number, text in ends
    )


def _percentages(row: Row) -> bool:
    found = [span.value for span in find_percents(row["input"])]
    # the word alone ("a percentage") is no value
    expected = [r["Resolution"]["value"].rstrip("%") for r in row["results"]]
    return _same(found, [text for text in expected if text != "null"], _close)


def _temperatures(row: Row) -> bool:
    found = [span.value for span in find_temperatures(row["input"])]
    # a unit without a number ("the fahrenheit scale") is no value
    expected = [r["Resolution"] for r in row["results"] if r["Resolution"]["value"] is not None]
    return _same(
        found,
        expected,
        lambda mine, theirs: (
            _close(mine.degrees, theirs["value"]) and (mine.scale or "Degree") == theirs["unit"]
        ),
    )


def _durations(row: Row) -> bool:
    found = [span.value for span in find_durations(row["input"])]
    expected = [result["Value"]["FutureResolution"]["duration"] for result in row["results"]]
    return _same(found, expected, _close)


def _times(row: Row) -> bool:
    found = [span.value for span in find_times(row["input"], reference(row))]
    expected = [result["Value"]["FutureResolution"]["time"] for result in row["results"]]
    return _same(found, expected, _names_time)


def _dates(row: Row) -> bool:
    found = [span.value for span in find_times(row["input"], reference(row))]
    expected = [
        [row_value[key]["date"] for key in ("FutureResolution", "PastResolution")]
        for row_value in _values(row)
    ]
    return _same(found, expected, lambda mine, theirs: mine.at.strftime("%Y-%m-%d") in theirs)


def _days_and_times(row: Row) -> bool:
    found = [span.value for span in find_times(row["input"], reference(row))]
    expected = [
        [row_value[key]["dateTime"] for key in ("FutureResolution", "PastResolution")]
        for row_value in _values(row)
    ]
    return _same(
        found, expected, lambda mine, theirs: mine.at.strftime("%Y-%m-%d %H:%M:%S") in theirs
    )


def _values(row: Row) -> list[dict[str, Any]]:
    """The values of the results; what has none ("feb 30", there the year 1) is no moment."""
    values = [result["Value"] for result in row["results"] if result["Value"]]
    return [v for v in values if not any("0001" in t for t in v["FutureResolution"].values())]


def _names_time(mine: When, theirs: str) -> bool:
    """The specification reads an open hour as morning, the assistant as the next one."""
    said = datetime.strptime(theirs, "%H:%M:%S")
    return mine.at.minute == said.minute and mine.at.hour in (said.hour, (said.hour + 12) % 24)


def _booleans(row: Row) -> bool:
    said = leaning(row["input"])
    return (said is None and not row["results"]) or (
        len(row["results"]) == 1 and said is row["results"][0]["Resolution"]["value"]
    )


def _sets(row: Row) -> bool:
    found = [span.value for span in find_recurrences(row["input"], reference(row))]
    expected = [result["Value"]["Timex"] for result in row["results"]]
    return _same(found, expected, lambda mine, theirs: timex(mine) == unhalved(theirs))


_ENDS = {
    "daterange": ("startDate", "endDate"),
    "timerange": ("startTime", "endTime"),
    "datetimerange": ("startDateTime", "endDateTime"),
}


def _ranges(kind: str) -> Callable[[Row], bool]:
    """Judges the ranges of one kind; those of other kinds in the sentence do not count."""

    def judged(row: Row) -> bool:
        found = [span.value for span in _ranges_of(kind, row)]
        keys = _ENDS[kind]
        expected = [
            [
                {"start": value[key].get(keys[0], ""), "end": value[key].get(keys[1], "")}
                for key in ("FutureResolution", "PastResolution")
            ]
            for value in _values(row)
        ]
        return _same(
            found,
            expected,
            lambda mine, theirs: any(
                same_range(mine, kind, reading, open_hours=True) for reading in theirs
            ),
        )

    return judged


def _ranges_of(kind: str, row: Row) -> list[Span[Range]]:
    has = {"daterange": (True, False), "timerange": (False, True)}.get(kind, (True, True))
    spans = find_ranges(row["input"], reference(row))
    return [span for span in spans if (span.value.has_date, span.value.has_time) == has]


def _moments(row: Row) -> bool:
    """Judges whatever a sentence mentions of time."""
    expected: list[tuple[str, list[dict[str, str]]]] = []
    for result in row["results"]:
        listed = (result.get("Resolution") or result["Value"])["values"]
        readings = [reading for reading in listed if reading]
        kind = _kind(result)
        if kind in ("datetimealt", ""):  # one of several ("monday or tuesday")
            kind = readings[0]["type"]
        unresolved = [reading.get("value") for reading in readings] == ["not resolved"]
        if not unresolved or kind not in ("date", "datetime", "time"):  # "feb 30"
            expected.append((kind, readings))
    found = [span.value for span in find_mentions(row["input"], reference(row))]
    return _same(found, expected, lambda mine, theirs: agree(mine, *theirs))


def _kind(result: Row) -> str:
    names = (result.get(key) for key in ("TypeName", "Typename", "Type"))
    return str(next(filter(None, names), "")).rpartition(".")[2]


Finder = Callable[[Row], Sequence[Span[Any]]]

_BEFORE = frozenset("at on in the for of during about around by".split())
"""Words before a value that may belong to its wording or not."""


def _places(find: Finder) -> Callable[[Row], bool]:
    """Judges where values stand."""

    def judged(row: Row) -> bool:
        text = row["input"]
        found = [_core(text, span.start, span.end) for span in find(row)]
        expected = [_core(text, r["Start"], r["Start"] + r["Length"]) for r in row["results"]]
        return found == expected

    return judged


def _core(text: str, start: int, end: int) -> tuple[int, int]:
    while text[end - 1 : end] in (".", ","):
        end -= 1
    while True:
        word = text[start:end].partition(" ")[0]
        if word.lower() not in _BEFORE or len(word) == end - start:
            return start, end
        start += len(word) + 1


def _whens(*, has_date: bool, has_time: bool) -> Finder:
    def find(row: Row) -> list[Span[Any]]:
        spans = find_times(row["input"], reference(row))
        wanted = (has_date, has_time)
        return [span for span in spans if (span.value.has_date, span.value.has_time) == wanted]

    return find


def _days(row: Row) -> list[Span[Any]]:
    """Days; "in 3 days" is one too, though it keeps the time of day."""
    now = reference(row)
    spans = find_times(row["input"], now)
    return [
        span
        for span in spans
        if span.value.has_date and (not span.value.has_time or span.value.at.time() == now.time())
    ]


def _mentions(row: Row) -> list[Span[Any]]:
    return list(find_mentions(row["input"], reference(row)))


JUDGES: dict[str, Callable[[Row], bool]] = {
    "DurationParser": _durations,
    "DurationExtractor": _places(lambda row: find_durations(row["input"])),
    "TimeParser": _times,
    "TimeExtractor": _places(_whens(has_date=False, has_time=True)),
    "DateParser": _dates,
    "DateExtractor": _places(_days),
    "HolidayParser": _dates,
    "HolidayExtractor": _places(_days),
    "DateTimeParser": _days_and_times,
    "DateTimeExtractor": _places(_whens(has_date=True, has_time=True)),
    "SetParser": _sets,
    "SetExtractor": _places(lambda row: find_recurrences(row["input"], reference(row))),
    **{f"{name}Parser": _ranges(kind) for name, kind in _PERIODS.items()},
    **{f"{name}Extractor": _places(partial(_ranges_of, kind)) for name, kind in _PERIODS.items()},
    "MergedExtractor": _places(_mentions),
    "MergedExtractorSkipFromTo": _places(_mentions),
    "MergedParser": _moments,
    **{f"DateTimeModel{mode}": _moments for mode in _MODES},
    "NumberModel": _numbers,
    "NumberModelExperimentalMode": _numbers,
    "TimeZoneParser": _zones,
    "TimeZoneExtractor": _places(lambda row: find_zones(row["input"])),
    "CurrencyModel": _sums,
    "AgeModel": partial(_measures, find_ages),
    "DimensionModel": partial(_measures, find_measures),
    "NumberRangeModel": partial(_number_ranges, far_end=False),
    "NumberRangeModelExperimentalMode": partial(_number_ranges, far_end=True),
    "PercentModel": _percentages,
    "PercentModelPercentMode": _percentages,
    "OrdinalModel": _ordinals,
    "OrdinalModelSuppressExtendedTypes": _ordinals_from_start,
    "TemperatureModel": _temperatures,
    "BooleanModel": _booleans,
}
"""The models of the specification."""
