from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.assistant.room import Room
from tests.patience import PATIENCE_S


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Callable[..., Room]]:
    """Makes assistants and ends them after the test."""
    rooms: list[Room] = []

    def make(texts: list[object], **kwargs: object) -> Room:
        rooms.append(Room(tmp_path, texts, **kwargs))  # type: ignore[arg-type]
        return rooms[-1]

    yield make
    for one in rooms:
        one.end()


@pytest.fixture(autouse=True)
def patient_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine even a connection to this machine itself may take its time."""
    monkeypatch.setattr("assistant.home.websocket.OPEN_S", PATIENCE_S)
    monkeypatch.setattr("assistant.home.broker.OPEN_S", PATIENCE_S)
    monkeypatch.setattr("assistant.home.mqtt.PUBLISH_S", PATIENCE_S)
    monkeypatch.setattr("assistant.skills.media.mpd.TIMEOUT_S", PATIENCE_S)
    monkeypatch.setattr("assistant.assembly.HOME_S", PATIENCE_S)
