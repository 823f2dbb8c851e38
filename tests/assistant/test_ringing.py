"""What is said when timers and alarms ring."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.ringing import announcement
from assistant.skills.timer.table import Timer

NOW = datetime(2026, 3, 10, 14, 0, tzinfo=UTC)


def timer(number: int, name: str) -> Timer:
    kind = "alarm" if name.endswith(" alarm") else "timer"
    if name.startswith("reminder: "):
        kind, name = "reminder", name.removeprefix("reminder: ")
    return Timer(number, name.removesuffix(" alarm"), 600, 0, NOW, "ringing", kind)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ""),
        (["rice"], "Your rice timer is done."),
        ([""], "Your 10 minute timer is done."),
        (["rice", ""], "Your rice timer and your 10 minute timer are done."),
        (["7 AM alarm"], "Your 7 AM alarm."),
        (["7 AM alarm", "rice"], "Your 7 AM alarm and your rice timer are done."),
        (["reminder: take the bins out"], "Reminder: take the bins out."),
        (
            ["reminder: call mum", "rice", "reminder: leave"],
            "Your rice timer is done. Reminder: call mum. Reminder: leave.",
        ),
    ],
)
def test_announcement(names: list[str], said: str) -> None:
    timers = [timer(i, name) for i, name in enumerate(names)]
    assert announcement(timers) == said
