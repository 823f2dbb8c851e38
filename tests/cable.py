"""A network cable between a client and a server on loopback, which can be pulled."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from types import TracebackType
from typing import Self


class Cable:
    """``port`` leads to the port of the server. ``pull`` lets nothing through any more, and
    nobody is told: neither side hears of an end."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._pulled = threading.Event()
        self._ends: dict[socket.socket, socket.socket] = {}
        self._over = False
        self._thread = threading.Thread(target=self._run)

    def pull(self) -> None:
        self._pulled.set()

    def plug(self) -> None:
        """New connections go through; those of before stay dead."""
        self._ends.clear()
        self._pulled.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over = True
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        kept: list[socket.socket] = []
        with selectors.DefaultSelector() as watched:
            watched.register(self._listener, selectors.EVENT_READ)
            while not self._over:
                for key, _ in watched.select(0.02):
                    assert isinstance(key.fileobj, socket.socket)
                    if self._pulled.is_set():
                        continue
                    if key.fileobj is self._listener:
                        near, _ = self._listener.accept()
                        far = socket.create_connection(("127.0.0.1", self._to))
                        kept += [near, far]
                        self._ends |= {near: far, far: near}
                        watched.register(near, selectors.EVENT_READ)
                        watched.register(far, selectors.EVENT_READ)
                    elif not self._pass_on(key.fileobj):
                        watched.unregister(key.fileobj)
        for one in kept:
            one.close()

    def _pass_on(self, source: socket.socket) -> bool:
        target = self._ends.get(source)
        with contextlib.suppress(OSError):
            data = source.recv(65536)
            if data and target is not None:
                target.sendall(data)
                return True
            if target is not None:
                target.shutdown(socket.SHUT_WR)
        return False
