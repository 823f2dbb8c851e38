"""The unit files, and the real command as a service manager sees it."""

from __future__ import annotations

import configparser
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = ROOT / "systemd/assistant.service"
USER = ROOT / "systemd/user/assistant.service"
TOOL = shutil.which("systemd-analyze")
MAX_EXPOSURE = 1.5

needs_systemd = pytest.mark.skipif(TOOL is None, reason="systemd-analyze is not installed")


def settings_of(unit: Path) -> configparser.RawConfigParser:
    parsed = configparser.RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(unit, encoding="utf-8")
    return parsed


def analyze(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    assert TOOL is not None
    env = dict(os.environ, XDG_RUNTIME_DIR=str(cwd), HOME=str(cwd), LC_ALL="C.UTF-8")
    return subprocess.run(
        [TOOL, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


def installed(unit: Path, folder: Path) -> Path:
    """A copy whose command exists, as it does after the installation."""
    text = unit.read_text(encoding="utf-8")
    text, count = re.subn(r"(?m)^ExecStart=\S+", f"ExecStart={sys.executable} -m assistant", text)
    assert count == 1
    copy = folder / unit.name
    copy.write_text(text, encoding="utf-8")
    return copy


@needs_systemd
@pytest.mark.parametrize(("unit", "scope"), [(SYSTEM, "--system"), (USER, "--user")])
def test_unit_is_valid(unit: Path, scope: str, tmp_path: Path) -> None:
    done = analyze(scope, "verify", str(installed(unit, tmp_path)), cwd=tmp_path)
    if "Failed to initialize manager" in done.stderr:
        pytest.skip(f"no {scope} manager can be simulated here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@needs_systemd
def test_system_unit_is_hardened(tmp_path: Path) -> None:
    done = analyze("security", "--offline=yes", str(SYSTEM), cwd=tmp_path)
    found = re.search(r"Overall exposure level for assistant\.service: ([\d.]+)", done.stdout)
    if found is None:
        pytest.skip(f"this systemd cannot judge a unit file: {done.stderr.strip()}")
    assert float(found[1]) <= MAX_EXPOSURE


@pytest.mark.parametrize("unit", [SYSTEM, USER])
def test_restarts_are_limited_and_mistakes_are_final(unit: Path) -> None:
    parsed = settings_of(unit)
    service, limits = parsed["Service"], parsed["Unit"]
    assert service["Type"] == "notify"
    assert int(service["WatchdogSec"]) >= 10
    assert service["Restart"] == "on-failure"
    burst, interval = int(limits["StartLimitBurst"]), int(limits["StartLimitIntervalSec"])
    assert burst * int(service["RestartSec"]) < interval, "the limit could never be reached"
    assert service["RestartPreventExitStatus"] == "2"


@pytest.mark.parametrize("unit", [SYSTEM, USER])
def test_every_relaxed_line_is_explained(unit: Path) -> None:
    lines = unit.read_text(encoding="utf-8").splitlines()
    relaxed = re.compile(r"^(\w+)=(no|all|off)$")
    for number, line in enumerate(lines):
        match = relaxed.match(line)
        if match:
            above = "\n".join(lines[max(0, number - 8) : number])
            assert f"Relaxed: {line}" in above, f"{line} is not explained"


class Manager:
    """A service manager's socket, and the assistant as its service."""

    def __init__(self, folder: Path) -> None:
        self.address = folder / "notify"
        self.messages: list[dict[str, str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.address))

    def wait_for(self, key: str, process: subprocess.Popen[str]) -> str:
        """The value of the next message that has ``key``."""
        deadline = time.monotonic() + PATIENCE_S
        self._socket.settimeout(0.2)
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                lines = self._socket.recv(4096).decode().splitlines()
                message = dict(line.split("=", 1) for line in lines)
                self.messages.append(message)
                if key in message:
                    return message[key]
                continue
            if process.poll() is not None:
                out, err = process.communicate()
                pytest.fail(f"it ended with {process.returncode} before {key}:\n{out}\n{err}")
        pytest.fail(f"no {key} came; heard {self.messages}")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    running = Manager(tmp_path)
    yield running
    running.close()


@pytest.fixture
def hum(tmp_path: Path) -> Path:
    """A quarter of an hour of a quiet room, longer than any of these tests."""
    minute = np.random.default_rng(1).normal(0, 20, 60 * 16_000).astype(np.int16)
    noise = np.tile(minute, 15)
    path = tmp_path / "hum.wav"
    with wave.open(str(path), "wb") as wav:
        wav.setparams((1, 2, 16_000, 0, "NONE", ""))
        wav.writeframes(noise.tobytes())
    return path


def command(hum: Path, *more: str) -> list[str]:
    quiet = ["audio.output.backend=null", "llm.enabled=false", "tts.backend=none", *more]
    overrides = [word for text in quiet for word in ("--set", text)]
    return [sys.executable, "-m", "assistant", "run", "--audio", str(hum), *overrides]


@contextlib.contextmanager
def started(arguments: list[str], env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        arguments,
        cwd=ROOT,
        env=env,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def service_env(tmp_path: Path, manager: Manager) -> dict[str, str]:
    return dict(
        os.environ,
        NOTIFY_SOCKET=str(manager.address),
        WATCHDOG_USEC="1000000",
        STATE_DIRECTORY=str(tmp_path / "state"),
        ASSISTANT_CONFIG="",
    )


def test_life_under_a_service_manager(manager: Manager, hum: Path, tmp_path: Path) -> None:
    env = service_env(tmp_path, manager)
    with started(command(hum), env) as process:
        manager.wait_for("READY", process)
        for _ in range(3):
            manager.wait_for("WATCHDOG", process)
        process.send_signal(signal.SIGHUP)
        manager.wait_for("RELOADING", process)
        manager.wait_for("READY", process)

        second = subprocess.run(
            command(hum), cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        assert second.returncode == 4
        assert f"running already (process {process.pid})" in second.stderr
        assert "Traceback" not in second.stderr

        process.send_signal(signal.SIGTERM)
        manager.wait_for("STOPPING", process)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert out == ""
        assert "Traceback" not in err


def test_killed_service_starts_again(manager: Manager, hum: Path, tmp_path: Path) -> None:
    env = service_env(tmp_path, manager)
    for end in (signal.SIGKILL, signal.SIGTERM):
        with started(command(hum), env) as process:
            manager.wait_for("READY", process)
            process.send_signal(end)
            process.communicate(timeout=PATIENCE_S)
            assert process.returncode == (0 if end == signal.SIGTERM else -end)


def without_network() -> list[str]:
    """A prefix that takes the network away; empty where that is not allowed."""
    tool = shutil.which("unshare")
    prefix = [] if tool is None else [tool, "--map-root-user", "--net"]
    done = subprocess.run([*prefix, shutil.which("true") or "true"], check=False)
    return prefix if done.returncode == 0 else []


def test_empty_environment_and_no_network(manager: Manager, hum: Path, tmp_path: Path) -> None:
    """As systemd starts it on a headless machine: no HOME, no XDG folders, no PATH."""
    env = {
        "NOTIFY_SOCKET": str(manager.address),
        "STATE_DIRECTORY": str(tmp_path / "state"),
        "ASSISTANT_MODELS": str(tmp_path / "models"),
    }
    with started([*without_network(), *command(hum)], env) as process:
        manager.wait_for("READY", process)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert "Traceback" not in err


def test_service_waits_for_a_microphone_and_says_so(manager: Manager, tmp_path: Path) -> None:
    pytest.importorskip("sounddevice", exc_type=OSError, reason="PortAudio is not installed")
    overrides = [
        "audio.input.device=a microphone that nobody has",
        "audio.output.backend=null",
        "llm.enabled=false",
        "tts.backend=none",
    ]
    words = [word for text in overrides for word in ("--set", text)]
    arguments = [sys.executable, "-m", "assistant", "run", *words]
    with started(arguments, service_env(tmp_path, manager)) as process:
        manager.wait_for("READY", process)
        while "degraded: " not in manager.wait_for("STATUS", process):
            pass
        manager.wait_for("WATCHDOG", process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0


def test_by_hand_a_missing_microphone_ends_with_3(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "assistant", "run"]
    for text in ("audio.input.device=nobody has it", "audio.output.device=nobody has it"):
        arguments += ["--set", text]
    arguments += ["--set", "llm.enabled=false", "--set", "tts.backend=none"]
    env = dict(os.environ, STATE_DIRECTORY=str(tmp_path / "state"), ASSISTANT_CONFIG="")
    env.pop("NOTIFY_SOCKET", None)
    done = subprocess.run(arguments, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


def test_mistake_in_the_settings_ends_with_2_and_one_line(hum: Path) -> None:
    done = subprocess.run(
        command(hum, "tts.sped=2"), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Did you mean tts.speed?" in done.stderr


def test_absent_microphone_file_ends_with_2(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assistant", "run", "--audio", str(tmp_path / "gone.wav")],
        cwd=ROOT,
        env=dict(os.environ, STATE_DIRECTORY=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "gone.wav" in done.stderr
    assert "Traceback" not in done.stderr
