"""What comes back, as a value: on which days, how often, at what time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from assistant.intent.values.clock import Clock
from assistant.intent.values.weekday import nth_in_month

Unit = Literal["second", "minute", "hour", "day", "week", "month", "year"]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """every: how many units lie between two; days: of the week (Monday = 0, unit week).

    day: of the month (1 to 31, units month and year); month: of the year (1 to 12, unit
    year); place: with days, which one of the month (1 to 5, -1 the last; unit month);
    clock: the time of day, exact; part: of the day, "" for none; open: True when neither
    am, pm nor a part of the day was said.
    """

    unit: Unit
    every: int = 1
    days: tuple[int, ...] = ()
    day: int | None = None
    month: int | None = None
    place: int | None = None
    clock: Clock | None = None
    part: str = ""
    open: bool = False

    def first(self, now: datetime) -> datetime | None:
        """The first moment after now, in its zone; None without a time of day."""
        if self.unit in ("second", "minute", "hour"):
            step = timedelta(**{f"{self.unit}s": self.every})
            return (now.astimezone(UTC) + step).astimezone(now.tzinfo)
        if self.clock is None:
            return None
        wall = time(self.clock.hour % 24, self.clock.minute, self.clock.second)
        on = now.date() - timedelta(1)
        for _ in range(366 * 9):
            shift = self.clock.hour // 24  # "every night at one" is of the day before
            local = datetime.combine(on + timedelta(shift), wall, tzinfo=now.tzinfo)
            at = local.astimezone(UTC)
            if at > now.astimezone(UTC) and self.falls_on(on, now.date()):
                return at.astimezone(now.tzinfo)
            on += timedelta(1)
        return None

    def falls_on(self, on: date, today: date) -> bool:
        """Whether it may come on that day, were it the first time; ``today`` stands for
        the days that were left open ("every month")."""
        if self.place is not None:
            return nth_in_month(on.replace(day=1), self.days[0], self.place) == on
        if self.days:
            return on.weekday() in self.days
        if self.day is not None:
            return on.day == self.day and self.month in (None, on.month)
        return True

    def as_json(self, now: datetime) -> dict[str, Any]:
        first = self.first(now)
        return {
            "unit": self.unit,
            "every": self.every,
            "days": list(self.days),
            "day": self.day,
            "month": self.month,
            "place": self.place,
            "at": f"{self.clock.hour % 24:02d}:{self.clock.minute:02d}" if self.clock else None,
            "open": self.open,
            "first": first.isoformat(timespec="seconds") if first else None,
        }
