"""Models, permissions, the state database and the running service."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from assistant import models
from assistant.config import Config
from assistant.dialogue.llm import cache_size
from assistant.doctor.check import Check
from assistant.errors import AssistantError
from assistant.state import FILE_NAME, default_dir

_ASR_MODELS = {"moonshine": "moonshine-tiny-en", "whisper": "whisper-tiny-en"}
_NO_HOME_HINT = "Set service.state_dir and service.models_dir."


def check(cfg: Config, *, full: bool, running: int | None) -> Iterator[Check]:
    """All of them; full: compute the checksums of the models."""
    yield from model_files(cfg, full=full)
    if cfg.llm.enabled:
        yield from conversation(cfg)
    yield permissions(cfg)
    yield state(cfg)
    detail = "It is not running." if running is None else f"It is running (process {running})."
    yield Check("service", True, detail)


def needed_models(cfg: Config) -> list[str]:
    """Names or paths of the models that the settings call for."""
    names = []
    if cfg.llm.enabled:
        names.append(cfg.llm.model)
    if cfg.wake.backend == "microwakeword":
        names += [word if "/" in word else f"wake-{word}" for word in cfg.wake.words]
    if cfg.vad.backend == "silero":
        names.append("silero-vad")
    names.append(cfg.asr.model or _ASR_MODELS.get(cfg.asr.backend, ""))
    if cfg.tts.backend == "piper":
        names.append(cfg.tts.voice)
    return [name for name in names if name]


def conversation(cfg: Config) -> Iterator[Check]:
    """Which KV cache holds the conversation, and what it saves; nothing without a model."""
    place = model_folder(cfg)
    try:
        models.path_of(cfg.llm.model, place)
    except AssistantError:
        return  # told with the model files
    mode = cfg.llm.kv.mode
    try:
        size = cache_size(cfg.llm, place)
    except AssistantError as exc:
        yield Check.failed("conversation", exc)
        return
    detail = f"The KV cache is {mode}; {size.n_tokens} tokens take {size.bytes / 1e6:.1f} MB"
    if mode != "fp16":
        detail += f" instead of {size.bytes_fp16 / 1e6:.1f} MB, {100 * size.saved:.0f} % less"
    yield Check("conversation", True, f"{detail}.")


def model_files(cfg: Config, *, full: bool) -> Iterator[Check]:
    """One check per needed model."""
    place = model_folder(cfg)
    known = {row["name"] for row in models.list_models(place)} if place else set()
    for name in needed_models(cfg):
        title = f"model {name}"
        try:
            path = models.path_of(name, place)
        except AssistantError as exc:
            yield Check.failed(title, exc)
            continue
        if not full or name not in known:
            yield Check(title, True, f"{path}")
            continue
        (row,) = models.verify_models([name], place)
        if row["ok"]:
            yield Check(title, True, f"{path}, checksum right")
        else:
            hint = f"Run `assistant models fetch {name}`."
            yield Check(title, False, " ".join(row["problems"]), hint)
    if cfg.asr.backend == "vosk" and not cfg.asr.model:
        hint = "Set asr.model to the folder of a Vosk model."
        yield Check("model vosk", False, "The backend vosk has no model of its own.", hint)


def permissions(cfg: Config, devices: Path = Path("/dev/snd")) -> Check:
    """May this user open the sound card and write the state?"""
    folder = state_folder(cfg)
    if folder is None:
        return Check("permissions", False, "There is no folder for the state.", _NO_HOME_HINT)
    try:
        with tempfile.TemporaryFile(dir=existing_parent(folder)):
            pass
    except OSError as exc:
        hint = f"Correct its owner: sudo chown -R $USER {folder}"
        return Check("permissions", False, f"{folder} cannot be written: {exc.strerror}.", hint)
    nodes = sorted(devices.glob("pcm*"))
    shut = [node.name for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if (
        shut
        and len(shut) == len(nodes)
        and "sounddevice"
        in (
            cfg.audio.input.backend,
            cfg.audio.output.backend,
        )
    ):
        hint = "Add the user to the group audio: sudo usermod -aG audio $USER, then log in again."
        return Check("permissions", False, "This user may not use the sound card.", hint)
    return Check("permissions", True, f"{folder} can be written.")


def state(cfg: Config) -> Check:
    """Looks into the database without changing it."""
    folder = state_folder(cfg)
    if folder is None:
        return Check("state", False, "There is no folder for the state.", _NO_HOME_HINT)
    path = folder / FILE_NAME
    if not path.exists():
        return Check("state", True, "Nothing is kept yet.")
    hint = "Stop the service and move the file away; timers in it are lost."
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            answer = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as exc:
        return Check("state", False, f"{path} cannot be read: {exc}.", hint)
    if answer != "ok":
        return Check("state", False, f"{path} is damaged: {answer}.", hint)
    return Check("state", True, f"{path} is whole.")


def state_folder(cfg: Config) -> Path | None:
    """None when nothing is set and there is no home."""
    try:
        return default_dir(cfg.service)
    except AssistantError:
        return None


def model_folder(cfg: Config) -> Path | None:
    """None when nothing is set and there is no home."""
    try:
        return models.models_dir(cfg.service.models_dir)
    except AssistantError:
        return None


def existing_parent(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    for place in (folder, *folder.absolute().parents):
        if place.is_dir():
            return place
    return Path("/")
