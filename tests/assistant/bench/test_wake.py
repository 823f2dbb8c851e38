from __future__ import annotations

from pathlib import Path

import pytest

from assistant import cli, config
from assistant.bench import wake
from assistant.bench.wake import Tally
from assistant.errors import UsageError
from tests.assistant import clips
from tests.assistant.bench.sounds import arguments, folder


def test_hits_misses_and_false_wakes(tmp_path: Path) -> None:
    for word in ("hey_jarvis", "alexa"):
        clips.model(f"wake-{word}")
    jarvis, alexa = clips.spoken("Hey Jarvis."), clips.spoken("Alexa.")
    data = folder(
        tmp_path / "data",
        (jarvis, {"phrase": "hey jarvis"}),
        (clips.noise(1, 300), {"phrase": "Hey Jarvis"}),  # nobody says it
        (alexa, {"phrase": "alexa"}),
        (clips.noise(2, 300), {"phrase": "computer"}),
        (jarvis, {"text": "said by the radio"}),
        (clips.noise(3, 300), {"kind": "rain"}),
    )
    noise = folder(tmp_path / "noise", (clips.noise(3, 500), {})) / "0.wav"
    row = wake.run(config.load(None), arguments(data, noise=noise))
    ours = row["words"]["hey_jarvis"]
    assert (ours["said"], ours["missed"], ours["noisy_missed"]) == (2, 1, 1)
    assert (ours["others"], ours["others_woke"], ours["false"]) == (2, 0, 1)
    assert row["words"]["alexa"]["said"] == 1
    assert row["words"]["alexa"]["missed"] == 0
    assert row["n"] == 6
    assert row["miss_rate"] == pytest.approx(1 / 3, abs=1e-4)
    hours = 2 * (len(jarvis) / 16_000 + 3) / 3600  # for each of the two words
    assert row["hours"] == pytest.approx(hours, abs=1e-4)
    assert row["false_wakes_per_hour"] == pytest.approx(1 / hours, abs=0.01)
    assert "hey_jarvis" in wake.table(row)


def test_what_is_not_there_is_no_zero() -> None:
    row = wake.figures({"a": Tally(said=2, missed=1, noisy_missed=0)})
    assert (row["miss_rate"], row["noisy_miss_rate"], row["accuracy"]) == (0.5, 0.0, 0.5)
    assert row["false_wakes_per_hour"] is None
    row = wake.figures({"a": Tally(hours=0.5, false=1)})
    assert row["miss_rate"] is row["noisy_miss_rate"] is row["accuracy"] is None
    assert row["false_wakes_per_hour"] == 2.0


def test_without_a_detector(tmp_path: Path) -> None:
    data = folder(tmp_path, (clips.noise(1, 300), {}))
    with pytest.raises(UsageError):
        wake.run(config.load(None, ("wake.backend=none",)), arguments(data))
    empty = f"wake.words={tmp_path}/none.tflite"
    assert cli.main(["bench", "wake", "--data", str(data), "--set", empty]) == 3
