"""Settings of the skills."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from assistant.config_section import Section


class TimerConfig(Section):
    enabled: bool = True
    ring_max_s: Annotated[int, Field(ge=1)] = 300
    """A timer that nobody stops rings this long and is then kept as missed."""
    ring_file: str = ""
    """WAV file to ring with; "" is the built-in sound."""
    snooze_min: Annotated[int, Field(ge=1, le=120)] = 9
    """A bare "snooze" lets an alarm ring again after so many minutes."""


class ReminderConfig(Section):
    enabled: bool = True


class StopwatchConfig(Section):
    enabled: bool = True


class ClockConfig(Section):
    enabled: bool = True
    twenty_four_hour: bool = False


class VolumeConfig(Section):
    enabled: bool = True
    step: Annotated[int, Field(ge=1, le=50)] = 10


class HomeSkillConfig(Section):
    enabled: bool = True
    confirm: bool = True
    """Asks before it unlocks a door or opens a door, a garage or a gate."""


class MpdConfig(Section):
    """A Music Player Daemon."""

    host: str = ""
    """Name or address, or the path of its socket; "" has none."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 6600
    password_file: str = ""


class MediaConfig(Section):
    enabled: bool = True
    mpd: MpdConfig = MpdConfig()


class WeatherConfig(Section):
    enabled: bool = True


class SkillConfig(Section):
    enabled: bool = True


class SkillsConfig(Section):
    folder: str = ""
    """Folder of the user's own skills; "" looks into the user's config folder and /etc."""
    own: dict[str, dict[str, Any]] = Field(default={})
    """Settings of the user's own skills by their names; ``enabled: false`` switches one off."""
    timer: TimerConfig = TimerConfig()
    reminder: ReminderConfig = ReminderConfig()
    stopwatch: StopwatchConfig = StopwatchConfig()
    clock: ClockConfig = ClockConfig()
    volume: VolumeConfig = VolumeConfig()
    lists: SkillConfig = SkillConfig()
    maths: SkillConfig = SkillConfig()
    chance: SkillConfig = SkillConfig()
    home: HomeSkillConfig = HomeSkillConfig()
    media: MediaConfig = MediaConfig()
    weather: WeatherConfig = WeatherConfig()
