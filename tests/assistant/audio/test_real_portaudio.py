"""The real PortAudio over ALSA's software devices, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.assistant.audio.fakes_audio import sine

ALSA = Path("/usr/share/alsa/alsa.conf")

PROGRAM = """
import json, threading
import numpy as np
from assistant.audio.microphone import SoundDeviceSource
from assistant.audio.sounddevice import PortAudio, list_devices
from assistant.audio.speaker import SoundDeviceSink
from assistant.config import InputConfig, OutputConfig

portaudio = PortAudio(hardware=lambda: None)
told = []
source = SoundDeviceSource(InputConfig(device="kitchen"), portaudio)
sink = SoundDeviceSink(OutputConfig(device="Kitchen", rate=48000), portaudio)
source.on_trouble = sink.on_trouble = lambda *what: told.append(what)
source.start()
sink.start()

def hear():
    frames = [source.read(timeout=120) for _ in range(50)]
    return int(max(np.abs(f.samples).max() for f in frames))

begun = threading.Event()
tone = (np.sin(np.arange(4410) / 10) * 9000).astype(np.int16)
sink.write(tone, 22050, lambda t: begun.set())
result = {
    "names": [d.name for d in list_devices(portaudio)],
    "heard": hear(),
    "drained": sink.drain(timeout=120),
    "begun": begun.wait(120),
}
portaudio.refresh()
result["heard_after_new_start"] = hear()
sink.write(tone, 22050)
result["drained_after_new_start"] = sink.drain(timeout=120)
result["told"] = told
source.stop()
sink.stop()
print(json.dumps(result))
"""


def test_capture_playback_and_a_new_start(tmp_path: Path) -> None:
    pytest.importorskip("sounddevice", exc_type=OSError, reason="needs PortAudio")
    if not sys.platform.startswith("linux") or not ALSA.exists():
        pytest.skip("needs ALSA's configuration")
    recorded, played = tmp_path / "in.raw", tmp_path / "out.raw"
    sine(440, 5.0, 16_000, 0.25).tofile(recorded)
    config = tmp_path / "alsa.conf"
    config.write_text(
        f"<{ALSA}>\n"
        f'pcm.kitchen {{ type file slave.pcm "null" format "raw" '
        f'file "{played}" infile "{recorded}" }}\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "ALSA_CONFIG_PATH": str(config)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if "No microphone was found" in done.stderr or "There is no microphone" in done.stderr:
        pytest.skip("this PortAudio does not list ALSA's software devices")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert "kitchen" in result["names"]
    assert result["heard"] > 7_000
    assert result["drained"]
    assert result["begun"]
    assert result["drained_after_new_start"]
    assert result["told"] == []
    assert np.abs(np.fromfile(played, "<i2")).max() > 8_000
