"""What machine a figure was measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.lower().startswith(("model name", "hardware", "model\t")):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def describe() -> dict[str, object]:
    """Processor, cores, Python and system, JSON-ready."""
    return {
        "cpu": cpu_name(),
        "arch": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }
