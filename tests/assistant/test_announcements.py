"""Texts wait in order, once each, and can be taken back."""

from __future__ import annotations

import pytest

from assistant.announcements import Announcements


def test_each_text_once_in_order() -> None:
    waiting = Announcements()
    assert not waiting
    for text in ("one", "two", "", "one"):
        waiting.add(text)
    assert [waiting.take(), waiting.take()] == ["one", "two"]
    assert not waiting
    with pytest.raises(IndexError):
        waiting.take()


def test_what_is_no_longer_true_is_not_said() -> None:
    waiting = Announcements()
    waiting.add("it rains")
    waiting.withdraw("it rains")
    waiting.withdraw("it rains")
    assert not waiting
