"""The time zone that the device is set to, changes of the clocks included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo


class LocalZone(tzinfo):
    """As the system has it, for any moment, whatever its zone is called.

    ``astimezone()`` without a zone gives a fixed offset, which is an hour off on the other
    side of a change of the clocks.
    """

    def utcoffset(self, dt: datetime | None) -> timedelta:
        if dt is None:
            dt = datetime.now()
        offset = dt.replace(tzinfo=None).astimezone().utcoffset()
        assert offset is not None, "astimezone gives a zone"
        return offset

    def dst(self, dt: datetime | None) -> None:
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        return (dt or datetime.now()).replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, dt: datetime) -> datetime:
        local = dt.replace(tzinfo=UTC).astimezone()
        wall = local.replace(tzinfo=self, fold=0)
        # the second time round of an hour that the change doubles
        return wall if wall.utcoffset() == local.utcoffset() else wall.replace(fold=1)
