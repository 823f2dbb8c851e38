"""``assistant hear``: audio files as the microphone, through the whole pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from assistant.assembly import Assembly
from assistant.audio.clocked_sink import NullSink
from assistant.audio.sound_reader import SoundReader
from assistant.audio.wavfile import WavSource
from assistant.errors import InputFileError
from assistant.report import Record, TurnRecorder


def hear(
    assembly: Assembly,
    files: Sequence[Path],
    *,
    use_wake: bool,
    realtime: bool,
    channel: int,
    audio_dir: Path | None,
    done: Callable[[Record], None],
    stop: threading.Event,
) -> None:
    """Runs each file through the pipeline; ``done`` gets one record per turn.

    channel: the one with the speech, from 1; 0 takes the configured one where a file has it.

    Raises InputFileError for a file that cannot be read, before anything is heard, after
    one whose answer could not be written, and after all files for those that hold no signal.
    """
    sources = [_source(assembly, path, realtime, channel) for path in files]
    assembly.load()
    for trouble in assembly.troubles:
        assembly.bus.emit(trouble)
    silent: list[str] = []
    for path, source in zip(files, sources, strict=True):
        if stop.is_set():
            return
        source.on_trouble = lambda code, message, hint: silent.append(message)
        recorder = TurnRecorder(
            done, file=str(path), audio_dir=audio_dir, stem=f"{path.stem}-answer"
        )
        unsubscribe = assembly.bus.subscribe(recorder)
        try:
            pipeline = assembly.pipeline(
                source,
                NullSink(realtime=realtime),
                use_wake=use_wake,
                record=recorder.record if audio_dir is not None else None,
            )
            pipeline.run(stop)
        finally:
            unsubscribe()
        if recorder.failure is not None:
            raise recorder.failure
    if silent:
        raise InputFileError("audio.no_signal", " ".join(silent), "Record it again.")


def _source(assembly: Assembly, path: Path, realtime: bool, channel: int) -> WavSource:
    cfg = assembly.cfg.audio.input
    reader = SoundReader(path)
    reader.close()
    if not channel and cfg.channel <= reader.channels:
        channel = cfg.channel
    return WavSource(path, realtime=realtime, channel=channel, gain_db=cfg.gain_db)
