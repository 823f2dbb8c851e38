from __future__ import annotations

from assistant.events import Recovered, Trouble
from assistant.overload import Overload


def test_nothing_is_told_while_nothing_is_lost() -> None:
    watch = Overload()
    assert [watch.step(0, t) for t in (0.0, 1.0, 100.0)] == [None] * 3


def test_a_loss_is_told_at_once_then_once_a_minute_and_then_over() -> None:
    watch = Overload()
    told = {t: watch.step(min(t, 100) * 10, float(t)) for t in range(200)}
    told = {t: e for t, e in told.items() if e is not None}
    assert list(told) == [1, 61, 121, 160]
    seconds = [e.message.split()[0] for e in told.values() if isinstance(e, Trouble)]
    assert seconds == ["0.1", "6.0", "3.9"]
    assert isinstance(told[160], Recovered)
