from __future__ import annotations

import logging
import os
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.audio.base import Frame
from assistant.audio.sound_reader import SoundReader
from assistant.audio.wavfile import WavSource, read_sound
from assistant.errors import InputFileError
from tests.assistant.audio.fakes_audio import FakeClock, sine

TONE = sine(440, 0.5, 16_000, 0.4)
GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")


def wav(
    data: bytes = TONE.tobytes(),
    *,
    tag: int = 1,
    channels: int = 1,
    rate: int = 16_000,
    bits: int = 16,
    length: int | None = None,
    before: bytes = b"",
    after: bytes = b"",
    extensible: bool = False,
) -> bytes:
    """A WAV made by hand, so that every field of it can be wrong."""
    align = channels * max(1, bits // 8)
    form = struct.pack("<HIIHH", channels, rate, rate * align % 2**32, align, bits)
    if extensible:
        form = struct.pack("<H", 0xFFFE) + form + struct.pack("<HHIH", 22, bits, 0, tag) + GUID_TAIL
    else:
        form = struct.pack("<H", tag) + form
    size = len(data) if length is None else length
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + before
    body += b"data" + struct.pack("<I", size) + data + after
    return b"RIFF" + struct.pack("<I", min(len(body), 2**32 - 1)) + body


def frames(source: WavSource) -> Iterator[Frame]:
    source.start()
    while True:
        try:
            frame = source.read()
        except EOFError:
            return
        assert frame is not None
        assert frame.samples.shape == (160,)
        assert frame.samples.dtype == np.int16
        yield frame


def hear(path: Path, content: bytes | None = None, **how: object) -> np.ndarray:
    """All samples of a file, without the tail."""
    if content is not None:
        path.write_bytes(content)
    source = WavSource(path, realtime=False, tail_s=0, **how)  # type: ignore[arg-type]
    return np.concatenate([np.zeros(0, np.int16), *(f.samples for f in frames(source))])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clip.wav"


def test_16_khz_comes_through_bit_for_bit(path: Path) -> None:
    np.testing.assert_array_equal(hear(path, wav()), TONE)


@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize(
    ("bits", "tag", "coded", "error"),
    [
        (8, 1, ((TONE.astype(np.int32) >> 8) + 128).astype(np.uint8).tobytes(), 256),
        (24, 1, (TONE.astype("<i4") << 8).view(np.uint8).reshape(-1, 4)[:, :3].tobytes(), 0),
        (32, 1, (TONE.astype("<i4") << 16).tobytes(), 0),
        (32, 3, (TONE / 32_768).astype("<f4").tobytes(), 0),
        (64, 3, (TONE / 32_768).astype("<f8").tobytes(), 0),
    ],
)
def test_every_width(
    path: Path, bits: int, tag: int, coded: bytes, error: int, extensible: bool
) -> None:
    heard = hear(path, wav(coded, bits=bits, tag=tag, extensible=extensible))
    assert np.abs(heard.astype(np.int32) - TONE).max() <= error


@pytest.mark.parametrize("rate", [4_000, 8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 384_000])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_every_rate_and_channel_count(path: Path, rate: int, channels: int) -> None:
    tone = sine(440, 0.5, rate, 0.4)
    heard = hear(path, wav(np.repeat(tone, channels).tobytes(), rate=rate, channels=channels))
    assert len(heard) == 8_000
    assert np.abs(heard[800:-800].astype(np.int32) - TONE[800:-800]).max() <= 20


def test_flac_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "clip.flac"
    soundfile.write(path, TONE, 16_000)
    np.testing.assert_array_equal(hear(path), TONE)


def test_a_law_is_read_too(path: Path) -> None:
    soundfile.write(path, TONE, 16_000, subtype="ALAW")
    assert np.abs(hear(path).astype(np.int32) - TONE).max() < 600


def test_a_channel_can_be_chosen_and_all_be_mixed(path: Path) -> None:
    both = np.stack([TONE, TONE // 2], axis=1)
    content = wav(both.tobytes(), channels=2)
    np.testing.assert_array_equal(hear(path, content, channel=2), TONE // 2)
    np.testing.assert_allclose(hear(path, content), both.mean(axis=1), atol=1)
    with pytest.raises(InputFileError, match="2 channels, so there is no channel 3"):
        hear(path, content, channel=3)


def test_gain_is_applied_and_saturates(path: Path) -> None:
    louder = hear(path, wav(), gain_db=6)
    assert np.abs(louder).max() == pytest.approx(np.abs(TONE).max() * 1.995, rel=0.01)
    assert hear(path, wav(), gain_db=40).max() == 32_767


@pytest.mark.parametrize(
    "content",
    [
        wav(before=b"LIST" + struct.pack("<I", 4) + b"INFO"),
        wav(before=b"junk" + struct.pack("<I", 5) + b"12345\0"),
        wav(after=b"LIST" + struct.pack("<I", 4) + b"INFO"),
        wav(length=0xFFFFFFFF),
        wav(length=0),
        wav(length=0, before=b"LIST" + struct.pack("<I", 4) + b"INFO"),
        wav(length=0x7FFFF000),
    ],
    ids=["list", "odd", "after", "stream", "zero", "zero-list", "huge"],
)
def test_odd_headers_do_not_matter(path: Path, content: bytes) -> None:
    np.testing.assert_array_equal(hear(path, content)[: len(TONE)], TONE)


def test_a_file_without_its_end_is_read_with_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        heard = hear(path, wav()[:-4_001])
    assert len(heard) == pytest.approx(6_000, abs=160)
    np.testing.assert_array_equal(heard[:5_900], TONE[:5_900])
    assert [r.message for r in caplog.records if "cut short" in r.message] != []


def test_a_damaged_flac_gives_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "clip.flac"
    noise = np.random.default_rng(5).normal(0, 4_000, 48_000).astype(np.int16)
    soundfile.write(path, noise, 16_000)
    heard = hear(path, path.read_bytes()[:50_000])
    assert 0 < len(heard) < len(noise)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"Dear microphone,\nthis is a letter.\n" * 50, "not a sound file"),
        (b"RIFF", "not a sound file"),
        (wav()[:30], "not a sound file"),
        (wav(b""), "holds no sound"),
        (wav(tag=0x55, bits=0), "not a sound file"),
        (wav(channels=0), "not a sound file"),
        (wav(rate=0), "not a sound file"),
        (wav(rate=1_000), "1000 Hz"),
        (wav(rate=2_000_000), "2000000 Hz"),
        (wav(np.zeros(2_000, "<i2").tobytes(), channels=100), "100 channels"),
        (bytes(1_000), "not a sound file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(500), "not a sound file"),
    ],
)
def test_what_is_no_sound_is_refused_in_one_sentence(path: Path, content: bytes, says: str) -> None:
    path.write_bytes(content)
    with pytest.raises(InputFileError) as caught:
        WavSource(path).start()
    assert says in caught.value.message
    assert str(path) in caught.value.message
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_no_file_a_folder_and_a_forbidden_file(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="No such file"):
        WavSource(tmp_path / "nowhere.wav").start()
    with pytest.raises(InputFileError, match="is a folder"):
        WavSource(tmp_path).start()
    with pytest.raises(InputFileError, match="device or pipe"):
        WavSource(Path(os.devnull)).start()
    locked = tmp_path / "locked.wav"
    locked.write_bytes(wav())
    locked.chmod(0)
    if os.access(locked, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputFileError, match="Permission denied"):
        WavSource(locked).start()


def test_a_raw_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "clip.raw"
    path.write_bytes(TONE.tobytes())
    with pytest.raises(InputFileError, match="not a sound file"):
        WavSource(path).start()


def test_numbers_that_are_none_are_silence(path: Path) -> None:
    bad = np.full(1_600, np.nan, "<f4")
    bad[800:] = np.inf
    heard = hear(path, wav(bad.tobytes(), tag=3, bits=32))
    np.testing.assert_array_equal(heard, [0] * 800 + [32_767] * 800)


def test_memory_does_not_grow_with_the_file(path: Path) -> None:
    silence = np.zeros(16_000, "<i2")
    silence[::7] = 100
    with path.open("wb") as f:
        f.write(wav(b"", length=0xFFFFFFFF))
        for _ in range(60):
            f.write(silence.tobytes())
    source = WavSource(path, realtime=False, tail_s=0)
    tracemalloc.start()
    try:
        n = sum(1 for _ in frames(source))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n == 6_000
    assert peak < 1_000_000


def test_a_whole_file_can_be_read(path: Path) -> None:
    both = np.stack([TONE, TONE // 2], axis=1)
    path.write_bytes(wav(both.tobytes(), channels=2, rate=22_050))
    samples, rate = read_sound(path)
    assert rate == 22_050
    np.testing.assert_allclose(samples, both.mean(axis=1), atol=1)


def test_positions_and_the_tail(path: Path) -> None:
    path.write_bytes(wav(TONE[:1_000].tobytes()))
    source = WavSource(path, realtime=False, tail_s=0.5)
    got = list(frames(source))
    assert [f.position for f in got] == [160 * i for i in range(len(got))]
    heard = np.concatenate([f.samples for f in got])
    np.testing.assert_array_equal(heard[:1_000], TONE[:1_000])
    assert not heard[1_000:].any()
    assert 9_000 <= len(heard) < 9_160
    with pytest.raises(EOFError):
        source.read()


def test_real_time_and_fast_give_the_same_frames_on_schedule(path: Path) -> None:
    path.write_bytes(wav(sine(500, 1.0, 44_100).tobytes(), rate=44_100))
    fast = list(frames(WavSource(path, realtime=False, tail_s=0.1)))
    clock = FakeClock()
    slow_source = WavSource(path, realtime=True, tail_s=0.1, clock=clock, sleep=clock.advance)
    slow = list(frames(slow_source))
    assert len(fast) == len(slow)
    for i, (a, b) in enumerate(zip(fast, slow, strict=True)):
        np.testing.assert_array_equal(a.samples, b.samples)
        assert a.position == b.position
        assert b.t == pytest.approx(1000 + (i + 1) * 0.01, abs=1e-9)
    assert slow_source.paced
    assert slow_source.overruns == 0


def test_real_time_waits_no_longer_than_it_was_told(path: Path) -> None:
    path.write_bytes(wav())
    clock = FakeClock()
    source = WavSource(path, clock=clock, sleep=clock.advance)
    source.start()
    assert source.read(timeout=0.004) is None
    assert source.read(timeout=0.004) is None
    assert source.read(timeout=0.004) is not None
    assert clock.now == pytest.approx(1000.01)


def test_a_reader_that_stood_still_gets_the_backlog_and_loses_only_what_is_too_old(
    path: Path,
) -> None:
    path.write_bytes(wav(np.tile(TONE, 60).tobytes()))
    clock = FakeClock()
    source = WavSource(path, clock=clock, sleep=clock.advance)
    source.start()
    source.read()
    clock.advance(5)
    assert source.read().position == 160  # type: ignore[union-attr]
    assert source.overruns == 0
    clock.advance(15)
    frame = source.read()
    assert frame is not None
    assert source.overruns == pytest.approx(1_000, abs=2)
    assert frame.position == 160 * (source.overruns + 2)
    assert clock.now - frame.t <= 10


@pytest.mark.parametrize("value", [0, 700])
def test_a_file_without_any_signal_says_so_at_its_end(path: Path, value: int) -> None:
    path.write_bytes(wav(np.full(16_000, value, "<i2").tobytes()))
    told: list[tuple[str, str, str]] = []
    source = WavSource(path, realtime=False)
    source.on_trouble = lambda *what: told.append(what)
    assert len(list(frames(source))) > 0
    assert [t[0] for t in told] == ["audio.no_signal"]


def test_stop_ends_reading_and_can_be_called_twice(path: Path) -> None:
    path.write_bytes(wav())
    source = WavSource(path, realtime=False)
    source.start()
    source.read()
    source.stop()
    source.stop()
    with pytest.raises(EOFError):
        source.read()
    assert len(list(frames(source))) == 50 + 200, "it can be started again"


def read_or_refuse(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        reader = SoundReader(path)
    except InputFileError:
        return
    for block, _ in zip(reader.blocks(), range(50), strict=False):
        assert np.isfinite(block).all()
        assert block.shape[1] == reader.channels
    reader.close()


FUZZ = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FUZZ
@given(st.binary(max_size=300))
def test_random_bytes_never_crash(tmp_path: Path, content: bytes) -> None:
    read_or_refuse(tmp_path / "fuzz.wav", content)
    read_or_refuse(tmp_path / "fuzz.wav", b"RIFF\x00\x10\x00\x00WAVE" + content)


@FUZZ
@given(
    st.lists(st.tuples(st.integers(0, 79), st.integers(0, 255)), max_size=8),
    st.integers(0, 300),
    st.booleans(),
)
def test_broken_headers_never_crash(
    tmp_path: Path, changes: list[tuple[int, int]], cut: int, extensible: bool
) -> None:
    content = bytearray(wav(TONE[:100].tobytes(), extensible=extensible))
    for at, value in changes:
        content[at] = value
    read_or_refuse(tmp_path / "fuzz.wav", bytes(content[: max(1, cut)]))
    read_or_refuse(tmp_path / "fuzz.wav", bytes(content))
