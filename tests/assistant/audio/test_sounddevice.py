from __future__ import annotations

import sys

import pytest

from assistant.audio.sounddevice import PortAudio, list_devices
from assistant.errors import DeviceError, PackageError
from tests.assistant.audio.fakes_audio import FakeDevice, FakeSoundDevice


class Client:
    def __init__(self) -> None:
        self.suspended = 0

    def suspend(self) -> None:
        self.suspended += 1


def test_listing() -> None:
    fake = FakeSoundDevice(
        FakeDevice("Speaker", outputs=2), FakeDevice("Mic", inputs=1, rates=(44_100,))
    )
    speaker, mic = list_devices(fake.portaudio())
    assert (speaker.name, speaker.inputs, speaker.outputs) == ("Speaker", 0, 2)
    assert speaker.default_output
    assert not speaker.default_input
    assert (mic.default_rate, mic.is_default, mic.index) == (44_100, True, 1)
    assert list_devices(FakeSoundDevice().portaudio()) == []


def test_a_missing_package_or_library_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(PackageError) as e:
        PortAudio().devices()
    assert e.value.code == "audio.no_sounddevice"
    assert e.value.exit_code == 3

    class Finder:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "sounddevice":
                raise OSError("PortAudio library not found")

    monkeypatch.delitem(sys.modules, "sounddevice")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(PackageError) as e:
        PortAudio().devices()
    assert e.value.hint == "Install libportaudio2 (sudo apt install libportaudio2)."
    assert "\n" not in str(e.value)


def test_a_format_that_is_refused_is_followed_by_the_next() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=2, rates=(48_000,), exact=(2,)))
    edge = fake.portaudio()
    asked: list[tuple[int, int]] = []

    def prepare(rate: int, channels: int) -> object:
        asked.append((rate, channels))
        return lambda *args: None

    formats = [(16_000, 1), (48_000, 1), (48_000, 2)]
    stream = edge.open("input", edge.devices()[0], formats, prepare, lambda: None)  # type: ignore[arg-type]
    assert edge.active(stream)
    assert asked == formats
    edge.close(stream)
    assert fake.stream.closed


def test_a_device_that_takes_nothing_is_an_error_with_the_reason() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=2, broken=True))
    edge = fake.portaudio()
    with pytest.raises(DeviceError, match="cannot be opened: Unanticipated host error") as e:
        edge.open("input", edge.devices()[0], [(48_000, 2)], lambda r, c: print, lambda: None)
    assert e.value.code == "audio.cannot_open"
    assert "PaErrorCode" not in str(e.value)
    assert fake.stream.closed


def test_portaudio_starts_anew_only_when_the_hardware_changed() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1))
    edge, client = fake.portaudio(), Client()
    edge.register(client)
    edge.refresh()
    assert (fake.starts, client.suspended) == (0, 0)
    fake.plugged.append(FakeDevice("New", inputs=1))
    edge.refresh()
    edge.refresh()
    assert (fake.starts, client.suspended) == (1, 1)
    assert [d.name for d in edge.devices()] == ["Mic", "New"]
    edge.unregister(client)
    fake.plugged.pop()
    edge.refresh()
    assert (fake.starts, client.suspended) == (2, 1)


def test_where_changes_cannot_be_seen_it_starts_anew_each_time() -> None:
    fake = FakeSoundDevice()
    edge = PortAudio(lambda: fake, lambda: None)
    edge.refresh()
    edge.refresh()
    assert fake.starts == 2
