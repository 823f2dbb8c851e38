"""Standard input and output under bad conditions."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator

import pytest

from assistant import console


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.FileIO]:
    """What is written here is typed."""
    reading, writing = os.pipe()
    keyboard = os.fdopen(reading, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", keyboard)
    hand = io.FileIO(writing, "w")
    yield hand
    hand.close()
    keyboard.close()


def test_lines_come_one_by_one_and_the_last_without_an_end(typing: io.FileIO) -> None:
    lines = console.lines(threading.Event())
    typing.write("grüß Gott\nwhat".encode())
    assert next(lines) == "grüß Gott"
    typing.write(b" time\n\nis it\xff")
    typing.close()
    assert list(lines) == ["what time", "", "is it\ufffd"]


def test_waiting_for_a_line_ends_with_stop(typing: io.FileIO) -> None:
    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    assert list(console.lines(stop)) == []


def test_closed_streams_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    console.prepare()
    streams = (sys.stdin, sys.stdout, sys.stderr)
    print("nothing", file=sys.stderr)
    print("nothing")
    assert list(console.lines(threading.Event())) == []
    for stream in streams:
        stream.close()


def test_printer_stops_when_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    out = os.fdopen(writing, "w", encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", out)
    stop = threading.Event()
    show = console.Printer(stop)
    show("first")
    show("second")
    assert stop.is_set()
    with pytest.raises(BrokenPipeError):
        show.check()
    console.give_up_output()
    out.close()
