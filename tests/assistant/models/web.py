"""A small file server on loopback that can misbehave in the ways real ones do."""

from __future__ import annotations

import hashlib
import http.server
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.patience import PATIENCE_S


@dataclass
class Behaviour:
    """cut_after: bytes after which the connection is cut, once per entry; ranges: honour Range.

    lie: bytes that are added to the announced length; status: answer with this and nothing else.
    """

    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)
    lie: int = 0
    statuses: list[int] = field(default_factory=list)
    shift: int = 0


class FileServer:
    """``files``: contents by path (with the leading /); ``requests``: (path, Range or None)."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.behaviour = Behaviour()
        self.requests: list[tuple[str, str | None]] = []
        self.logins: list[str | None] = []
        self.paused = threading.Event()
        self.pause_after: int | None = None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                outer._answer(self)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        self.logins.append(request.headers.get("Authorization"))
        how = self.behaviour
        body = self.files.get(request.path)
        status = how.statuses.pop(0) if how.statuses else (404 if body is None else 200)
        request.close_connection = True
        if status != 200 or body is None:
            request.send_response(status)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        etag = '"' + hashlib.sha256(body).hexdigest()[:16] + '"'
        start = 0
        condition = request.headers.get("If-Range", etag)
        if wanted and how.ranges and condition == etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) + how.shift
            if start >= len(body):
                request.send_response(416)
                request.send_header("Content-Length", "0")
                request.end_headers()
                return
            request.send_response(206)
            request.send_header(
                "Content-Range", f"bytes {start}-{len(body) - 1}/{len(body) + how.lie}"
            )
        else:
            request.send_response(200)
        request.send_header("ETag", etag)
        request.send_header("Content-Length", str(len(body) - start + how.lie))
        request.end_headers()
        rest = body[start:]
        if how.cut_after:
            rest = rest[: how.cut_after.pop(0)]
        if self.pause_after is not None:
            request.wfile.write(rest[: self.pause_after])
            request.wfile.flush()
            self.paused.wait(2 * PATIENCE_S)
            return
        request.wfile.write(rest)
