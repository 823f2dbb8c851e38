"""Devices and levels: capture and playback are looked at apart."""

from __future__ import annotations

import os
import time
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from assistant.audio.base import SAMPLE_RATE, AudioSource, Pcm
from assistant.audio.devices import DeviceInfo, Direction, find_device
from assistant.config import Config
from assistant.doctor.check import Check, Edges
from assistant.doctor.levels import Levels, judge, measure
from assistant.errors import AssistantError, DeviceError, InputFileError

LISTEN_S = 1.0
SETTLE_S = 0.3
"""Many microphones begin with a crack; it is not judged."""

PATIENCE_S = 5.0
"""How much longer than the recording itself the wait for it may be."""


def check(cfg: Config, edges: Edges, running: int | None) -> Iterator[Check]:
    """running: process number of a service that may hold the devices; None when none runs."""
    uses_devices = "sounddevice" in (cfg.audio.input.backend, cfg.audio.output.backend)
    devices: list[DeviceInfo] = []
    if uses_devices:
        try:
            devices = edges.list_devices()
            names = ", ".join(dict.fromkeys(d.name for d in devices)) or "no device"
            yield Check("sound system", True, f"PortAudio lists {names}.")
        except AssistantError as exc:
            yield Check.failed("sound system", exc)
            return
    yield from _microphone(cfg, edges, devices, running)
    yield from _speaker(cfg, edges, devices, running)


def _microphone(
    cfg: Config, edges: Edges, devices: list[DeviceInfo], running: int | None
) -> Iterator[Check]:
    wanted = cfg.audio.input
    if wanted.backend == "sounddevice":
        found = _device("microphone", devices, wanted.device, "input")
        if found.ok:
            channel = f"channel {wanted.channel}" if wanted.channel else "the mean of all channels"
            found = Check(found.name, True, f"{found.detail} The assistant hears {channel}.")
        yield found
        if not found.ok:
            return
    else:
        yield Check("microphone", True, f"The file {wanted.file} is heard in its place.")
    try:
        samples = record(edges.create_source(wanted), SETTLE_S + LISTEN_S)
    except AssistantError as exc:
        if running is not None and isinstance(exc, DeviceError):
            detail = f"Not measured: the running service (process {running}) uses the microphone."
            hint = "Stop it to measure: sudo systemctl stop assistant"
            yield Check("microphone level", True, detail, hint)
            return
        yield Check.failed("microphone level", exc)
        return
    settled = samples[round(SETTLE_S * SAMPLE_RATE) :]
    yield judge("microphone level", measure(settled if len(settled) else samples))


def _speaker(
    cfg: Config, edges: Edges, devices: list[DeviceInfo], running: int | None
) -> Iterator[Check]:
    wanted = cfg.audio.output
    if wanted.backend != "sounddevice":
        place = f"into the file {wanted.file}" if wanted.backend == "wav" else "nowhere"
        yield Check("speaker", True, f"Answers go {place} (audio.output.backend).")
        return
    found = _device("speaker", devices, wanted.device, "output")
    if found.ok:
        try:
            sink = edges.create_sink(wanted)
            try:
                sink.start()
            finally:
                sink.stop()
        except AssistantError as exc:
            if running is None or not isinstance(exc, DeviceError):
                found = Check.failed("speaker", exc)
    yield found


def _device(name: str, devices: list[DeviceInfo], wanted: str, direction: Direction) -> Check:
    try:
        device = find_device(devices, wanted, direction)
    except AssistantError as exc:
        return Check.failed(name, exc)
    count = device.channels(direction)
    channels = f"{count} channel{'s' * (count != 1)}"
    return Check(name, True, f"{device.name}, {device.default_rate} Hz, {channels}.")


def record(source: AudioSource, seconds: float, heard: Callable[[Pcm], None] | None = None) -> Pcm:
    """The next ``seconds`` of a source (a file may give less), int16 at 16 kHz, shape (n,).

    heard: gets each frame as it comes.
    Raises DeviceError when the source opens but delivers nothing, and what it raises itself.
    """
    parts: list[Pcm] = []
    needed = round(seconds * SAMPLE_RATE)
    count = 0
    source.start()
    try:
        deadline = time.monotonic() + seconds + PATIENCE_S
        while count < needed and time.monotonic() < deadline:
            try:
                frame = source.read(0.2)
            except EOFError:
                break
            if frame is None:
                continue
            parts.append(frame.samples)
            count += len(frame.samples)
            if heard is not None:
                heard(frame.samples)
    finally:
        source.stop()
    if not parts:
        raise DeviceError(
            "audio.no_sound",
            f"The microphone was opened, but gave nothing within {seconds + PATIENCE_S:.0f} s.",
            "Unplug it and plug it in again; try another rate in audio.input.rate.",
        )
    return np.concatenate(parts)[:needed]


def record_to_file(
    source: AudioSource, path: Path, seconds: float, heard: Callable[[Pcm], None] | None = None
) -> tuple[Check, Levels]:
    """Records into a WAV file that only its owner can read; what it holds.

    Raises InputFileError when the file cannot be written, DeviceError.
    """
    fresh = not path.exists()
    try:
        # Tried first: nobody wants to speak for five seconds and then hear that it is read-only.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as exc:
        raise InputFileError(
            "doctor.file", f"The file {path} cannot be written: {exc.strerror}."
        ) from exc
    with os.fdopen(descriptor, "wb") as file:
        try:
            samples = record(source, seconds, heard)
        except BaseException:
            if fresh:
                path.unlink()
            raise
        file.truncate()
        with wave.open(file, "wb") as wav:
            wav.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
            wav.writeframes(samples.astype("<i2").tobytes())
    levels = measure(samples)
    return judge("recording", levels), levels
