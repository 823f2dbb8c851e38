"""Microphone and speaker together: one may be absent, troubles are told in the inbox's thread."""

from __future__ import annotations

import pytest
from fakes import HoldingSink, PushSource

from assistant.announcements import Announcements
from assistant.devices import DEAF, Devices
from assistant.errors import DeviceError
from assistant.events import Event, Recovered, Trouble
from assistant.inbox import Inbox


class Absent:
    """Whose ``start`` fails until it may wait."""

    def start(self) -> None:
        if not self.wait:  # type: ignore[attr-defined]
            raise DeviceError("audio.none", "It is not there.")


class AbsentSource(Absent, PushSource):
    pass


class AbsentSink(Absent, HoldingSink):
    pass


class Case:
    def __init__(self, source: PushSource, sink: HoldingSink) -> None:
        self.source, self.sink = source, sink
        self.inbox, self.waiting = Inbox(), Announcements()
        self.events: list[Event] = []
        self.calls: list[str] = []
        self.devices = Devices(
            source,
            sink,
            inbox=self.inbox,
            announcements=self.waiting,
            emit=self.events.append,
            on_deaf=lambda: self.calls.append("deaf"),
            on_recovered=lambda: self.calls.append("back"),
        )

    def run(self) -> None:
        self.inbox.run(lambda task: task())


def test_a_single_absent_device_is_waited_for() -> None:
    case = Case(AbsentSource(), HoldingSink())
    case.devices.start()
    assert case.source.wait
    assert not case.sink.wait


def test_both_absent_is_an_error() -> None:
    with pytest.raises(DeviceError):
        Case(AbsentSource(), AbsentSink()).devices.start()


def test_a_lost_microphone_is_announced_once_until_it_is_back() -> None:
    case = Case(PushSource(), HoldingSink())
    case.devices.start()
    assert case.source.on_trouble is not None
    assert case.source.on_recovered is not None
    for _ in range(2):
        case.source.on_trouble("audio.lost", "Unplugged.", "")
    assert not case.events  # nothing happens in the device's own thread
    case.run()
    assert [type(event) for event in case.events] == [Trouble, Trouble]
    assert case.calls == ["deaf", "deaf"]
    assert case.waiting.take() == DEAF
    case.source.on_trouble("audio.lost", "Unplugged.", "")
    case.run()
    assert not case.waiting
    case.source.on_recovered("audio.lost", "Back.")
    case.source.on_trouble("audio.lost", "Unplugged.", "")
    case.run()
    assert isinstance(case.events[-2], Recovered)
    assert case.waiting.take() == DEAF


def test_an_announcement_that_waits_is_dropped_when_the_microphone_is_back() -> None:
    case = Case(PushSource(), HoldingSink())
    case.devices.start()
    assert case.source.on_trouble is not None
    assert case.source.on_recovered is not None
    case.source.on_trouble("audio.lost", "Unplugged.", "")
    case.source.on_recovered("audio.lost", "Back.")
    case.run()
    assert not case.waiting
    assert case.calls == ["deaf", "back"]


def test_a_lost_speaker_is_told_but_not_by_voice() -> None:
    case = Case(PushSource(), HoldingSink())
    case.devices.start()
    assert case.sink.on_trouble is not None
    case.sink.on_trouble("audio.lost", "Unplugged.", "")
    case.run()
    assert isinstance(case.events[0], Trouble)
    assert not case.waiting
    assert not case.calls
