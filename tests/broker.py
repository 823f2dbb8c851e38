"""A real MQTT broker of a test's own: mosquitto on a free port of loopback."""

from __future__ import annotations

import getpass
import json
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from tests.patience import PATIENCE_S
from tests.ports import free_port

MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


class Mosquitto:
    """Skips the test where there is no mosquitto."""

    def __init__(
        self,
        folder: Path,
        *,
        user: str = "",
        password: str = "",
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        """tls: files of certificate and key."""
        if MOSQUITTO is None:
            pytest.skip("mosquitto is not installed (apt install mosquitto)")
        self.port = free_port()
        self._config = folder / "mosquitto.conf"
        lines = [f"listener {self.port} 127.0.0.1", "persistence false"]
        # Started by root it would become a user who may not read a test's folder.
        lines.append(f"user {getpass.getuser()}")
        if tls is not None:
            lines += [f"certfile {tls[0]}", f"keyfile {tls[1]}"]
        if user:
            file = folder / "passwords"
            file.touch(mode=0o600)
            tool = shutil.which("mosquitto_passwd", path="/usr/bin:/usr/local/bin")
            assert tool is not None
            subprocess.run([tool, "-b", str(file), user, password], check=True)
            lines += ["allow_anonymous false", f"password_file {file}"]
        else:
            lines.append("allow_anonymous true")
        self._config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert MOSQUITTO is not None
        self._process = subprocess.Popen(
            [MOSQUITTO, "-c", str(self._config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            assert self._process.poll() is None, "mosquitto ended at once"
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("mosquitto does not listen")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class Devices:
    """What stands at the other end of the topics: records commands and answers them.

    answers: by command topic, what is published then: (topic, payload as a function of the
        command's payload).
    """

    def __init__(self, port: int, **login: str) -> None:
        self.heard: list[tuple[str, str, bool]] = []
        self.answers: dict[str, Any] = {}
        self.changed = threading.Condition(threading.RLock())
        self._ready = threading.Event()
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2)
        if login:
            self.client.username_pw_set(login["user"], login["password"])
        self.client.on_message = self._message
        self.client.on_subscribe = lambda *_: self._ready.set()
        self.client.connect("127.0.0.1", port)
        self.client.subscribe("#", 1)
        self.client.loop_start()
        assert self._ready.wait(PATIENCE_S)

    def tell(self, topic: str, payload: Any, *, retain: bool = False) -> None:
        text = payload if isinstance(payload, str | bytes) else json.dumps(payload)
        self.client.publish(topic, text, qos=1, retain=retain).wait_for_publish(PATIENCE_S)

    def commands(self, topic: str) -> list[str]:
        with self.changed:
            return [text for where, text, _ in self.heard if where == topic]

    def wait(self, topic: str, count: int = 1) -> list[str]:
        with self.changed:
            came = self.changed.wait_for(lambda: len(self.commands(topic)) >= count, PATIENCE_S)
            assert came, self.heard
        return self.commands(topic)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _message(self, client: Any, userdata: Any, message: Any) -> None:
        text = message.payload.decode("utf-8", "replace")
        with self.changed:
            self.heard.append((message.topic, text, bool(message.retain)))
            self.changed.notify_all()
        if message.topic in self.answers:
            topic, answer = self.answers[message.topic]
            said = answer(text) if callable(answer) else answer
            self.client.publish(topic, said, qos=1)
