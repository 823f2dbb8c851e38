"""One connection to an MQTT broker; every failure is a sentence."""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant.config import MqttConfig
from assistant.errors import PackageError
from assistant.home.keeper import LinkError
from assistant.home.websocket import no_connection

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from paho.mqtt.client import Client

OPEN_S = 10.0
KEEPALIVE_S = 30
"""A broker that says nothing for one and a half times this long is lost."""
_BAD_LOGIN = ("Bad user name or password", "Not authorized")


class Broker:
    """Made anew for each connection, so that nothing is sent later than it was meant."""

    def __init__(
        self,
        cfg: MqttConfig,
        on_message: Callable[[str, bytes], None],
        availability_topic: str = "",
    ) -> None:
        """on_message: takes topic and payload, on a thread of the connection's own.

        availability_topic: where it says that it is there, "" nowhere.
        Raises PackageError, and LinkError when the password or a certificate cannot be read.
        """
        try:
            from paho.mqtt.client import Client
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError as error:
            raise PackageError(
                "home.package",
                "The package paho-mqtt is not installed.",
                "Install the assistant's base requirements again.",
            ) from error
        self._cfg = cfg
        self._where = f"{cfg.host}:{cfg.port}"
        self._on_message = on_message
        self._availability = availability_topic
        self._answered = threading.Event()
        self._subscribed = threading.Event()
        self._over = threading.Event()
        self._refusal = ""
        client = Client(CallbackAPIVersion.VERSION2, reconnect_on_failure=False)
        client.connect_timeout = OPEN_S
        client.on_connect = self._connected
        client.on_disconnect = self._disconnected
        client.on_message = self._message
        client.on_subscribe = self._taken
        if cfg.username:
            client.username_pw_set(cfg.username, _password(cfg.password_file))
        if cfg.tls:
            try:
                client.tls_set(ca_certs=cfg.ca_file or None)
            except (OSError, ssl.SSLError) as error:
                hint = f"Check home.mqtt.ca_file ({cfg.ca_file})."
                raise LinkError(
                    "The broker's certificate authority cannot be read.", hint
                ) from error
        if availability_topic:
            client.will_set(availability_topic, "offline", qos=1, retain=True)
        self._client: Client = client

    def open(self, topics: Iterable[str]) -> None:
        """Connects and subscribes. Raises LinkError."""
        cfg = self._cfg
        try:
            self._client.connect(cfg.host, cfg.port, keepalive=KEEPALIVE_S)
        except ssl.SSLCertVerificationError as error:
            reason = f"The certificate of {self._where} is not trusted: {error.verify_message}."
            raise LinkError(reason, "Check home.mqtt.host and home.mqtt.ca_file.") from error
        except ssl.SSLError as error:
            raise LinkError(f"There is no encrypted connection to {self._where}.") from error
        except OSError as error:
            raise no_connection(self._where, error) from error
        except ValueError as error:
            raise LinkError(f"There is no connection to {self._where}.") from error
        self._client.loop_start()
        if not self._answered.wait(OPEN_S):
            raise LinkError(f"What answers at {self._where} is no MQTT broker.")
        if self._refusal in _BAD_LOGIN:
            raise LinkError(
                f"The broker at {self._where} does not accept the user name or the password.",
                "Check home.mqtt.username and home.mqtt.password_file.",
            )
        if self._refusal:
            raise LinkError(f"The broker at {self._where} refuses: {self._refusal}.")
        if self.subscribe(topics) and not self._subscribed.wait(OPEN_S):
            raise LinkError(f"The broker at {self._where} does not answer.")
        if self._availability:
            self._client.publish(self._availability, "online", qos=1, retain=True)

    def subscribe(self, topics: Iterable[str]) -> bool:
        """Without waiting; may be called from ``on_message``. False for no topics."""
        wanted = [(topic, 1) for topic in dict.fromkeys(topics)]
        if wanted:
            self._client.subscribe(wanted)
        return bool(wanted)

    def publish(self, topic: str, payload: str, timeout_s: float) -> bool:
        """Sends a command, which is never retained; True when the broker has taken it."""
        info = self._client.publish(topic, payload, qos=1, retain=False)
        try:
            info.wait_for_publish(timeout_s)
            return info.is_published()
        except (RuntimeError, ValueError):
            return False

    def request(self, topic: str, payload: str) -> None:
        """Sends without waiting; may be called from ``on_message``."""
        self._client.publish(topic, payload, qos=0, retain=False)

    def serve(self) -> None:
        """Until the connection is lost or closed; raises LinkError when it was lost."""
        self._over.wait()
        raise LinkError(f"The connection to {self._where} was lost.")

    def close(self) -> None:
        """May be called from any thread."""
        if self._availability and self._client.is_connected():
            self.publish_retained(self._availability, "offline")
        self._client.disconnect()
        self._over.set()
        self._client.loop_stop()

    def publish_retained(self, topic: str, payload: str) -> None:
        """For its own availability; commands are never retained."""
        try:
            self._client.publish(topic, payload, qos=1, retain=True).wait_for_publish(1.0)
        except (RuntimeError, ValueError):
            return  # the will says it

    def _connected(self, client: Any, userdata: Any, flags: Any, code: Any, props: Any) -> None:
        self._refusal = str(code) if code.is_failure else ""
        self._answered.set()

    def _taken(self, client: Any, userdata: Any, mid: Any, codes: Any, props: Any) -> None:
        self._subscribed.set()

    def _disconnected(self, client: Any, userdata: Any, flags: Any, code: Any, props: Any) -> None:
        if not self._answered.is_set():
            self._refusal = "it hung up"
            self._answered.set()
        self._over.set()

    def _message(self, client: Any, userdata: Any, message: Any) -> None:
        try:
            self._on_message(message.topic, message.payload)
        except Exception:
            # One message that is not understood must not end the connection.
            log.exception("a message on %s could not be read", message.topic)


def _password(file: str) -> str | None:
    if not file:
        return None
    try:
        return Path(file).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        reason = f"The file with the broker's password cannot be read: {why}."
        raise LinkError(reason, f"Check home.mqtt.password_file ({file}).") from error
