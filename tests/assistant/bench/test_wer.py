from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant import cli, config
from assistant.bench import wer
from assistant.errors import InputFileError
from tests.assistant import clips
from tests.assistant.bench.sounds import arguments, folder


def test_people_s_words(tmp_path: Path) -> None:
    clips.model("moonshine-tiny-en")
    rows = [r for r in clips.rows("librispeech") if r["text"]][:2]
    data = folder(
        tmp_path,
        *((clips.recording("librispeech", r), {"text": r["text"]}) for r in rows),
        (clips.spoken("Set a timer for ten minutes."), {"text": None}),
        (clips.silence(1), {}),
    )
    row = wer.run(config.load(None), arguments(data))
    assert (row["what"], row["n"], row["untexted"], row["untexted_heard"]) == ("wer", 2, 2, 1)
    assert row["words"] == sum(len(r["text"].split()) for r in rows)
    assert row["wer"] < 0.3
    assert row["accuracy"] == 1 - len(row["wrong"]) / 2
    assert set(row["ms"]) == {"p50", "p95", "p99"}
    assert "word error rate" in wer.table(row)


def test_noise_over_it_is_heard_worse(tmp_path: Path) -> None:
    clips.model("moonshine-tiny-en")
    text = "The quick brown fox jumps over the lazy dog."
    data = folder(tmp_path / "data", (clips.spoken(text), {"text": text}))
    noise = folder(tmp_path / "noise", (clips.noise(3, 2000), {})) / "0.wav"
    clean = wer.run(config.load(None), arguments(data))
    noisy = wer.run(config.load(None), arguments(data, noise=noise, snr=-15.0))
    assert clean["wer"] < noisy["wer"]
    assert (noisy["noise"], noisy["snr"], clean["snr"]) == ("0.wav", -15.0, None)


def test_wrong_data_and_missing_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = folder(tmp_path, (clips.noise(1, 500), {"text": 5}))
    with pytest.raises(InputFileError, match="is no text"):
        wer.run(config.load(None), arguments(data))
    assert cli.main(["bench", "wer", "--data", str(data)]) == 2
    assert cli.main(["bench", "wer"]) == 2
    folder(tmp_path, (clips.noise(1, 500), {"text": "a"}))
    empty = f"asr.model={tmp_path}/none"
    assert cli.main(["bench", "wer", "--data", str(data), "--set", empty]) == 3
    out, err = capsys.readouterr()
    assert not out
    assert err.count("assistant: ") == 3


def test_the_row_is_one_line_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips.model("moonshine-tiny-en")
    data = folder(tmp_path, (clips.silence(1), {"text": "nobody heard this"}))
    assert cli.main(["bench", "wer", "--json", "--set", "rooms", "--data", str(data)]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["set"], row["wer"], row["accuracy"]) == ("rooms", 1.0, 0.0)
