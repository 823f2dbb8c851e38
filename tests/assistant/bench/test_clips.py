from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assistant.audio.base import SAMPLE_RATE
from assistant.bench.clips import mixed, read_clips, sound_of, text_of
from assistant.errors import InputFileError
from tests.assistant import clips
from tests.assistant.bench.sounds import folder, write


def test_every_row_of_a_folder_a_manifest_or_folders_of_folders(tmp_path: Path) -> None:
    sound = clips.noise(1, 500)
    one = folder(tmp_path / "one", (sound, {"text": "a"}), (sound, {}))
    folder(tmp_path / "two", (sound, {"phrase": "b"}))
    assert [clip.name for clip in read_clips(one)] == ["one/0.wav", "one/1.wav"]
    assert [clip.name for clip in read_clips(one / "manifest.jsonl", 1)] == ["one/0.wav"]
    every = read_clips(tmp_path)
    assert [clip.row.get("text") for clip in every] == ["a", None, None]
    assert all(clip.path.is_file() for clip in every)


@pytest.mark.parametrize("line", ["{", "{}", "[]", '{"file": 3}', "no json"])
def test_a_wrong_row_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "manifest.jsonl").write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(InputFileError, match=r"Line 2 of .*manifest\.jsonl"):
        read_clips(tmp_path)


def test_no_data_no_manifest_no_rows_no_recording(tmp_path: Path) -> None:
    for place, text in ((tmp_path / "none", "There is no"), (tmp_path, "holds no manifest")):
        with pytest.raises(InputFileError, match=text):
            read_clips(place)
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text("", encoding="utf-8")
    with pytest.raises(InputFileError, match="no recordings"):
        read_clips(tmp_path)
    manifest.write_text(json.dumps({"file": "gone.wav"}), encoding="utf-8")
    with pytest.raises(InputFileError, match=r"gone\.wav is not there"):
        read_clips(tmp_path)
    manifest.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputFileError, match="cannot be read"):
        read_clips(tmp_path)


def test_a_text_is_a_text() -> None:
    assert text_of({"text": "a"}, "text", "x") == "a"
    assert text_of({"text": None}, "text", "x") is None
    with pytest.raises(InputFileError, match="text of x"):
        text_of({"text": 7}, "text", "x")


def test_noise_is_mixed_at_its_level_and_always_the_same() -> None:
    sound, noise = clips.noise(2, 1000, seed=1), clips.noise(3, 50, seed=2)
    over = mixed(sound, noise, 10.0, "a.wav").astype(float) - sound
    ratio = np.mean(sound.astype(float) ** 2) / np.mean(over**2)
    assert 10 * np.log10(ratio) == pytest.approx(10.0, abs=0.1)
    assert np.array_equal(mixed(sound, noise, 10.0, "a.wav"), mixed(sound, noise, 10.0, "a.wav"))
    assert not np.array_equal(mixed(sound, noise, 10.0, "a"), mixed(sound, noise, 10.0, "b"))
    assert np.array_equal(mixed(sound, clips.silence(1), 10.0, "a"), sound)


def test_the_margins_hold_noise_alone_at_the_same_level() -> None:
    sound, noise = clips.noise(2, 1000, seed=1), clips.noise(8, 50, seed=2)
    wide = mixed(sound, noise, 10.0, "a", margin=SAMPLE_RATE).astype(float)
    assert len(wide) == len(sound) + 2 * SAMPLE_RATE
    power = np.mean(wide[:SAMPLE_RATE] ** 2)
    assert 10 * np.log10(np.mean(sound.astype(float) ** 2) / power) == pytest.approx(10, abs=0.3)


def test_sound_of_any_rate(tmp_path: Path) -> None:
    write(tmp_path / "slow.wav", clips.noise(1, 500)[:8000], 8000)
    assert abs(len(sound_of(tmp_path / "slow.wav")) - SAMPLE_RATE) < 100
