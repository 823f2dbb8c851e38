from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from assistant.audio.clocked_sink import NullSink
from assistant.audio.wavfile import WavSource
from tests.assistant.audio.fakes_audio import (
    AmplifierSink,
    CapturingSink,
    loopback,
    resampled,
    sine,
)
from tests.patience import PATIENCE_S

RAMP = np.arange(1, 4_801, dtype=np.int16)


def test_real_time_plays_everything_in_order_on_a_steady_schedule() -> None:
    sink = CapturingSink(16_000)
    begun: list[float] = []
    sink.write(RAMP[:2_000], 16_000, begun.append)
    sink.write(RAMP[2_000:], 16_000, begun.append)
    sink.start()
    assert sink.drain(timeout=PATIENCE_S)
    sink.stop()
    np.testing.assert_array_equal(sink.played, RAMP)
    times = [t for t, _ in sink.pieces]
    np.testing.assert_allclose(np.diff(times), 0.01, atol=1e-6)
    assert begun[0] == times[0]
    assert begun[1] == times[12]


def test_drain_in_real_time_includes_the_latency() -> None:
    sink = CapturingSink(16_000, latency_s=0.25)
    sink.start()
    sink.write(RAMP[:1_600], 16_000)
    assert sink.playing
    assert sink.drain(timeout=PATIENCE_S)
    end = time.monotonic()
    assert not sink.playing
    last, samples = sink.pieces[-1]
    assert end >= last + len(samples) / 16_000 + 0.25
    sink.stop()


def test_real_time_flush_ends_the_old_and_frees_the_writer() -> None:
    sink = CapturingSink(16_000)
    sink.start()
    began = threading.Event()
    long = np.full(16_000 * 30, 5_000, np.int16)
    writer = threading.Thread(target=lambda: sink.write(long, 16_000, lambda t: began.set()))
    writer.start()
    assert began.wait(PATIENCE_S)
    sink.flush()
    writer.join(PATIENCE_S)
    assert not writer.is_alive()
    sink.write(np.full(800, -7, np.int16), 16_000)
    assert sink.drain(timeout=PATIENCE_S)
    sink.stop()
    played = sink.played
    np.testing.assert_array_equal(played[-800:], -7)
    old = played[:-800].astype(np.int32)
    assert len(old) < 16_000 * 20
    assert old[-1] < 300, "it faded"
    assert np.abs(np.diff(old)).max() < 200


def test_fast_consumes_at_once() -> None:
    sink = CapturingSink(48_000, realtime=False)
    sink.start()
    begun: list[float] = []
    tone = sine(500, 30.0, 22_050)
    for part in np.array_split(tone, 7):
        sink.write(part, 22_050, begun.append)
        assert not sink.playing
    assert sink.drain()
    assert len(begun) == 7
    np.testing.assert_array_equal(sink.played, resampled(tone, 22_050, 48_000))
    sink.stop()


def test_fast_plays_the_rest_when_it_is_stopped() -> None:
    sink = CapturingSink(48_000, realtime=False)
    sink.start()
    sink.write(sine(500, 0.1, 22_050), 22_050)
    sink.stop()
    sink.stop()
    assert len(sink.played) == 4_800


@pytest.mark.parametrize("realtime", [True, False])
def test_volume(realtime: bool) -> None:
    sink = CapturingSink(16_000, realtime=realtime)
    sink.start()
    sink.volume = 0
    sink.write(RAMP[:160], 16_000)
    sink.volume = 100
    sink.write(RAMP[:160], 16_000)
    sink.muted = True
    sink.write(RAMP[:160], 16_000)
    assert sink.drain(timeout=PATIENCE_S)
    sink.stop()
    np.testing.assert_array_equal(
        sink.played, np.concatenate([np.zeros(160), RAMP[:160], np.zeros(160)])
    )


def test_the_silence_before_speech_saves_its_beginning() -> None:
    for wake_up_ms, lost in ((0, 3_200), (200, 0)):
        sink = AmplifierSink(16_000, swallow_ms=200, wake_up_silence_ms=wake_up_ms)
        sink.start()
        sink.write(RAMP, 16_000)
        assert sink.drain(timeout=PATIENCE_S)
        sink.stop()
        np.testing.assert_array_equal(sink.played, RAMP[lost:])


def test_null_sink_keeps_time() -> None:
    sink = NullSink()
    sink.start()
    begun = threading.Event()
    sink.write(RAMP[:800], 16_000, lambda t: begun.set())
    assert sink.playing
    assert sink.drain(timeout=PATIENCE_S)
    assert begun.is_set()
    sink.stop()


def test_stop_ends_a_blocked_write() -> None:
    sink = NullSink()
    sink.start()
    began = threading.Event()
    long = np.zeros(16_000 * 60, np.int16)
    writer = threading.Thread(target=lambda: sink.write(long, 16_000, lambda t: began.set()))
    writer.start()
    assert began.wait(PATIENCE_S)
    sink.stop()
    writer.join(PATIENCE_S)
    assert not writer.is_alive()


def test_the_room_carries_the_speaker_to_the_microphone(tmp_path: Path) -> None:
    path = tmp_path / "room.wav"
    soundfile.write(path, np.ones(60 * 16_000, np.int16), 16_000)
    source, sink = loopback(WavSource(path, tail_s=0), gain_db=-6.0206)
    source.room.delay_s = 0.1
    sink.start()
    source.start()
    tone = sine(800, 0.2, 16_000, 0.3)
    sink.write(tone, 16_000)
    heard = []
    now, end = 0.0, float("inf")
    while now < end:
        frame = source.read(timeout=PATIENCE_S)
        assert frame is not None
        heard.append(frame.samples)
        now = frame.t
        if len(sink.played) == len(tone):
            end = sink.pieces[-1][0] + 0.2
    source.stop()
    sink.stop()
    echo = np.concatenate(heard).astype(np.float64) - 1
    assert np.abs(echo).max() == pytest.approx(np.abs(tone).max() / 2, rel=0.02)
    assert np.std(echo) > 500
