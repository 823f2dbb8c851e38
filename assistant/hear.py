"""``assistant hear``: audio files as the microphone, through the whole pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from assistant.assembly import Assembly
from assistant.audio.clocked_sink import NullSink
from assistant.audio.sound_reader import SoundReader
from assistant.audio.wavfile import WavSource
from assistant.report import Record, TurnRecorder


def hear(
    assembly: Assembly,
    files: Sequence[Path],
    *,
    use_wake: bool,
    realtime: bool,
    audio_dir: Path | None,
    done: Callable[[Record], None],
    stop: threading.Event,
) -> None:
    """Runs each file through the pipeline; ``done`` gets one record per turn.

    Raises InputFileError for a file that cannot be read, before anything is heard.
    """
    sources = [
        WavSource(
            path,
            realtime=realtime,
            channel=assembly.cfg.audio.input.channel,
            gain_db=assembly.cfg.audio.input.gain_db,
        )
        for path in files
    ]
    for path in files:
        SoundReader(path).close()
    assembly.load()
    for path, source in zip(files, sources, strict=True):
        if stop.is_set():
            return
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
