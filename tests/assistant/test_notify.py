from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.notify import Notifier, Watchdog


class Manager:
    """The service manager's end of the socket."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address[0] == "@" else address)
        self.socket.settimeout(5)

    def heard(self) -> list[str]:
        """All datagrams that wait."""
        found = []
        self.socket.setblocking(False)
        while True:
            try:
                found.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return found


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    address = str(tmp_path / "s") if request.param == "path" else f"@assistant-test-{os.getpid()}"
    running = Manager(address)
    yield running
    running.socket.close()


def test_life_of_a_service(manager: Manager) -> None:
    notifier = Notifier(manager.address)
    notifier.status("loading")
    notifier.ready("ready (idle)")
    notifier.reloading()
    notifier.ready("ready")
    notifier.watchdog()
    notifier.stopping()
    notifier.close()
    heard = manager.heard()
    assert heard[0] == "STATUS=loading"
    assert heard[1] == "READY=1\nSTATUS=ready (idle)"
    reloading, usec = heard[2].split("\nMONOTONIC_USEC=")
    assert reloading == "RELOADING=1"
    assert int(usec) > 0
    assert heard[3:] == ["READY=1\nSTATUS=ready", "WATCHDOG=1", "STOPPING=1\nSTATUS=stopping"]


def test_text_cannot_add_fields(manager: Manager) -> None:
    notifier = Notifier(manager.address)
    notifier.status("fine\nMAINPID=1 ü")
    notifier.close()
    assert manager.heard() == ["STATUS=fine MAINPID=1 ü"]


def test_address_is_taken_out_of_the_environment(manager: Manager) -> None:
    env = {"NOTIFY_SOCKET": manager.address}
    notifier = Notifier.from_environ(env)
    assert notifier.connected
    assert env == {}
    notifier.close()


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "vsock:2:1234", "relative"])
def test_without_a_manager_nothing_happens(address: str) -> None:
    notifier = Notifier(address)
    assert not notifier.connected
    notifier.ready("x")
    notifier.close()


def test_manager_that_goes_away_or_does_not_read(manager: Manager) -> None:
    notifier = Notifier(manager.address)
    for _ in range(2000):
        notifier.watchdog()
    manager.socket.close()
    notifier.watchdog()
    notifier.close()


class Counter(Notifier):
    def __init__(self) -> None:
        super().__init__()
        self.beats = 0

    def watchdog(self) -> None:
        self.beats += 1


def test_signs_of_life_are_passed_on_four_times_an_interval() -> None:
    counter, now = Counter(), [100.0]
    watchdog = Watchdog(counter, 2.0, clock=lambda: now[0])
    for _ in range(1000):
        watchdog.beat()
        now[0] += 0.01
    assert counter.beats == 20


def test_no_sign_without_a_beat() -> None:
    counter, now = Counter(), [0.0]
    watchdog = Watchdog(counter, 2.0, clock=lambda: now[0])
    watchdog.beat()
    now[0] = 60.0
    assert counter.beats == 1


@pytest.mark.parametrize(
    ("env", "beats"),
    [
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": str(os.getpid())}, 1),
        ({"WATCHDOG_USEC": "2000000"}, 1),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}, 0),
        ({"WATCHDOG_USEC": "0"}, 0),
        ({"WATCHDOG_USEC": "soon"}, 0),
        ({}, 0),
    ],
)
def test_interval_of_the_environment(env: dict[str, str], beats: int) -> None:
    counter = Counter()
    Watchdog.from_environ(counter, env).beat()
    assert counter.beats == beats
    assert env == {}
