from __future__ import annotations

import errno
import os
import wave
from pathlib import Path

import numpy as np
import pytest

from assistant.audio.wav_sink import WavSink, write_wav
from assistant.errors import InputFileError
from tests.assistant.audio.fakes_audio import resampled, sine
from tests.patience import PATIENCE_S

TONE = sine(440, 0.2, 22_050)


def content(path: Path) -> tuple[int, np.ndarray]:
    with wave.open(str(path)) as f:
        assert (f.getnchannels(), f.getsampwidth()) == (1, 2)
        return f.getframerate(), np.frombuffer(f.readframes(f.getnframes()), "<i2")


@pytest.mark.parametrize("realtime", [True, False])
def test_the_file_holds_what_was_played(tmp_path: Path, realtime: bool) -> None:
    path = tmp_path / "out.wav"
    sink = WavSink(path, realtime=realtime)
    sink.start()
    sink.write(TONE, 22_050)
    assert sink.drain(timeout=PATIENCE_S)
    assert not path.exists(), "it appears whole"
    sink.stop()
    rate, samples = content(path)
    assert rate == 22_050
    np.testing.assert_array_equal(samples, TONE)
    assert [p.name for p in tmp_path.iterdir()] == ["out.wav"]
    sink.stop()


def test_other_rates_are_converted(tmp_path: Path) -> None:
    sink = WavSink(tmp_path / "out.wav", 16_000, realtime=False)
    sink.start()
    sink.write(TONE, 22_050)
    sink.stop()
    rate, samples = content(tmp_path / "out.wav")
    assert rate == 16_000
    np.testing.assert_array_equal(samples, resampled(TONE, 22_050, 16_000))


def test_nothing_played_is_a_valid_empty_file(tmp_path: Path) -> None:
    sink = WavSink(tmp_path / "out.wav")
    sink.start()
    sink.stop()
    assert len(content(tmp_path / "out.wav")[1]) == 0


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    path.write_text("old")
    sink = WavSink(path, realtime=False)
    sink.start()
    sink.write(TONE, 22_050)
    assert path.read_text() == "old"
    sink.stop()
    assert len(content(path)[1]) == len(TONE)


def test_it_can_be_started_again(tmp_path: Path) -> None:
    sink = WavSink(tmp_path / "out.wav", realtime=False)
    for n in (1_000, 2_000):
        sink.start()
        sink.write(TONE[:n], 22_050)
        sink.stop()
        assert len(content(tmp_path / "out.wav")[1]) == n


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="is a folder"):
        WavSink(tmp_path).start()
    with pytest.raises(InputFileError, match="cannot be written: No such file"):
        WavSink(tmp_path / "no" / "out.wav").start()


def test_samples_can_be_written_at_once(tmp_path: Path) -> None:
    write_wav(tmp_path / "out.wav", TONE, 22_050)
    rate, samples = content(tmp_path / "out.wav")
    assert rate == 22_050
    np.testing.assert_array_equal(samples, TONE)


@pytest.mark.parametrize("realtime", [False, True])
def test_disk_that_fills_up_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, realtime: bool
) -> None:
    def full(self: wave.Wave_write, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(wave.Wave_write, "writeframesraw", full)
    sink = WavSink(tmp_path / "full.wav", realtime=realtime)
    sink.start()
    sink.write(TONE, 22_050)
    assert sink.drain(timeout=PATIENCE_S)
    with pytest.raises(InputFileError, match="No space left"):
        sink.stop()
    assert list(tmp_path.iterdir()) == []


def test_only_files_are_written_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputFileError, match="is no file"):
        WavSink(tmp_path / "pipe", realtime=False).start()
    assert [path.is_fifo() for path in tmp_path.iterdir()] == [True]
