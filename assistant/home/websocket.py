"""JSON messages over a WebSocket; every failure is a sentence."""

from __future__ import annotations

import errno
import json
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assistant.errors import PackageError
from assistant.home.keeper import LinkError

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

MAX_BYTES = 32 << 20
"""The states of a very large home in one message are a few megabytes."""
OPEN_S = 10.0
PING_S = 20.0
"""A connection that answers no ping for this long is lost: a pulled cable says nothing."""

_FRAMES = logging.getLogger(f"{__name__}.frames")
_FRAMES.setLevel(logging.INFO)
"""At debug level the package writes down every message, the token among them."""

_NO_NETWORK = (errno.EAFNOSUPPORT, errno.EPERM, errno.EACCES, errno.ENETUNREACH)
_SHUT_IN = "As a service it may use no network before it is allowed: see docs/home.md."
_GATEWAY = (502, 503, 504)


class WebSocket:
    """One open connection. ``send`` may be called from any thread, ``receive`` from one."""

    def __init__(self, connection: ClientConnection, where: str) -> None:
        self._connection = connection
        self._where = where

    def send(self, message: dict[str, Any]) -> None:
        """Raises LinkError when the connection is lost."""
        from websockets.exceptions import ConnectionClosed

        try:
            self._connection.send(json.dumps(message))
        except (ConnectionClosed, OSError) as error:
            raise self._lost() from error

    def receive(self, timeout_s: float) -> dict[str, Any] | None:
        """The next message; None when none came in time. Raises LinkError."""
        from websockets.exceptions import ConnectionClosed

        try:
            text = self._connection.recv(timeout=timeout_s)
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            if error.sent is not None and error.sent.code == 1009:
                raise LinkError(f"{self._where} sent a message that is too big.") from error
            raise self._lost() from error
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._foreign() from error
        if not isinstance(message, dict):
            raise self._foreign()
        return message

    def close(self) -> None:
        """May be called from any thread; ``receive`` then ends."""
        self._connection.close()

    def _lost(self) -> LinkError:
        return LinkError(f"The connection to {self._where} was lost.")

    def _foreign(self) -> LinkError:
        return LinkError(f"{self._where} sent something that is no message.")


@contextmanager
def open_websocket(url: str, *, verify_tls: bool = True) -> Iterator[WebSocket]:
    """Connects to a ws:// or wss:// address. Raises LinkError, PackageError."""
    try:
        from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
        from websockets.sync.client import connect
    except ImportError as error:
        raise PackageError(
            "home.package",
            "The package websockets is not installed.",
            "Install the assistant's base requirements again.",
        ) from error
    parts = urlsplit(url)
    where = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'wss' else 80)}"
    context = None
    if parts.scheme == "wss":
        context = ssl.create_default_context()
        if not verify_tls:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
    try:
        connection = connect(
            url,
            ssl=context,
            proxy=None,
            open_timeout=OPEN_S,
            ping_interval=PING_S,
            ping_timeout=PING_S,
            close_timeout=2,
            max_size=MAX_BYTES,
            logger=_FRAMES,
            user_agent_header="pi-voice-assistant",
        )
        # Newer versions of the package want it as a context manager.
        opened = connection.__enter__()
    except InvalidStatus as error:
        raise LinkError(*_status(where, error.response.status_code)) from error
    except (InvalidHandshake, InvalidURI) as error:
        raise LinkError(f"What answers at {where} is not what was expected.") from error
    except ssl.SSLCertVerificationError as error:
        reason = f"The certificate of {where} is not trusted: {error.verify_message}."
        raise LinkError(reason, "Use the name that stands in the certificate.") from error
    except ssl.SSLError as error:
        reason = f"There is no encrypted connection to {where}."
        raise LinkError(reason, "Perhaps the address begins with http, not https.") from error
    except OSError as error:
        raise no_connection(where, error) from error
    try:
        yield WebSocket(opened, where)
    finally:
        connection.__exit__(None, None, None)


def no_connection(where: str, error: OSError) -> LinkError:
    """Why there is no connection, in a sentence."""
    if isinstance(error, socket.gaierror):
        hint = _SHUT_IN if error.errno == socket.EAI_AGAIN else ""
        return LinkError(f"There is no host called {where.rpartition(':')[0]}.", hint)
    if isinstance(error, TimeoutError):
        return LinkError(f"{where} did not answer in time.")
    if isinstance(error, ConnectionRefusedError):
        return LinkError(f"Nothing answers at {where}.")
    hint = _SHUT_IN if error.errno in _NO_NETWORK else ""
    why = error.strerror or "it broke off"
    return LinkError(f"There is no connection to {where}: {why}.", hint)


def _status(where: str, status: int) -> tuple[str, str]:
    if status in _GATEWAY:
        return f"{where} is there, but nothing behind it (HTTP {status}).", ""
    if status == 403:
        hint = "It may have banned this device after wrong tokens: see its ip_bans.yaml."
        return f"{where} refuses this device (HTTP 403).", hint
    hint = "Check the address: it is the one that a browser opens."
    return f"What answers at {where} is not what was expected (HTTP {status}).", hint
