"""The home of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.home.base import Area, Entity, Floor, Snapshot

HOME = Path(__file__).resolve().parents[2] / "data" / "home.yaml"


@pytest.fixture(scope="session")
def home() -> Snapshot:
    content = yaml.safe_load(HOME.read_text(encoding="utf-8"))
    return Snapshot(
        floors=tuple(Floor(**_with_aliases(floor)) for floor in content["floors"]),
        areas=tuple(Area(**_with_aliases(area)) for area in content["areas"]),
        entities=tuple(Entity(**_with_aliases(entity)) for entity in content["entities"]),
        version=1,
    )


def _with_aliases(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "aliases": tuple(item.get("aliases", ()))}
