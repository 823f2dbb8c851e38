"""What is said when timers and alarms ring."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assistant.ringing import announcement
from assistant.skills.timer.scheduler import Timer

NOW = datetime(2026, 3, 10, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ""),
        (["rice"], "Your rice timer is done."),
        ([""], "Your 10 minute timer is done."),
        (["rice", ""], "Your rice timer and your 10 minute timer are done."),
        (["7 AM alarm"], "Your 7 AM alarm."),
        (["7 AM alarm", "rice"], "Your 7 AM alarm and your rice timer are done."),
    ],
)
def test_announcement(names: list[str], said: str) -> None:
    timers = [Timer(i, name, 600, 0, NOW, "ringing") for i, name in enumerate(names)]
    assert announcement(timers) == said
