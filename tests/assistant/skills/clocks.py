"""A device clock that tests move by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from assistant.state import Clock


class FakeClock:
    """Wall time and time since boot; ``step`` moves only the wall, ``reboot`` begins anew."""

    def __init__(self, wall: datetime = datetime(2026, 3, 10, 14, 0, tzinfo=UTC)) -> None:
        self.wall = wall
        self.uptime = 1000.0
        self.boot_id = "boot-1"

    @property
    def clock(self) -> Clock:
        """As the process that opens the state now sees it."""
        return Clock(now=lambda: self.wall, boot=lambda: self.uptime, boot_id=self.boot_id)

    def wait(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.uptime += seconds

    def step(self, seconds: float) -> None:
        """The network corrects the wall clock."""
        self.wall += timedelta(seconds=seconds)

    def reboot(self, off_seconds: float, *, wall_lost: bool = False) -> None:
        """Power off for a while; without a battery the wall clock stands still meanwhile."""
        if not wall_lost:
            self.wall += timedelta(seconds=off_seconds)
        self.uptime = 5.0
        self.boot_id += "+"
