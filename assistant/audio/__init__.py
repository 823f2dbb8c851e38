"""Microphone and speaker: devices, files, or nothing, behind one contract."""

from __future__ import annotations

from pathlib import Path

from assistant.audio.base import AudioSink, AudioSource
from assistant.config import InputConfig, OutputConfig
from assistant.errors import ConfigError


def create_source(config: InputConfig, *, realtime: bool = True, wait: bool = False) -> AudioSource:
    """The microphone that the configuration names.

    realtime: False reads a file as fast as it is asked for; a device is always real time.
    wait: a device that is missing at the start is waited for instead of an error.

    Raises:
        ConfigError: the backend wav has no file.
    """
    if config.backend == "wav":
        from assistant.audio.wavfile import WavSource

        return WavSource(
            _file(config.file, "input"),
            channel=config.channel,
            gain_db=config.gain_db,
            realtime=realtime,
        )
    from assistant.audio.microphone import SoundDeviceSource

    return SoundDeviceSource(config, wait=wait)


def create_sink(config: OutputConfig, *, realtime: bool = True, wait: bool = False) -> AudioSink:
    """The speaker that the configuration names; arguments and errors as for the source."""
    if config.backend == "wav":
        from assistant.audio.wav_sink import WavSink

        return WavSink(_file(config.file, "output"), config.rate, realtime=realtime)
    if config.backend == "null":
        from assistant.audio.clocked_sink import NullSink

        return NullSink(realtime=realtime)
    from assistant.audio.speaker import SoundDeviceSink

    return SoundDeviceSink(config, wait=wait)


def _file(name: str, direction: str) -> Path:
    if not name:
        raise ConfigError(
            "config.no_file",
            f"audio.{direction}.backend is wav, but audio.{direction}.file is empty.",
            "Name a WAV file there.",
        )
    return Path(name).expanduser()
