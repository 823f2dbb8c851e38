from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from assistant.audio.microphone import SoundDeviceSource
from assistant.audio.play_queue import loudness_gain
from assistant.audio.speaker import SoundDeviceSink
from assistant.config import InputConfig, OutputConfig
from assistant.errors import DeviceError
from tests.assistant.audio.fakes_audio import (
    FakeClock,
    FakeDevice,
    FakeSoundDevice,
    resampled,
    sine,
)
from tests.patience import PATIENCE_S

Told = list[tuple[str, str]]
TONE = sine(440, 0.2, 22_050)


@contextmanager
def speaker(
    fake: FakeSoundDevice, clock: FakeClock | None = None, wait: bool = False, **config: Any
) -> Iterator[tuple[SoundDeviceSink, Told]]:
    """A started speaker that is looked after by hand, and what it tells."""
    how: dict[str, Any] = {"clock": clock} if clock else {}
    sink = SoundDeviceSink(
        OutputConfig(**config), fake.portaudio(), wait=wait, threaded=False, **how
    )
    told: Told = []
    sink.on_trouble = lambda code, message, hint: told.append(("trouble", code))
    sink.on_recovered = lambda code, message: told.append(("recovered", code))
    sink.start()
    try:
        yield sink, told
    finally:
        sink.stop()
        sink.stop()


def played(fake: FakeSoundDevice, seconds: float) -> np.ndarray:
    stream = fake.stream
    block = stream.rate // 50
    return np.concatenate([stream.play(block) for _ in range(round(seconds * 50))])


def test_any_rate_goes_to_all_channels_at_the_rate_of_the_device() -> None:
    fake = FakeSoundDevice(FakeDevice("Speaker", outputs=2, rates=(48_000,), exact=(2,)))
    with speaker(fake) as (sink, told):
        sink.write(TONE, 22_050)
        out = played(fake, 0.4)
        assert out.shape == (19_200, 2)
        np.testing.assert_array_equal(out[:, 0], out[:, 1])
        expected = resampled(TONE, 22_050, 48_000)
        np.testing.assert_array_equal(out[: len(expected), 0], expected)
        assert not out[len(expected) :].any(), "silence when nothing waits"
        assert told == []


def test_volume_and_mute() -> None:
    fake = FakeSoundDevice(FakeDevice("Speaker", outputs=1, rates=(16_000,)))
    with speaker(fake) as (sink, _):
        loud = np.full(160, 10_000, np.int16)
        for volume, muted in ((100, False), (50, False), (0, False), (80, True), (80, False)):
            sink.volume, sink.muted = volume, muted
            sink.write(loud, 16_000)
        levels = played(fake, 0.06)[80::160, 0]
        expected = [10_000, round(10_000 * loudness_gain(50)), 0, 0]
        np.testing.assert_array_equal(levels[:5], [*expected, round(10_000 * loudness_gain(80))])


def test_on_start_gets_the_time_of_the_first_sample_outside_of_the_callback() -> None:
    fake = FakeSoundDevice(FakeDevice("Speaker", outputs=1, rates=(16_000,)))
    with speaker(fake) as (sink, _):
        begun: list[tuple[float, int]] = []
        told = threading.Event()

        def on_start(t: float) -> None:
            begun.append((t, threading.get_ident()))
            told.set()

        sink.write(np.zeros(480, np.int16), 16_000)
        sink.write(TONE, 16_000, on_start)
        fake.stream.play(320)
        assert begun == []
        fake.stream.play(320)
        assert told.wait(PATIENCE_S)
        assert begun[0][1] != threading.get_ident()


def test_a_listener_that_fails_does_not_silence_the_next() -> None:
    fake = FakeSoundDevice(FakeDevice("Speaker", outputs=1, rates=(16_000,)))
    with speaker(fake) as (sink, _):
        told = threading.Event()
        sink.write(TONE[:100], 16_000, lambda t: 1 / 0)  # type: ignore[arg-type,return-value]
        sink.write(TONE[:100], 16_000, lambda t: told.set())
        fake.stream.play(320)
        assert told.wait(PATIENCE_S)


def test_drain_waits_for_the_latency_of_the_device() -> None:
    fake, clock = FakeSoundDevice(FakeDevice("BT", outputs=1, rates=(16_000,))), FakeClock()
    with speaker(fake, clock) as (sink, _):
        sink.write(TONE[:160], 16_000)
        fake.stream.play(160, latency=0.3)
        assert sink.playing
        assert not sink.drain(timeout=0)


def test_flush_keeps_nothing_of_the_old() -> None:
    fake = FakeSoundDevice(FakeDevice("Speaker", outputs=1, rates=(16_000,)))
    with speaker(fake) as (sink, _):
        sink.write(np.full(16_000, 9_000, np.int16), 16_000)
        fake.stream.play(320)
        sink.flush()
        sink.write(np.full(160, -50, np.int16), 16_000)
        out = fake.stream.play(1_600)[:, 0]
        assert np.count_nonzero(out > 0) <= 160
        assert np.count_nonzero(out == -50) == 160


def test_no_speaker_and_an_unknown_one() -> None:
    only_mic = FakeSoundDevice(FakeDevice("Mic", inputs=1))
    with pytest.raises(DeviceError, match="No speaker was found") as e, speaker(only_mic):
        pass
    assert e.value.exit_code == 3
    one = FakeSoundDevice(FakeDevice("Kitchen", outputs=2))
    with pytest.raises(DeviceError, match='Did you mean "Kitchen"'), speaker(one, device="kichen"):
        pass


def test_while_it_is_away_writes_are_dropped_and_it_comes_back() -> None:
    clock = FakeClock()
    box = FakeDevice("USB box (hw:1,0)", outputs=2, rates=(48_000,))
    fake = FakeSoundDevice(box)
    with speaker(fake, clock, device="usb box") as (sink, told):
        begun: list[str] = []
        sink.write(TONE, 22_050, lambda t: begun.append("old"))
        fake.unplug(box)
        sink.keeper.step()
        assert told == [("trouble", "audio.output_lost")]
        assert not sink.drain(timeout=PATIENCE_S)
        sink.write(TONE[:2_205], 22_050, lambda t: begun.append("dropped"))
        assert not sink.drain(timeout=PATIENCE_S)
        assert not sink.playing
        again = FakeDevice("USB box (hw:2,0)", outputs=2, rates=(44_100,))
        fake.plugged += [FakeDevice("HDMI", outputs=8), again]
        clock.advance(1)
        sink.keeper.step()
        assert fake.stream.device is again
        told_new = threading.Event()
        sink.write(TONE, 22_050, lambda t: told_new.set())
        out = played(fake, 0.4)[:, 0]
        expected = resampled(TONE, 22_050, 44_100)
        np.testing.assert_array_equal(out[: len(expected)], expected)
        sink.keeper.step()
        assert told[1:] == [("recovered", "audio.output_lost")]
        assert told_new.wait(PATIENCE_S)
        assert begun == []
        clock.advance(5)
        assert sink.drain(timeout=0)


def test_a_blocked_write_ends_when_the_device_is_lost() -> None:
    box = FakeDevice("Box", outputs=1, rates=(16_000,))
    fake = FakeSoundDevice(box)
    with speaker(fake) as (sink, _):
        writer = threading.Thread(target=lambda: sink.write(np.tile(TONE, 50), 16_000))
        writer.start()
        while not sink.playing:
            pass
        fake.unplug(box)
        sink.keeper.step()
        writer.join(PATIENCE_S)
        assert not writer.is_alive()
        assert not sink.drain(timeout=PATIENCE_S)


def test_flush_frees_a_write_that_waits_for_the_device() -> None:
    fake = FakeSoundDevice()
    with speaker(fake, wait=True) as (sink, told):
        assert told == [("trouble", "audio.output_lost")]
        writer = threading.Thread(target=lambda: sink.write(np.tile(TONE, 50), 16_000))
        writer.start()
        while writer.is_alive():
            sink.flush()
            writer.join(0.001)


def test_a_new_start_of_portaudio_for_the_microphone_interrupts_but_loses_nothing() -> None:
    clock = FakeClock()
    box, mic = FakeDevice("Box", outputs=1, rates=(16_000,)), FakeDevice("Mic", inputs=1)
    fake = FakeSoundDevice(box, mic)
    edge = fake.portaudio()
    sink = SoundDeviceSink(OutputConfig(), edge, threaded=False, clock=clock)
    source = SoundDeviceSource(InputConfig(), edge, threaded=False, clock=clock)
    told: list[str] = []
    sink.on_trouble = lambda code, message, hint: told.append(code)
    sink.start()
    source.start()
    ramp = np.arange(1, 3_201, dtype=np.int16)
    sink.write(ramp, 16_000)
    first = fake.streams[0].play(1_000)[:, 0]
    fake.unplug(mic)
    source.keeper.step()
    clock.advance(1)
    source.keeper.step()
    assert fake.starts == 1
    sink.keeper.step()
    assert fake.stream.device is box
    rest = fake.stream.play(2_200)[:, 0]
    np.testing.assert_array_equal(np.concatenate([first, rest]), ramp)
    assert told == []
    source.stop()
    sink.stop()
