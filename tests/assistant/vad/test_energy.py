from __future__ import annotations

import numpy as np
import pytest

from assistant.audio.base import Pcm
from assistant.vad.energy import EnergyVad
from assistant.vad.level import SILENCE_DB, level_db
from tests.assistant import clips


def probabilities(vad: EnergyVad, sound: Pcm) -> list[float]:
    return [vad.process(frame) for frame in clips.frames(sound)]


@pytest.mark.parametrize("rms", [0, 20, 300])
def test_steady_noise_is_no_speech_after_a_while(rms: float) -> None:
    vad = EnergyVad()
    sound = clips.noise(6, rms) if rms else clips.silence(6)
    assert max(probabilities(vad, sound)[400:]) < 0.3


def test_loud_sound_over_a_quiet_room_is_speech_and_ends() -> None:
    vad = EnergyVad()
    sound = clips.join([clips.noise(1, 20), clips.noise(0.5, 2000), clips.noise(1, 20)])
    found = probabilities(vad, sound)
    assert max(found[:95]) < 0.35
    assert min(found[102:150]) > 0.9
    assert max(found[190:]) < 0.35


def test_finds_spoken_words_after_speech_from_the_first_frame() -> None:
    vad = EnergyVad()
    found = probabilities(
        vad, clips.join([clips.spoken("Turn on the lights."), clips.silence(1)], 8)
    )
    assert max(found[:60]) > 0.9
    assert found[-1] < 0.1


def test_reset_keeps_the_floor_of_the_room() -> None:
    vad = EnergyVad()
    vad.load()
    probabilities(vad, clips.noise(12, 1500))
    vad.reset()
    assert max(probabilities(vad, clips.noise(1, 1500))) < 0.5


def test_levels() -> None:
    assert level_db(clips.silence(0.01)) == SILENCE_DB
    assert level_db(np.full(160, 12_000, dtype=np.int16)) == SILENCE_DB
    assert level_db(np.zeros(0, dtype=np.int16)) == SILENCE_DB
    assert level_db(clips.noise(1, 3276.8)) == pytest.approx(-20.0, abs=0.1)
