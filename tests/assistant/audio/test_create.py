from __future__ import annotations

from pathlib import Path

import pytest

from assistant.audio import create_sink, create_source
from assistant.audio.clocked_sink import NullSink
from assistant.audio.microphone import SoundDeviceSource
from assistant.audio.speaker import SoundDeviceSink
from assistant.audio.wav_sink import WavSink
from assistant.audio.wavfile import WavSource
from assistant.config import InputConfig, OutputConfig
from assistant.errors import ConfigError


def test_sources() -> None:
    assert isinstance(create_source(InputConfig()), SoundDeviceSource)
    source = create_source(InputConfig(backend="wav", file="~/a.wav"), realtime=False)
    assert isinstance(source, WavSource)
    assert source.path == Path.home() / "a.wav"
    assert not source.paced
    assert create_source(InputConfig(backend="wav", file="a.wav")).paced


def test_sinks() -> None:
    assert isinstance(create_sink(OutputConfig()), SoundDeviceSink)
    assert isinstance(create_sink(OutputConfig(backend="null")), NullSink)
    assert isinstance(create_sink(OutputConfig(backend="wav", file="a.wav")), WavSink)


def test_a_wav_backend_needs_a_file() -> None:
    with pytest.raises(ConfigError, match=r"audio\.input\.file is empty"):
        create_source(InputConfig(backend="wav"))
    with pytest.raises(ConfigError, match=r"audio\.output\.file is empty"):
        create_sink(OutputConfig(backend="wav"))
