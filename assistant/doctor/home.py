"""Home Assistant, the MQTT broker and the music player: reachable, and what they have."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from assistant import home
from assistant.config import Config, HomeConfig
from assistant.doctor.check import Check
from assistant.errors import SkillError
from assistant.home.base import Snapshot
from assistant.skills.media.mpd import Mpd

WAIT_S = 15.0
"""Longest wait for an answer; a large home needs a few seconds."""


def check(cfg: Config) -> Iterator[Check]:
    """One for each that is configured; nothing when none is."""
    known: list[Snapshot] = []
    parts = {
        "home assistant": cfg.home.model_copy(update={"mqtt": HomeConfig().mqtt}),
        "mqtt": cfg.home.model_copy(update={"home_assistant": HomeConfig().home_assistant}),
    }
    for name, part in parts.items():
        found = _connect(name, part)
        if found is not None:
            result, snapshot = found
            known.append(snapshot)
            yield result
    for key, file in (
        ("home.home_assistant.token_file", cfg.home.home_assistant.token_file),
        ("home.mqtt.password_file", cfg.home.mqtt.password_file),
    ):
        if file and _open_to_others(file):
            detail = f"{key} can be read by every user of this machine."
            yield Check("secrets", True, detail, f"chmod 600 {file}")
    if any(snapshot.areas for snapshot in known):
        yield _room(cfg.home.area, known)
    if cfg.skills.media.mpd.host:
        yield _player(cfg)


def _connect(name: str, cfg: HomeConfig) -> tuple[Check, Snapshot] | None:
    """None where it is not configured."""
    one = home.create(cfg)
    if one is None:
        return None
    one.start()
    try:
        one.settle(WAIT_S)
        snapshot, trouble = one.snapshot(), one.trouble()
        if trouble:
            return Check(name, False, trouble, one.hint()), snapshot
    finally:
        one.close()
    count, rooms = len(snapshot.entities), len(snapshot.areas)
    detail = f"Connected; devices: {count}, rooms: {rooms}."
    hint = ""
    if not count:
        hint = "Expose some in Home Assistant: Settings, Voice assistants, Expose."
        if name == "mqtt":
            hint = "Give some in home.mqtt.devices, or set home.mqtt.zigbee2mqtt."
    return Check(name, True, detail, hint), snapshot


def _room(area: str, known: list[Snapshot]) -> Check:
    """Whether the room of this device is one of the home's."""
    rooms = [room for snapshot in known for room in snapshot.areas]
    choice = ", ".join(sorted({room.name for room in rooms}))
    if not area:
        hint = f"Set home.area, so that its own lights are meant by the lights: {choice}."
        return Check("room", True, "The room of this device is not set.", hint)
    names = {n.casefold() for room in rooms for n in (room.id, room.name, *room.aliases)}
    if area.casefold() not in names:
        hint = f"Set home.area to one of: {choice}."
        return Check("room", False, f"There is no room called {area}.", hint)
    return Check("room", True, f"This device stands in {area}.")


def _player(cfg: Config) -> Check:
    try:
        state = Mpd(cfg.skills.media.mpd).status().get("state", "")
    except SkillError as error:
        return Check("mpd", False, error.message, "Check skills.media.mpd.host and its port.")
    return Check("mpd", True, f"Connected; its state is {state or 'not told'}.")


def _open_to_others(file: str) -> bool:
    try:
        mode = Path(file).expanduser().stat().st_mode
    except (OSError, RuntimeError):
        return False  # told with the connection
    return bool(mode & (stat.S_IRGRP | stat.S_IROTH))
