from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.assistant.room import Room


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
