"""Ports of loopback for servers that cannot be asked which one they took."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A port on which nobody listens now and which no client is given in the meantime.

    The system gives clients ports of its own range; a client that knocks at one of those in vain
    may even be connected to itself.
    """
    lowest = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(10_000, max(lowest, 11_000))
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
