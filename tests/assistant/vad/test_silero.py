from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from assistant import vad
from assistant.audio.base import Pcm
from assistant.config import TurnConfig, VadConfig
from assistant.errors import ModelError
from assistant.vad.energy import EnergyVad
from assistant.vad.level import level_db
from assistant.vad.segmenter import Segmenter
from assistant.vad.silero import SileroVad
from tests.assistant import clips


@pytest.fixture(scope="module")
def loaded() -> SileroVad:
    made = SileroVad(clips.model("silero-vad"))
    made.load()
    return made


@pytest.fixture
def silero(loaded: SileroVad) -> SileroVad:
    loaded.reset()
    return loaded


def probabilities(detector: SileroVad, sound: Pcm) -> list[float]:
    return [detector.process(frame) for frame in clips.frames(sound)]


def decisions(detector: SileroVad, sound: Pcm, cfg: TurnConfig) -> tuple[Segmenter, list[str], int]:
    """Kinds of decisions, and milliseconds at which the turn ended (-1: not at all)."""
    segmenter = Segmenter(cfg, VadConfig())
    segmenter.start(0)
    kinds = []
    for i, frame in enumerate(clips.frames(sound)):
        decision = segmenter.feed(detector.process(frame), i * 160, level_db(frame))
        if decision is not None:
            kinds.append(decision.kind)
            if decision.kind == "ended":
                return segmenter, kinds, decision.position // 16
    return segmenter, kinds, -1


def test_create() -> None:
    assert isinstance(vad.create(VadConfig(backend="energy")), EnergyVad)
    clips.model("silero-vad")
    assert isinstance(vad.create(VadConfig()), SileroVad)


def test_speech_and_silence(silero: SileroVad) -> None:
    found = probabilities(silero, clips.join([clips.silence(1), clips.bundled("beckett.wav")], 5))
    assert max(found[:95]) < 0.4
    assert max(found[100:300]) > 0.9


@pytest.mark.parametrize("kind", ["white", "fan", "hum"])
def test_noise_is_no_speech(silero: SileroVad, kind: str) -> None:
    found = probabilities(silero, clips.noise(5, 500, kind))
    assert sum(p > 0.5 for p in found) < 0.02 * len(found)


def test_frames_of_any_size_give_the_same(silero: SileroVad) -> None:
    sound = clips.bundled("beckett.wav")[: 160 * 320]
    last = probabilities(silero, sound)[-1]
    silero.reset()
    begin = 0
    for size in [1, 511, 513, 3000, 160] * 30:
        value = silero.process(sound[begin : begin + size])
        begin += size
    assert value == pytest.approx(last)


def test_reset_forgets(silero: SileroVad) -> None:
    sound = clips.bundled("beckett.wav")[: 160 * 200]
    first = probabilities(silero, sound)
    silero.process(sound[:77])
    silero.reset()
    assert probabilities(silero, sound) == pytest.approx(first)


def test_it_keeps_to_one_thread() -> None:
    """In a process of its own: the limit is read when the package is loaded."""
    code = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        import numpy as np
        before = len(os.listdir("/proc/self/task"))
        from assistant.vad.silero import SileroVad
        vad = SileroVad(Path(sys.argv[1]))
        vad.load()
        vad.process(np.zeros(16000, np.int16))
        print(len(os.listdir("/proc/self/task")) - before, os.environ.get("OMP_THREAD_LIMIT"))
        """
    )
    if not Path("/proc/self/task").is_dir():
        pytest.skip("threads are counted through /proc")
    environment = {k: v for k, v in os.environ.items() if k != "OMP_THREAD_LIMIT"}
    path = str(clips.model("silero-vad"))
    done = subprocess.run(
        [sys.executable, "-c", code, path],
        cwd=clips.ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert done.stdout.split() == ["0", "None"]


@pytest.mark.parametrize("content", [b"", b"lmgg", b"lmgg" + bytes(300), b"RIFF" + bytes(200_000)])
def test_a_bad_model_is_an_error_and_no_crash(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "silero.bin"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"silero\.bin"):
        SileroVad(path).load()


def test_a_missing_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        SileroVad(tmp_path / "none.bin").load()


def test_use_before_load_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not loaded"):
        SileroVad(tmp_path / "none.bin").process(clips.silence(0.01))


TURN = TurnConfig()


def spoken_end(sound: Pcm, below_db: float = 25.0) -> float:
    """Milliseconds to the last frame that is at most so far below the loudest."""
    levels = [level_db(frame) for frame in clips.frames(sound)]
    loud = [i for i, level in enumerate(levels) if level > max(levels) - below_db]
    return 10.0 * (loud[-1] + 1)


def test_end_of_real_commands(silero: SileroVad) -> None:
    """Nobody is cut short, and the turn ends soon after the set silence."""
    cut, late = [], []
    rows = clips.rows("barista-speech")[::8]
    for row in rows:
        silero.reset()
        command = clips.recording("barista-speech", row)
        end = 400 + spoken_end(command)
        sound = clips.join([clips.silence(0.4), command, clips.silence(2)], 5)
        _, _, at = decisions(silero, sound, TURN)
        if at < end:
            cut.append((row["file"], at - end))
        elif at > end + TURN.end_silence_ms + 250:
            late.append((row["file"], at - end))
    assert not cut
    assert len(late) <= 0.1 * len(rows), late


@pytest.mark.parametrize("kind", ["babble", "music"])
def test_background_does_not_keep_it_listening(silero: SileroVad, kind: str) -> None:
    if kind == "music":
        back = clips.read(clips.data_dir("noise-rir") / "music_vibe_ace.flac")
    else:
        voices = [clips.recording("librispeech", r) for r in clips.rows("librispeech")[60:66]]
        parts = [v[:80_000].astype(float) / v.std() for v in voices]
        back = (sum(parts) * 1000).astype("int16")
    row = clips.rows("barista-speech")[3]
    command = clips.recording("barista-speech", row)
    end = 400 + spoken_end(command)
    clean = clips.join([clips.silence(0.4), command, clips.silence(4)])
    # The ratio holds over the command, not over the silence after it.
    snr = 10 + 10 * float(_log_ratio(len(command), len(clean)))
    _, _, at = decisions(silero, clips.mixed(clean, back, snr), TURN)
    assert 0 < at <= end + TURN.end_silence_ms + 1000


def _log_ratio(part: int, whole: int) -> float:
    import math

    return math.log10(part / whole)


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.3, 1.0])
def test_command_after_the_wake_word(silero: SileroVad, gap: float) -> None:
    """Listening begins about 100 ms after the wake word, in the middle of the sound."""
    wake = clips.spoken("Hey Jarvis!")
    wake = wake[: int(spoken_end(wake, 36.0) * 16)]
    command = clips.spoken("What time is it?")
    begun = len(wake) + 1600
    sound = clips.join([wake, clips.silence(gap), command, clips.silence(2)], 5)[begun:]
    end = spoken_end(sound, 36.0)
    _, kinds, at = decisions(silero, sound, TURN)
    assert kinds[-1] == "ended"
    assert end <= at <= end + TURN.end_silence_ms + 250


@pytest.mark.parametrize("pause", [0.3, 0.8, 1.2])
def test_a_hesitation_is_waited_for_when_the_sentence_is_unfinished(
    silero: SileroVad, pause: float
) -> None:
    first = clips.spoken("Set a timer for")
    rest = clips.spoken("ten minutes.")
    sound = clips.join([first, clips.silence(pause - 0.2), rest, clips.silence(3)], 5)
    segmenter = Segmenter(TURN, VadConfig())
    segmenter.start(0)
    end = spoken_end(sound, 36.0)
    at = -1.0
    for i, frame in enumerate(clips.frames(sound)):
        decision = segmenter.feed(silero.process(frame), i * 160, level_db(frame))
        if decision is not None and decision.kind == "paused":
            before = decision.position / 16 < len(first) / 16 + 1000 * pause
            segmenter.hint = "unfinished" if before else "complete"
        if decision is not None and decision.kind == "ended":
            at = decision.position / 16
    assert end <= at <= end + TURN.complete_silence_ms + 250
