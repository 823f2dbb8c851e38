"""Settings that are right by themselves but not together."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.config_check import Fault
from assistant.config_home import as_paths, home_faults
from assistant.config_yaml import KeyPath

if TYPE_CHECKING:
    from assistant.config import Config

_PLACE = re.compile(r"(?:file|dir|folder|^sentences|^head|^taught|^keep_\w+)$")
"""Keys whose value is a file or a folder."""


def contradictions(cfg: Config) -> Iterator[tuple[list[KeyPath], Fault]]:
    """Keys that are right by themselves but not together: (the keys, what to tell)."""

    def fault(text: str, *keys: str) -> tuple[list[KeyPath], Fault]:
        paths: list[KeyPath] = [tuple(key.split(".")) for key in keys]
        return paths, Fault(paths[0], text)

    source, sink, turn = cfg.audio.input, cfg.audio.output, cfg.turn
    for side, device in (("input", source), ("output", sink)):
        if device.backend == "wav" and not device.file:
            yield fault(
                "the backend wav needs a file", f"audio.{side}.file", f"audio.{side}.backend"
            )
        if device.device.isdecimal():
            yield fault(
                f'"{device.device}" is the number of a device, which changes from start to start; '
                "give a part of its name, as `assistant doctor` lists it",
                f"audio.{side}.device",
            )
    if source.backend == sink.backend == "wav" and source.file and source.file == sink.file:
        yield fault("it would overwrite audio.input.file", "audio.output.file", "audio.input.file")
    if cfg.wake.backend != "none" and not cfg.wake.words:
        yield fault("at least one wake word is needed", "wake.words", "wake.backend")
    for name, settings in cfg.skills.own.items():
        if not isinstance(settings.get("enabled", True), bool):
            said = str(settings["enabled"])
            shown = said if len(said) <= 40 else f"{said[:40]}..."
            key = f"skills.own.{name}.enabled"
            yield fault(f'"{shown}" is not allowed; give true or false', key)
    for word in cfg.wake.thresholds:
        if word not in cfg.wake.words:
            yield fault(
                f"{word} is not one of wake.words ({', '.join(cfg.wake.words)})",
                f"wake.thresholds.{word}",
                "wake.words",
            )
    if cfg.vad.end_threshold > cfg.vad.start_threshold:
        yield fault(
            f"{cfg.vad.end_threshold} is above vad.start_threshold ({cfg.vad.start_threshold}), "
            "so speech would end at once",
            "vad.end_threshold",
            "vad.start_threshold",
        )
    ordered = (
        "complete_silence_ms",
        "end_silence_ms",
        "long_silence_ms",
        "unfinished_silence_ms",
        "max_speech_ms",
    )
    for shorter, longer in itertools.pairwise(ordered):
        if getattr(turn, shorter) > getattr(turn, longer):
            yield fault(
                f"{getattr(turn, shorter)} is longer than turn.{longer} ({getattr(turn, longer)})",
                f"turn.{shorter}",
                f"turn.{longer}",
            )
    if cfg.dialogue.max_tokens > cfg.llm.context // 2:
        yield fault(
            f"{cfg.dialogue.max_tokens} is more than half of llm.context ({cfg.llm.context}), "
            "so no room is left for the question",
            "dialogue.max_tokens",
            "llm.context",
        )
    kv = cfg.llm.kv
    if kv.mode != "fp16" and kv.window + kv.sinks > cfg.llm.context // 2:
        yield fault(
            f"{kv.window} and llm.kv.sinks ({kv.sinks}) are more than half of llm.context "
            f"({cfg.llm.context}), so nothing is left to store in fewer bits",
            "llm.kv.window",
            "llm.context",
        )
    if kv.controller is not None and kv.mode != "adaptive":
        yield fault(
            f"a controller file is used only when llm.kv.mode is adaptive, not {kv.mode}",
            "llm.kv.controller",
            "llm.kv.mode",
        )
    if kv.key_layout != "rotated" and kv.mode == "fp16":
        yield fault(
            f"keys are stored {kv.key_layout} only in fewer bits, not when llm.kv.mode is fp16",
            "llm.kv.key_layout",
            "llm.kv.mode",
        )
    for path, text in _commands(cfg.understand.commands):
        yield [path], Fault(path, text)
    for keys, text in home_faults(cfg.home):
        paths = as_paths(keys)
        yield paths, Fault(paths[0], text)
    for path, name in _homeless(cfg.model_dump()):
        yield [path], Fault(path, f'there is no home folder for "{name}"; write the whole path')


def _homeless(section: Mapping[str, Any], above: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Files and folders in a home folder that is not there."""
    for key, value in section.items():
        if isinstance(value, Mapping) and key != "own":
            yield from _homeless(value, (*above, key))
        elif isinstance(value, str) and value.startswith("~") and _PLACE.search(key):
            try:
                Path(value).expanduser()
            except RuntimeError:
                yield (*above, key), value


def _commands(commands: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[KeyPath, str]]:
    """What cannot be said, and what would have two answers."""
    taken: dict[str, str] = {}
    for answer, sentences in commands.items():
        path: KeyPath = ("understand", "commands", answer)
        if not any(char.isalnum() for char in answer):
            yield path, "the answer has no word that could be spoken"
        if not sentences:
            yield path, "at least one sentence is needed"
        for sentence in sentences:
            words = " ".join(re.findall(r"\w+", sentence.casefold()))
            if not words:
                yield path, f'"{sentence}" has no word that could be heard'
            elif taken.setdefault(words, answer) != answer:
                yield path, f'"{sentence}" already has the answer "{taken[words]}"'
