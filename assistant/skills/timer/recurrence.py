"""When something comes again: "every day", "on weekdays", "every other Friday", "every hour".

What is kept is the time of day on the wall, not a distance: across a change of the clocks
an alarm for seven stays one for seven. A time that the change skips moves forward by the
gap, a time that it doubles counts once, the first time.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from assistant.intent.values.weekday import nth_in_month
from assistant.skills import spoken

_ELAPSED = ("second", "minute", "hour")
WEEKDAYS = (0, 1, 2, 3, 4)
WEEKEND = (5, 6)
_MAX_DAYS = 366 * 12
"""A 29th of February comes at least so often; whatever does not is never."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """unit: second, minute, hour, day, week, month or year; every: how many lie between.

    at: time of day on the wall (for days and longer). days: of the week, Monday 0 (week; month
    with place). day: of the month; month: of the year; place: which of the month's days such
    as the first Monday (-1 the last, 0 none). since: its first moment, from which is counted.
    skipped: days on which it does not come.
    """

    unit: str
    at: time
    since: datetime
    every: int = 1
    days: tuple[int, ...] = ()
    day: int = 0
    month: int = 0
    place: int = 0
    skipped: tuple[date, ...] = ()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Recurrence:
        return cls(
            data["unit"],
            time.fromisoformat(data["at"]),
            datetime.fromisoformat(data["since"]),
            data.get("every", 1),
            tuple(data.get("days", ())),
            data.get("day", 0),
            data.get("month", 0),
            data.get("place", 0),
            tuple(date.fromisoformat(day) for day in data.get("skipped", ())),
        )

    @classmethod
    def of(cls, said: dict[str, Any], at: time, since: datetime) -> Recurrence:
        """As it was said (unit, every, days, day, month, place), at a time of day."""
        unit, place = str(said["unit"]), int(said.get("place") or 0)
        days = tuple(sorted(said.get("days") or ()))
        return cls(
            unit,
            at.replace(microsecond=0, tzinfo=None),
            since.replace(microsecond=0),
            int(said.get("every") or 1),
            days or ((since.weekday(),) if unit == "week" else ()),
            int(said.get("day") or since.day),
            int(said.get("month") or since.month),
            place,
        )

    @classmethod
    def starting(cls, said: dict[str, Any], first: datetime) -> Recurrence:
        """As it was said, with its first moment, which is in local time.

        said may hold "at" (HH:MM), where its first moment is at another time of day because
        the clocks change.
        """
        days, yesterday = said.get("days") or (), (first.weekday() - 1) % 7
        if not said.get("place") and yesterday in days and first.weekday() not in days:
            # "every friday night at one" is on Saturdays
            said = {**said, "days": [(day + 1) % 7 for day in days]}
        at = time.fromisoformat(said["at"]) if said.get("at") else first.time()
        return cls.of(said, at, first)

    def said(self) -> dict[str, Any]:
        """As ``starting`` takes it."""
        kept: dict[str, Any] = {"unit": self.unit, "every": self.every}
        if self.unit in ("week", "month") and (self.place or self.unit == "week"):
            kept["days"] = list(self.days)
        if self.place:
            kept["place"] = self.place
        elif self.unit in ("month", "year"):
            kept["day"] = self.day
        if self.unit == "year":
            kept["month"] = self.month
        return kept

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "unit": self.unit,
            "at": self.at.isoformat(),
            "since": self.since.isoformat(),
            "every": self.every,
            "days": list(self.days),
            "day": self.day,
            "month": self.month,
            "place": self.place,
        }
        if self.skipped:
            data["skipped"] = [day.isoformat() for day in self.skipped]
        return data

    def next_after(self, moment: datetime) -> datetime | None:
        """The first occurrence later than ``moment``, in its time zone; None when none comes."""
        if self.unit in _ELAPSED:
            step = timedelta(**{f"{self.unit}s": self.every})
            passed = (moment.astimezone(UTC) - self.since.astimezone(UTC)) // step
            coming = self.since.astimezone(UTC) + max(0, passed + 1) * step
            return coming.astimezone(moment.tzinfo)
        # a skipped time may have moved on past midnight
        for day in _days(moment.date() - timedelta(1)):
            if not self.comes_on(day):
                continue
            local = datetime.combine(day, self.at, tzinfo=moment.tzinfo)
            coming = local.astimezone(UTC)
            if coming > moment.astimezone(UTC):
                return coming.astimezone(moment.tzinfo)
        return None

    def comes_on(self, day: date) -> bool:
        """Whether it comes on that day; hours and less come every day."""
        if day in self.skipped or day < self.since.date():
            return False
        first = self.since.date()
        if self.unit == "day":
            return (day - first).days % self.every == 0
        if self.unit == "week":
            weeks = (_monday(day) - _monday(first)).days // 7
            return day.weekday() in self.days and weeks % self.every == 0
        last = calendar.monthrange(day.year, day.month)[1]
        if self.unit == "month":
            months = (day.year - first.year) * 12 + day.month - first.month
            if self.place:
                fits = nth_in_month(day.replace(day=1), self.days[0], self.place) == day
            else:
                fits = day.day == min(self.day, last)
            return fits and months % self.every == 0
        if self.unit == "year":
            fits = day.month == self.month and day.day == min(self.day, last)
            return fits and (day.year - first.year) % self.every == 0
        return True

    def without(self, day: date) -> Recurrence:
        """The same, but not on that day."""
        kept = [other for other in self.skipped if other >= day - timedelta(366)]
        return replace(self, skipped=(*kept, day))

    def words(self) -> str:
        """ "every day", "on weekdays", "every Monday and Thursday", "every 2 weeks on Friday"."""
        if self.unit == "week" and self.every == 1:
            if self.days == WEEKDAYS:
                return "on weekdays"
            if self.days == WEEKEND:
                return "at weekends"
            if len(self.days) == 7:
                return "every day"
            return f"every {_day_names(self.days)}"
        often = f"every {self.every} {self.unit}s" if self.every > 1 else f"every {self.unit}"
        if self.place:
            place = "last" if self.place < 0 else spoken.ordinal(self.place)
            return f"{often} on the {place} {_day_names(self.days)}"
        if self.unit == "week":
            return f"{often} on {_day_names(self.days)}"
        if self.unit == "month":
            return f"{often} on the {spoken.ordinal(self.day)}"
        if self.unit == "year":
            return f"{often} on {calendar.month_name[self.month]} {spoken.ordinal(self.day)}"
        return often


def _days(first: date) -> Iterator[date]:
    for ahead in range(_MAX_DAYS):
        try:
            yield first + timedelta(ahead)
        except OverflowError:
            return


def _monday(day: date) -> date:
    return day - timedelta(day.weekday())


def _day_names(days: tuple[int, ...]) -> str:
    return spoken.listing(calendar.day_name[day] for day in days)
