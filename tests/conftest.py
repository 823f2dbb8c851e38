"""Every test has a home of its own: no test reads or writes the user's state or settings."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that state and configuration of this test live in."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    for name in ("STATE_DIRECTORY", "ASSISTANT_CONFIG", "NOTIFY_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    return home
