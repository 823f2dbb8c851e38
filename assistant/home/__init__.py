"""The devices of a home, whoever switches them."""

from __future__ import annotations

from assistant.config import HomeConfig
from assistant.home.base import Home

__all__ = ["create"]


def create(cfg: HomeConfig) -> Home | None:
    """The home that is configured, not connected yet; None when none is.

    With both Home Assistant and MQTT it is one home of the devices of both.
    """
    homes: list[Home] = []
    if cfg.home_assistant.url:
        from assistant.home.home_assistant import HomeAssistant

        homes.append(HomeAssistant(cfg.home_assistant))
    if cfg.mqtt.host:
        from assistant.home.mqtt import Mqtt

        homes.append(Mqtt(cfg.mqtt))
    if len(homes) < 2:
        return homes[0] if homes else None
    from assistant.home.combined import Combined

    return Combined(homes)
