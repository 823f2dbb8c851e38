from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from assistant.audio.microphone import SoundDeviceSource
from assistant.config import InputConfig
from assistant.errors import DeviceError
from tests.assistant.audio.fakes_audio import (
    FakeClock,
    FakeDevice,
    FakeSoundDevice,
    resampled,
    sine,
)
from tests.patience import PATIENCE_S

Told = list[tuple[str, ...]]


def microphone(
    fake: FakeSoundDevice, clock: FakeClock | None = None, wait: bool = False, **config: Any
) -> tuple[SoundDeviceSource, Told]:
    """A microphone that is looked after by hand, and what it tells."""
    source = SoundDeviceSource(
        InputConfig(**config),
        fake.portaudio(),
        wait=wait,
        threaded=False,
        clock=clock or FakeClock(),
    )
    told: Told = []
    source.on_trouble = lambda code, message, hint: told.append(("trouble", code, message))
    source.on_recovered = lambda code, message: told.append(("recovered", code, message))
    return source, told


def deliver(fake: FakeSoundDevice, samples: np.ndarray, size: int = 960) -> None:
    """Gives mono samples to all channels of the open stream."""
    stream = fake.stream
    for at in range(0, len(samples), size):
        block = samples[at : at + size]
        stream.deliver(np.repeat(block[:, None], stream.channels, axis=1))


def heard(source: SoundDeviceSource) -> np.ndarray:
    parts = [np.zeros(0, np.int16)]
    while (frame := source.read(timeout=0)) is not None:
        parts.append(frame.samples)
    return np.concatenate(parts)


def test_16_khz_mono_is_taken_as_it_is() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(48_000, 16_000)))
    source, told = microphone(fake)
    source.start()
    assert source.format == (16_000, 1)
    tone = sine(440, 1.0, 16_000)
    deliver(fake, tone, 320)
    np.testing.assert_array_equal(heard(source), tone)
    assert told == []
    assert source.paced


def test_a_speakerphone_that_only_does_48_khz_stereo() -> None:
    fake = FakeSoundDevice(FakeDevice("USB speakerphone", inputs=2, rates=(48_000,), exact=(2,)))
    source, told = microphone(fake, device="speakerphone")
    source.start()
    assert source.format == (48_000, 2)
    tone = sine(440, 1.0, 48_000)
    deliver(fake, tone)
    got = heard(source)
    assert len(got) > 15_000
    np.testing.assert_allclose(got, resampled(tone, 48_000, 16_000)[: len(got)], atol=1)
    assert told == []


@pytest.mark.parametrize("channel", [0, 1, 4, 6])
def test_speech_on_one_channel_of_an_array(channel: int) -> None:
    fake = FakeSoundDevice(FakeDevice("Array", inputs=6, rates=(16_000,)))
    source, _ = microphone(fake, channel=channel)
    source.start()
    speech = sine(300, 0.5, 16_000)
    frames = np.zeros((len(speech), fake.stream.channels), np.int16)
    frames[:, max(0, channel - 1)] = speech
    for at in range(0, len(frames), 320):
        fake.stream.deliver(frames[at : at + 320])
    np.testing.assert_array_equal(heard(source), speech)


def test_a_channel_or_rate_that_the_device_does_not_have() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(48_000,)))
    with pytest.raises(DeviceError, match="no channel 3"):
        microphone(fake, channel=3)[0].start()
    with pytest.raises(DeviceError, match="Invalid sample rate"):
        microphone(fake, rate=44_100)[0].start()


def test_gain() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(16_000,)))
    source, _ = microphone(fake, gain_db=-6.0206)
    source.start()
    deliver(fake, np.full(1_600, 2_000, np.int16))
    np.testing.assert_array_equal(heard(source), 1_000)


def test_no_device_and_an_unknown_one() -> None:
    with pytest.raises(DeviceError, match="No microphone was found") as e:
        microphone(FakeSoundDevice(FakeDevice("Speaker", outputs=2)))[0].start()
    assert e.value.exit_code == 3
    with pytest.raises(DeviceError, match='Did you mean "Jabra"'):
        microphone(FakeSoundDevice(FakeDevice("Jabra", inputs=1)), device="jarba")[0].start()


def test_capture_can_fail_while_playback_works() -> None:
    both = FakeDevice("Card", inputs=1, outputs=2, broken=True)
    fake = FakeSoundDevice(both)
    source, told = microphone(fake, wait=True)
    source.start()
    assert [t[:2] for t in told] == [("trouble", "audio.input_lost")]
    assert source.read(timeout=0) is None


def test_positions_and_times_are_those_of_the_capture() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(48_000,)))
    source, _ = microphone(fake)
    source.start()
    before = time.monotonic()
    deliver(fake, sine(440, 1.0, 48_000), 48_000)
    after = time.monotonic()
    frames = []
    while (frame := source.read(timeout=0)) is not None:
        frames.append(frame)
    assert [f.position for f in frames] == [160 * i for i in range(len(frames))]
    first = frames[0].t
    for i, frame in enumerate(frames):
        assert frame.t == pytest.approx(first + i * 0.01, abs=1e-6)
    assert before <= first + 0.99 <= after + 1e-6, "the last sample was captured at the callback"


def test_overload_drops_the_oldest_and_counts() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(16_000,)))
    source, told = microphone(fake)
    source.start()
    stamps = (np.arange(16_000 * 13) // 160).astype(np.int16)
    deliver(fake, stamps, 320)
    frame = source.read(timeout=0)
    assert frame is not None
    assert source.overruns == 300
    assert frame.position == 300 * 160
    assert frame.samples[0] == 300
    assert len(heard(source)) == 16_000 * 10 - 160
    assert told == []


def test_a_reader_slower_than_real_time_for_five_minutes() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(16_000,)))
    source, _ = microphone(fake)
    source.start()
    second = np.random.default_rng(2).normal(0, 500, 16_000).astype(np.int16)
    last = -1
    for _ in range(300):
        deliver(fake, second, 320)
        for _ in range(50):
            frame = source.read(timeout=0)
            assert frame is not None
            assert frame.position > last
            last = frame.position
    assert source.overruns == pytest.approx(300 * 100 - 300 * 50 - 1_000, abs=60)


def test_what_the_driver_lost_is_counted_too() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(16_000,)))
    source, _ = microphone(fake)
    source.start()
    fake.stream.deliver(np.zeros((320, 1), np.int16), overflow=True)
    heard(source)
    assert source.overruns == 1


@pytest.mark.parametrize("how", ["unplugged", "silent"])
def test_it_comes_back_under_another_number(how: str) -> None:
    clock = FakeClock()
    mic = FakeDevice("USB Mic: Audio (hw:1,0)", inputs=1, rates=(16_000,))
    fake = FakeSoundDevice(mic)
    source, told = microphone(fake, clock, device="usb mic: audio (hw:1,0)")
    source.start()
    deliver(fake, sine(440, 0.5, 16_000), 320)
    last = len(heard(source))
    assert source.keeper.step() > 0

    if how == "unplugged":
        fake.unplug(mic)
    else:
        fake.plugged.remove(mic)
        clock.advance(1.1)
        source.keeper.step()
        assert told == [], "once is not enough"
    source.keeper.step()
    assert [t[:2] for t in told] == [("trouble", "audio.input_lost")]
    assert '"USB Mic: Audio (hw:1,0)" was lost' in told[0][2]
    assert source.format is None
    assert source.read(timeout=0) is None

    delays = []
    for _ in range(8):
        delays.append(round(source.keeper.step(), 3))
        clock.advance(delays[-1])
    assert delays[:6] == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0]
    assert len(told) == 1, "told once"

    fake.plugged += [
        FakeDevice("Webcam", inputs=2),
        FakeDevice("USB Mic: Audio (hw:4,0)", inputs=1, rates=(48_000,)),
    ]
    clock.advance(10)
    source.keeper.step()
    assert source.format == (48_000, 1)
    assert fake.stream.device is fake.plugged[1]
    deliver(fake, sine(440, 0.5, 48_000))
    source.keeper.step()
    assert [t[0] for t in told] == ["trouble", "recovered"]
    frame = source.read(timeout=0)
    assert frame is not None
    assert frame.position >= last
    assert len(heard(source)) > 6_000


def test_a_device_that_keeps_failing_is_not_tried_ever_faster() -> None:
    clock = FakeClock()
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(16_000,)))
    source, told = microphone(fake, clock)
    source.start()
    end = clock.now + 300
    while clock.now < end:
        if fake.stream.active:
            fake.stream.deliver(np.zeros((320, 1), np.int16))
            source.keeper.step()
            fake.stream.end()
        clock.advance(max(0.01, source.keeper.step()))
    assert len(fake.streams) < 60
    assert [t[0] for t in told[:4]] == ["trouble", "recovered", "trouble", "recovered"]


def test_a_start_that_waits() -> None:
    clock = FakeClock()
    fake = FakeSoundDevice()
    source, told = microphone(fake, clock, wait=True)
    source.start()
    assert [t[:2] for t in told] == [("trouble", "audio.input_lost")]
    fake.plugged.append(FakeDevice("Mic", inputs=1, rates=(16_000,)))
    clock.advance(1)
    source.keeper.step()
    deliver(fake, sine(440, 0.1, 16_000))
    source.keeper.step()
    assert told[-1][0] == "recovered"
    assert len(heard(source)) == 1_600


@pytest.mark.parametrize("value", [0, 900])
@pytest.mark.parametrize("gain_db", [0.0, 30.0])
def test_a_dead_microphone_is_told_within_a_minute(value: int, gain_db: float) -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(48_000,)))
    source, told = microphone(fake, gain_db=gain_db)
    source.start()
    second = np.full(48_000, value, np.int16)
    for _ in range(60):
        deliver(fake, second, 4_800)
        heard(source)
    assert [t[:2] for t in told] == [("trouble", "audio.no_signal")]
    deliver(fake, np.random.default_rng(4).normal(0, 40, 96_000).astype(np.int16), 4_800)
    heard(source)
    assert [t[:2] for t in told[1:]] == [("recovered", "audio.no_signal")]


def test_stop_ends_a_waiting_read_and_can_be_called_twice() -> None:
    fake = FakeSoundDevice(FakeDevice("Mic", inputs=1, rates=(16_000,)))
    source, _ = microphone(fake)
    source.start()
    got: list[object] = []
    reader = threading.Thread(target=lambda: got.append(source.read(timeout=60)))
    reader.start()
    source.stop()
    source.stop()
    reader.join(PATIENCE_S)
    assert got == [None]
    assert fake.stream.closed
    assert source.read() is None


def test_its_own_thread_brings_it_back() -> None:
    mic = FakeDevice("Mic", inputs=1, rates=(16_000,))
    fake = FakeSoundDevice(mic)
    source = SoundDeviceSource(InputConfig(), fake.portaudio())
    lost, back = threading.Event(), threading.Event()
    source.on_trouble = lambda *what: lost.set()
    source.on_recovered = lambda *what: back.set()
    source.start()
    try:
        fake.unplug(mic)
        assert lost.wait(PATIENCE_S)
        fake.plugged.append(mic)
        while not back.wait(0.01):
            if fake.stream.active:
                deliver(fake, sine(440, 0.02, 16_000))
        assert source.read(timeout=PATIENCE_S) is not None
    finally:
        source.stop()
