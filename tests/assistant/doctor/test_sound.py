from __future__ import annotations

import argparse
import io
import json
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assistant import doctor
from assistant.audio.base import FRAME_SAMPLES, AudioSink, AudioSource, Frame, Pcm
from assistant.audio.clocked_sink import NullSink
from assistant.audio.devices import DeviceInfo
from assistant.config import Config, load
from assistant.doctor import Check, Edges, sound
from assistant.errors import DeviceError, InputFileError, PackageError

MICROPHONE = DeviceInfo("USB PnP Sound Device: Audio (hw:1,0)", 1, 0, 48_000, True, 0, True, False)
ARRAY = DeviceInfo("ReSpeaker 6 Mic Array (hw:2,0)", 6, 0, 16_000, False, 1)
SPEAKER = DeviceInfo("Headphones (hw:0,0)", 0, 2, 44_100, True, 2, False, True)


class Microphone(AudioSource):
    """Gives the samples at once; then None, as a dead device does."""

    def __init__(self, samples: Pcm, error: DeviceError | None = None) -> None:
        self.samples = samples
        self.error = error
        self.position = 0
        self.stopped = False

    def start(self) -> None:
        if self.error is not None:
            raise self.error

    def read(self, timeout: float = 0.5) -> Frame | None:
        part = self.samples[self.position : self.position + FRAME_SAMPLES]
        if len(part) == 0:
            raise EOFError
        frame = Frame(part, self.position, 0.0)
        self.position += len(part)
        return frame

    def stop(self) -> None:
        self.stopped = True


class SilentlyDead(Microphone):
    def read(self, timeout: float = 0.5) -> Frame | None:
        return None


class DeadSpeaker(NullSink):
    def start(self) -> None:
        raise DeviceError("audio.cannot_open", "The speaker cannot be opened.", "Plug it in.")


def room(rms: float = 30) -> Pcm:
    return np.random.default_rng(3).normal(0, rms, 32_000).astype(np.int16)


def edges(
    source: AudioSource | None = None,
    *,
    devices: tuple[DeviceInfo, ...] = (MICROPHONE, ARRAY, SPEAKER),
    sink: Callable[[], AudioSink] = NullSink,
) -> Edges:
    microphone = source or Microphone(room())
    return Edges(
        list_devices=lambda: list(devices),
        create_source=lambda cfg: microphone,
        create_sink=lambda cfg: sink(),
    )


def checks_of(cfg: Config, world: Edges, running: int | None = None) -> dict[str, Check]:
    return {check.name: check for check in sound.check(cfg, world, running)}


def test_all_is_well() -> None:
    found = checks_of(Config(), edges())
    assert list(found) == ["sound system", "microphone", "microphone level", "speaker"]
    assert all(check.ok for check in found.values())
    assert "48000 Hz, 1 channel." in found["microphone"].detail
    assert "Headphones" in found["speaker"].detail


@pytest.mark.parametrize("value", [0, 911])
def test_microphone_that_delivers_no_signal_is_found(value: int) -> None:
    """It may have been dead for weeks: a recording of a second is enough to see it."""
    found = checks_of(Config(), edges(Microphone(np.full(32_000, value, np.int16))))
    assert not found["microphone level"].ok
    assert ("zeros" if value == 0 else "constant 911") in found["microphone level"].detail
    assert found["speaker"].ok
    assert doctor.exit_code(list(found.values())) == 3


def test_playback_is_checked_although_capture_fails() -> None:
    error = DeviceError("audio.cannot_open", "The microphone cannot be opened.", "Close Zoom.")
    found = checks_of(Config(), edges(Microphone(room(), error)))
    assert not found["microphone level"].ok
    assert found["microphone level"].hint == "Close Zoom."
    assert found["speaker"].ok


def test_capture_is_checked_although_playback_fails() -> None:
    found = checks_of(Config(), edges(sink=DeadSpeaker))
    assert found["microphone level"].ok
    assert not found["speaker"].ok
    assert found["speaker"].hint == "Plug it in."


def test_no_device_at_all() -> None:
    found = checks_of(Config(), edges(devices=()))
    assert not found["microphone"].ok
    assert not found["speaker"].ok
    assert "microphone level" not in found


def test_unknown_name_lists_what_there_is() -> None:
    cfg = load(None, ("audio.input.device=Jabra",), {})
    found = checks_of(cfg, edges())
    assert not found["microphone"].ok
    assert "ReSpeaker" in found["microphone"].detail
    assert found["speaker"].ok


def test_chosen_channel_is_shown() -> None:
    cfg = load(None, ("audio.input.device=respeaker", "audio.input.channel=3"), {})
    assert (
        "6 channels. The assistant hears channel 3." in checks_of(cfg, edges())["microphone"].detail
    )
    plain = checks_of(Config(), edges())["microphone"].detail
    assert "the mean of all channels" in plain


def test_without_portaudio_it_says_what_to_install() -> None:
    def missing() -> list[DeviceInfo]:
        raise PackageError("audio.no_portaudio", "No PortAudio.", "apt install libportaudio2")

    found = checks_of(Config(), Edges(list_devices=missing))
    assert list(found) == ["sound system"]
    assert found["sound system"].hint == "apt install libportaudio2"


def test_device_held_by_the_running_service_is_no_fault() -> None:
    error = DeviceError("audio.cannot_open", "Device or resource busy.", "")
    found = checks_of(Config(), edges(Microphone(room(), error), sink=DeadSpeaker), running=4711)
    assert found["microphone level"].ok
    assert "process 4711" in found["microphone level"].detail
    assert "stop assistant" in found["microphone level"].hint
    assert found["speaker"].ok


def test_files_in_place_of_devices_need_no_portaudio() -> None:
    cfg = load(
        None,
        ("audio.input.backend=wav", "audio.input.file=a.wav", "audio.output.backend=null"),
        {},
    )

    def missing() -> list[DeviceInfo]:
        pytest.fail("PortAudio was asked")

    world = Edges(list_devices=missing, create_source=lambda c: Microphone(room()))
    found = checks_of(cfg, world)
    assert list(found) == ["microphone", "microphone level", "speaker"]
    assert "nowhere" in found["speaker"].detail


def test_device_that_opens_and_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sound, "PATIENCE_S", 0.0)
    source = SilentlyDead(room())
    with pytest.raises(DeviceError, match="gave nothing"):
        sound.record(source, 0.01)
    assert source.stopped


def arguments(record: Path | None = None, *, as_json: bool = True) -> argparse.Namespace:
    return argparse.Namespace(record=record, json=as_json, full=False, config=None)


def test_recording_is_a_private_wav_with_its_levels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test.wav"
    samples = np.tile(room(), 3)
    assert doctor.command(Config(), arguments(file), edges(Microphone(samples))) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["recording"]["seconds"] == 5.0
    assert report["recording"]["noise_db"] == pytest.approx(-61, abs=2)
    assert report["recording"]["clipped"] == 0
    assert [c["name"] for c in report["checks"]] == ["recording"]
    assert file.stat().st_mode & 0o077 == 0
    with wave.open(str(file)) as wav:
        assert (wav.getnframes(), wav.getframerate(), wav.getnchannels()) == (80_000, 16_000, 1)
        assert wav.readframes(80_000) == samples[:80_000].tobytes()


def test_recording_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loud = (room(20_000) // 1).astype(np.int16)
    loud[::50] = 32767
    args = arguments(tmp_path / "t.wav", as_json=False)
    assert doctor.command(Config(), args, edges(Microphone(loud))) == 3
    out, err = capsys.readouterr()
    assert "please speak" in err
    assert "of the samples are clipped." in out
    assert "noise floor" in out


def test_recording_into_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="cannot be written"):
        doctor.command(Config(), arguments(tmp_path / "no" / "x.wav"), edges())


def test_failed_recording_leaves_no_file_and_spares_an_old_one(tmp_path: Path) -> None:
    error = DeviceError("audio.cannot_open", "It cannot be opened.")
    old, new = tmp_path / "old.wav", tmp_path / "new.wav"
    old.write_bytes(b"precious")
    for file in (old, new):
        with pytest.raises(DeviceError):
            doctor.command(Config(), arguments(file), edges(Microphone(room(), error)))
    assert old.read_bytes() == b"precious"
    assert not new.exists()


def test_meter_follows_the_loudness(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stderr", screen)
    meter = doctor._Meter()
    for level in (0, 32767):
        for _ in range(10):
            meter(np.full(FRAME_SAMPLES, level, np.int16))
    quiet, loud = screen.getvalue().split("\r")[1:]
    assert quiet.count("#") == 0
    assert loud.count("#") == 36
