"""One line of the doctor's report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from assistant import audio
from assistant.audio.base import AudioSink, AudioSource
from assistant.audio.devices import DeviceInfo
from assistant.audio.sounddevice import list_devices
from assistant.config import InputConfig, OutputConfig
from assistant.errors import AssistantError


@dataclass(frozen=True, slots=True)
class Check:
    """name: what was looked at; detail: what was found; hint: what to do.

    A check that is ok may have a hint too: it is a remark.
    """

    name: str
    ok: bool
    detail: str
    hint: str = ""

    @classmethod
    def failed(cls, name: str, error: AssistantError) -> Check:
        """The check that an error makes."""
        return cls(name, False, error.message, error.hint)


@dataclass(frozen=True)
class Edges:
    """What the doctor touches of the world; tests bring their own."""

    list_devices: Callable[[], list[DeviceInfo]] = list_devices
    create_source: Callable[[InputConfig], AudioSource] = audio.create_source
    create_sink: Callable[[OutputConfig], AudioSink] = audio.create_sink
    now: Callable[[], datetime] = field(default=lambda: datetime.now().astimezone())
