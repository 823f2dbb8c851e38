"""One address into one file: resumes, survives cut connections, never trusts the server."""

from __future__ import annotations

import base64
import errno
import http.client
import os
import re
import shutil
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from assistant.errors import FetchError
from assistant.models.progress import Progress, megabytes

_CHUNK = 1 << 16
_ROOM_TO_LEAVE = 16 << 20
_MAX_ATTEMPTS = 200
_RETRY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class SourceError(Exception):
    """This source cannot deliver; the next one may. The text is a short reason."""


class _Interrupted(Exception):
    """The connection broke; what came so far is kept and asked for the rest."""


class Downloader:
    """Downloads over HTTP(S) into ``.part`` files.

    timeout_s: silence after which a connection counts as broken.
    patience: attempts in a row that may bring nothing before the source is given up.
    wait: how to wait between attempts, seconds.
    """

    def __init__(
        self,
        progress: Progress | None = None,
        *,
        timeout_s: float = 30.0,
        patience: int = 4,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._progress = progress or Progress()
        self._timeout_s = timeout_s
        self._patience = patience
        self._wait = wait

    def download(self, url: str, part: Path, size: int | None = None) -> bool:
        """Completes ``part`` from ``url``; True when it continued an older part.

        size: expected bytes; a server that offers another length is refused at once.
        Raises SourceError, and FetchError when the disk is full.
        """
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise SourceError(f"{_shown(url)} is no http(s) address")
        part.parent.mkdir(parents=True, exist_ok=True)
        resumed = _length(part) > 0
        etag = ""
        fruitless = 0
        for _ in range(_MAX_ATTEMPTS):
            before = _length(part)
            if size is not None and before > size:
                part.unlink()
                before, resumed = 0, False
            if size is not None and before == size:
                return resumed
            try:
                etag = self._attempt(url, part, size, etag)
                return resumed
            except _Interrupted as exc:
                fruitless = 0 if _length(part) > before else fruitless + 1
                if fruitless >= self._patience:
                    raise SourceError(str(exc)) from exc
                if fruitless:
                    self._wait(float(2 ** (fruitless - 1)))
            finally:
                self._progress.end()
        raise SourceError("the connection breaks again and again")

    def _attempt(self, url: str, part: Path, size: int | None, etag: str) -> str:
        """One request; returns the ETag. Raises _Interrupted when asking again may help."""
        offset = _length(part)
        request = _request(url, offset, etag)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as response:
                etag = response.headers.get("ETag", "")
                start, total = _range(response)
                if start not in (0, offset):
                    part.unlink()
                    raise _Interrupted("it continued at another place than was asked for")
                if size is not None and total is not None and total != size:
                    raise SourceError(f"it offers {total:,} bytes instead of {size:,}")
                self._receive(response, part, start, size or total)
        except urllib.error.HTTPError as exc:
            exc.close()
            if exc.code == 416:
                # The part is as long as the file, or longer, or of another file.
                part.unlink(missing_ok=True)
                raise _Interrupted("the server refuses to continue") from exc
            if exc.code in _RETRY_STATUS:
                raise _Interrupted(f"the server answers {exc.code} {exc.reason}") from exc
            raise SourceError(f"the server answers {exc.code} {exc.reason}") from exc
        except urllib.error.URLError as exc:
            raise _Interrupted(f"no connection ({exc.reason})") from exc
        except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as exc:
            raise _Interrupted(f"the connection broke ({exc or type(exc).__name__})") from exc
        return etag

    def _receive(
        self, response: http.client.HTTPResponse, part: Path, start: int, total: int | None
    ) -> None:
        if total is not None:
            check_room(part.parent, total - start)
        done = start
        try:
            with part.open("ab" if start else "wb") as f:
                while chunk := response.read(_CHUNK):
                    done += len(chunk)
                    if total is not None and done > total:
                        raise SourceError(f"it sends more than {total:,} bytes")
                    f.write(chunk)
                    self._progress.update(done, total)
                f.flush()
                os.fsync(f.fileno())
        except OSError as exc:
            if exc.errno in (errno.ENOSPC, errno.EDQUOT):
                raise disk_full(part.parent) from exc
            raise
        if total is not None and done < total:
            raise _Interrupted(f"the connection ended after {done:,} of {total:,} bytes")


def check_room(folder: Path, need: int) -> None:
    """Raises FetchError when ``need`` bytes (and a little more) do not fit into the disk."""
    free = shutil.disk_usage(folder).free
    if need > 0 and free < need + _ROOM_TO_LEAVE:
        raise FetchError(
            "models.disk_full",
            f"The disk of {folder} has {megabytes(free)} free, but {megabytes(need)} are needed.",
            "Make room, or set service.models_dir to a folder on another disk.",
        )


def disk_full(folder: Path) -> FetchError:
    """The error for a disk that became full while writing."""
    return FetchError(
        "models.disk_full",
        f"The disk of {folder} is full.",
        "Make room and run `assistant models fetch` again; it continues where it stopped.",
    )


def _request(url: str, offset: int, etag: str) -> urllib.request.Request:
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(parts._replace(netloc=host, fragment="").geturl())
    request.add_header("User-Agent", "assistant-models")
    request.add_header("Accept-Encoding", "identity")
    if offset:
        request.add_header("Range", f"bytes={offset}-")
        if etag and not etag.startswith("W/"):
            request.add_header("If-Range", etag)
    if parts.username:
        login = (
            f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        )
        token = base64.b64encode(login.encode()).decode()
        # Unredirected: another host must not see the login.
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request


def _range(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """(position of the first byte that comes, bytes of the whole file or None)."""
    length = response.headers.get("Content-Length")
    if response.status != 206:
        return 0, int(length) if length and length.isdigit() else None
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if match is None:
        raise SourceError("it sends a part of the file without saying which")
    return int(match[1]), None if match[2] == "*" else int(match[2])


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _shown(url: str) -> str:
    """The address without a login."""
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
