"""Signals at every moment: raised, noted, and none lost between the two."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from assistant import interrupts


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", interrupts.SIGNALS)
def test_raised_then_as_before(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), interrupts.raised():
        send(number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", interrupts.SIGNALS)
def test_first_is_noted_second_raises(number: signal.Signals) -> None:
    with interrupts.noted() as stop:
        assert not stop.is_set()
        send(number)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            send(number)


def test_one_that_somebody_swallowed_is_not_lost() -> None:
    with interrupts.raised():
        with contextlib.suppress(KeyboardInterrupt):
            send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), interrupts.noted():
            pass
