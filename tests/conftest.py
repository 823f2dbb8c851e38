"""Every test has a home of its own: no test reads or writes the user's state or settings."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples each time, however long a busy machine needs for one; others are looked for
# with --hypothesis-profile=default.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def own_home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that state and configuration of this test live in."""
    # mktemp would look through the folders of all the tests before, ten thousand times
    home = homes / str(next(_NUMBERS))
    home.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    for name in ("STATE_DIRECTORY", "ASSISTANT_CONFIG", "NOTIFY_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    return home
