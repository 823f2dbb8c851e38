"""What machine a figure was measured on, for the scripts of this folder."""

from __future__ import annotations

from assistant.bench.machine import cpu_name, describe

__all__ = ["cpu_name", "describe"]
