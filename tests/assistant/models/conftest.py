from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assistant.models.web import FileServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with FileServer() as running:
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "models"
