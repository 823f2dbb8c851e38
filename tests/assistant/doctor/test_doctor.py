from __future__ import annotations

import argparse
import json
import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assistant import doctor
from assistant.config import Config, KvConfig, load
from assistant.doctor import Check, Edges, machine, store
from assistant.service import instance_lock
from assistant.state import FILE_NAME, State
from tests.assistant.doctor.test_sound import edges
from tests.kvquant.tiny_model import write_tiny


@pytest.fixture
def cfg(tmp_path: Path) -> Config:
    places = (
        f"service.state_dir={tmp_path / 'state'}",
        f"service.models_dir={tmp_path / 'models'}",
    )
    return load(None, places, {})


def named(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_report_has_every_subject(cfg: Config, tmp_path: Path) -> None:
    found = named(doctor.run(cfg, edges=edges()))
    for name in ("settings", "python", "packages", "processor", "memory", "clock", "disk"):
        assert name in found
    for name in ("permissions", "state", "service", "microphone level", "speaker"):
        assert name in found
    assert [p.name for p in tmp_path.iterdir()] == [], "it changed something"


def test_json_has_the_four_keys_and_human_text_has_the_same(
    cfg: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    args = argparse.Namespace(record=None, full=False, config=None, json=True)
    code = doctor.command(cfg, args, edges())
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"checks"}
    assert all(set(check) == {"name", "ok", "detail", "hint"} for check in report["checks"])
    assert code == (0 if all(check["ok"] for check in report["checks"]) else 3)
    args.json = False
    assert doctor.command(cfg, args, edges()) == code
    out = capsys.readouterr().out
    assert all(check["name"] in out for check in report["checks"])


def test_text_marks_faults_and_remarks() -> None:
    checks = [
        Check("a", True, "Good."),
        Check("bb", True, "Fine.", "But look."),
        Check("ccc", False, "Broken.", "Mend it."),
    ]
    assert doctor.text(checks).splitlines() == [
        "ok    a    Good.",
        "note  bb   Fine.",
        "           -> But look.",
        "FAIL  ccc  Broken.",
        "           -> Mend it.",
        "1 of 3 checks failed.",
    ]


@pytest.mark.parametrize(
    ("bad", "code"),
    [((), 0), (("microphone",), 3), (("model x",), 3), (("clock",), 4), (("disk", "speaker"), 3)],
)
def test_exit_code(bad: tuple[str, ...], code: int) -> None:
    names = ("microphone", "speaker", "model x", "clock", "disk")
    assert doctor.exit_code([Check(n, n not in bad, "") for n in names]) == code


def test_missing_models_are_named_with_what_to_run(cfg: Config) -> None:
    found = named(list(store.model_files(cfg, full=False)))
    llm = found["model smollm2-135m-instruct"]
    assert not llm.ok
    assert "assistant models fetch" in llm.hint


def test_truncated_model(cfg: Config, tmp_path: Path) -> None:
    place = tmp_path / "models" / "en_US-joe-medium"
    place.mkdir(parents=True)
    (place / "en_US-joe-medium.onnx").write_bytes(bytes(1000))
    found = named(list(store.model_files(cfg, full=False)))
    assert "is cut off (1,000 of 63,201,294 bytes)" in found["model en_US-joe-medium"].detail


def test_checksums_are_computed_when_asked(cfg: Config, tmp_path: Path) -> None:
    place = tmp_path / "models" / "silero-vad"
    place.mkdir(parents=True)
    with (place / "ggml-silero-v6.2.0.bin").open("wb") as f:
        f.truncate(885_098)
    quick = named(list(store.model_files(cfg, full=False)))["model silero-vad"]
    full = named(list(store.model_files(cfg, full=True)))["model silero-vad"]
    assert quick.ok
    assert not full.ok
    assert "wrong checksum" in full.detail


def test_models_follow_the_settings() -> None:
    told = "llm.enabled=false wake.words=alexa,okay_nabu asr.backend=whisper vad.backend=energy"
    chosen = load(None, (*told.split(), "tts.backend=none"), {})
    assert store.needed_models(chosen) == ["wake-alexa", "wake-okay_nabu", "whisper-tiny-en"]


def test_vosk_needs_a_model(cfg: Config) -> None:
    vosk = cfg.model_copy(update={"asr": cfg.asr.model_copy(update={"backend": "vosk"})})
    assert "asr.model" in named(list(store.model_files(vosk, full=False)))["model vosk"].hint


def test_missing_optional_package_names_its_extra(
    cfg: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_installed", lambda name: name != "faster-whisper")
    assert machine.packages(cfg).ok
    whisper = cfg.model_copy(update={"asr": cfg.asr.model_copy(update={"backend": "whisper"})})
    check = machine.packages(whisper)
    assert not check.ok
    assert "[whisper]" in check.hint


@pytest.mark.parametrize(("year", "ok"), [(1970, False), (2000, False), (2026, True)])
def test_clock_that_was_never_set(year: int, ok: bool) -> None:
    world = Edges(now=lambda: datetime(year, 5, 17, 12, 30, tzinfo=UTC))
    check = machine.clock(world)
    assert check.ok is ok
    assert f"{year}-05-17 12:30 (UTC)" in check.detail


def test_synchronised_clock(tmp_path: Path) -> None:
    marker = tmp_path / "synchronized"
    marker.touch()
    world = Edges(now=lambda: datetime(2026, 5, 17, tzinfo=UTC))
    assert machine.clock(world, marker).detail.endswith("It is synchronised.")


def test_heat_and_weak_power_supply(tmp_path: Path) -> None:
    heat, flags = tmp_path / "temp", tmp_path / "throttled"
    assert machine.power(heat, flags).hint == ""
    heat.write_text("84500\n")
    flags.write_text("50005\n")
    check = machine.power(heat, flags)
    assert "84 degrees" in check.detail
    assert "slows down" in check.hint
    assert "too weak right now" in check.hint


def test_little_memory(tmp_path: Path) -> None:
    info = tmp_path / "meminfo"
    info.write_text("MemTotal: 948000 kB\nMemFree: 1 kB\nMemAvailable: 102400 kB\n")
    check = machine.memory(info)
    assert (check.ok, check.detail) == (False, "100 of 925 MB are available.")
    info.write_text("nonsense")
    assert machine.memory(info).ok


def test_full_disk(cfg: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LOW_DISK_MB", 10**12)
    check = machine.disk(cfg)
    assert not check.ok
    assert "Make room" in check.hint


def test_native_engine_that_is_required_but_absent(
    cfg: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert machine.processor(cfg).ok
    native = cfg.model_copy(update={"llm": cfg.llm.model_copy(update={"backend": "native"})})
    assert not machine.processor(native).ok


def with_cache(cfg: Config, model: Path, **kv: Any) -> Config:
    llm = {"model": str(model), "context": 512, "kv": KvConfig(**kv)}
    return cfg.model_copy(update={"llm": cfg.llm.model_copy(update=llm)})


def test_the_cache_of_the_conversation(cfg: Config, tmp_path: Path) -> None:
    assert list(store.conversation(cfg)) == [], "its model is not there, which is told elsewhere"
    model = write_tiny(tmp_path / "tiny.gguf")
    (check,) = store.conversation(with_cache(cfg, model))
    assert check.ok
    assert "fp16; 512 tokens take" in check.detail
    (check,) = store.conversation(with_cache(cfg, model, mode="static4"))
    assert check.ok
    saved = re.search(r"(\d+) % less", check.detail)
    assert saved is not None
    # Four of sixteen bits and what stands beside them; the window is not saved.
    assert 60 < int(saved[1]) < 75


def test_a_controller_that_is_not_there(cfg: Config, tmp_path: Path) -> None:
    model = write_tiny(tmp_path / "tiny.gguf")
    absent = str(tmp_path / "none.bin")
    (check,) = store.conversation(with_cache(cfg, model, mode="adaptive", controller=absent))
    assert not check.ok
    assert "none.bin" in check.detail


def test_state_database_is_looked_at_and_not_touched(cfg: Config, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    assert store.state(cfg).detail == "Nothing is kept yet."
    kept = State(folder / FILE_NAME)
    kept.set("volume", 40)
    kept.close()
    assert store.state(cfg).ok
    damaged = b"no database at all" * 300
    (folder / FILE_NAME).write_bytes(damaged)
    check = store.state(cfg)
    assert not check.ok
    assert FILE_NAME in check.detail
    assert (folder / FILE_NAME).read_bytes() == damaged


def test_damaged_pages_are_found(cfg: Config, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    path = folder / FILE_NAME
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
        db.executemany("INSERT INTO t VALUES (?)", [("y" * 900,) for _ in range(100)])
    db.close()
    raw = bytearray(path.read_bytes())
    raw[4096 * 3 : 4096 * 6] = b"\xa5" * (4096 * 3)
    path.write_bytes(raw)
    assert not store.state(cfg).ok


def test_state_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cfg = load(None, (f"service.state_dir={tmp_path / 'file' / 'state'}",), {})
    assert store.existing_parent(tmp_path / "file" / "state") == tmp_path
    assert isinstance(store.permissions(cfg), Check)


def test_running_service_is_named(cfg: Config, tmp_path: Path) -> None:
    with instance_lock(tmp_path / "state"):
        found = named(doctor.run(cfg, edges=edges()))
    assert "running (process" in found["service"].detail
    found = named(doctor.run(cfg, edges=edges()))
    assert found["service"].detail == "It is not running."


def test_without_a_home_the_report_still_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "STATE_DIRECTORY", "ASSISTANT_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    found = named(doctor.run(Config(), edges=edges()))
    assert not found["state"].ok
    assert "service.state_dir" in found["permissions"].hint
