"""Judges the parsers of values on rows of a public specification (Recognizers-Text).

A row is right when exactly the expected values are found in its sentence, in order; where
the specification lists several readings, one of them must be met. What has no value of ours
to compare is told apart with the reason, never counted as right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from assistant.intent.values.duration import find_durations
from assistant.intent.values.moment import When
from assistant.intent.values.number import find_numbers
from assistant.intent.values.place import find_places
from assistant.intent.values.recurrence import Recurrence, find_recurrences
from assistant.intent.values.span import Span
from assistant.intent.values.temperature import find_temperatures
from assistant.intent.values.when import find_times
from assistant.intent.yes_no import leaning

Row = dict[str, Any]


class OutsideError(Exception):
    """The row holds a kind of value that the assistant has none of; the text names it."""


def judge(row: Row) -> bool:
    """Whether the row is right. Raises OutsideError for one that cannot be judged."""
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


def _duration_places(row: Row) -> bool:
    """These rows have no values: where the durations stand is compared."""
    found = [(span.start, span.end) for span in find_durations(row["input"])]
    expected = [(r["Start"], r["Start"] + r["Length"]) for r in row["results"]]
    return found == expected


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


def _sets(row: Row) -> bool:
    found = [span.value for span in find_recurrences(row["input"], reference(row))]
    expected = [result["Value"]["Timex"] for result in row["results"]]
    return _same(
        found, expected, lambda mine, theirs: timex(mine) == _HALF_YEAR.get(theirs, theirs)
    )


_HALF_YEAR = {"P0.5Y": "P6M"}


def timex(found: Recurrence) -> str:
    """The specification's way to write what comes back: "P3W", "XXXX-WXX-1T16", "T09"."""
    clock = found.clock
    time = ""
    if clock is not None:
        time = f"T{clock.hour % 24:02d}" + (f":{clock.minute:02d}" if clock.minute else "")
    part = {"morning": "MO", "afternoon": "AF", "evening": "EV", "night": "NI"}.get(found.part, "")
    if part and not time:
        time = f"T{part}"
    if len(found.days) == 1 and found.place is None:
        return f"XXXX-WXX-{found.days[0] + 1}{time}"
    if found.day is not None and found.unit in ("month", "year"):
        month = f"{found.month:02d}" if found.month else "XX"
        return f"XXXX-{month}-{found.day:02d}{time}"
    if found.unit == "day" and found.every == 1 and time:
        return time
    if found.days == (0, 1, 2, 3, 4) and found.every == 1:
        return f"P1WD{time}"
    if found.days == (5, 6) and found.every == 1:
        return f"P1WE{time}"
    letters = {"second": "S", "minute": "M", "hour": "H", "month": "M"}
    letter = letters.get(found.unit, found.unit[0].upper())
    return (
        f"P{'T' if found.unit in ('second', 'minute', 'hour') else ''}{found.every}{letter}{time}"
    )


def _booleans(row: Row) -> bool:
    said = leaning(row["input"])
    return (said is None and not row["results"]) or (
        len(row["results"]) == 1 and said is row["results"][0]["Resolution"]["value"]
    )


_KINDS = ("date", "time", "datetime", "duration", "set")


def _moments(row: Row) -> bool:
    expected: list[tuple[str, list[str]]] = []
    for result in row["results"]:
        kind = result.get("TypeName", result.get("Typename", "")).rpartition(".")[2]
        if kind not in _KINDS:
            raise OutsideError(kind)
        values = result["Resolution"]["values"]
        said = [value["timex"] if kind == "set" else value.get("value") for value in values]
        if said != ["not resolved"]:  # "feb 30"
            expected.append((kind, said))
    now = reference(row)
    found: list[Span[Any]] = []
    for spans in (
        find_recurrences(row["input"], now),
        find_times(row["input"], now),
        find_durations(row["input"]),
    ):
        found += [
            span
            for span in spans
            if all(span.end <= other.start or span.start >= other.end for other in found)
        ]
    found.sort(key=lambda span: span.start)
    return _same([span.value for span in found], expected, _names_moment)


def _names_moment(mine: Any, theirs: tuple[str, list[str]]) -> bool:
    kind, values = theirs
    if kind == "set":
        wanted = [_HALF_YEAR.get(value, value) for value in values]
        return isinstance(mine, Recurrence) and timex(mine) in wanted
    if kind == "duration":
        return isinstance(mine, int | float) and any(_close(mine, value) for value in values)
    if not isinstance(mine, When):
        return False
    pattern = {"date": "%Y-%m-%d", "time": "%H:%M:%S", "datetime": "%Y-%m-%d %H:%M:%S"}[kind]
    return mine.at.strftime(pattern) in values


JUDGES: dict[str, Callable[[Row], bool]] = {
    "DurationParser": _durations,
    "DurationExtractor": _duration_places,
    "TimeParser": _times,
    "DateParser": _dates,
    "HolidayParser": _dates,
    "DateTimeParser": _days_and_times,
    "SetParser": _sets,
    "DateTimeModel": _moments,
    "NumberModel": _numbers,
    "OrdinalModel": _ordinals,
    "TemperatureModel": _temperatures,
    "BooleanModel": _booleans,
}
"""The models of the specification that timers, alarms, numbers and answers need."""
