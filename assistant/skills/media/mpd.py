"""A small client of the Music Player Daemon: one short connection per request."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path

from assistant.config import MpdConfig
from assistant.errors import SkillError

TIMEOUT_S = 5.0
MAX_BYTES = 1 << 20
"""Longest answer that is read: a search may find a whole collection."""


class Mpd:
    """Every method raises SkillError with a speakable message."""

    def __init__(self, cfg: MpdConfig) -> None:
        self._cfg = cfg

    def ask(self, *command: str) -> list[tuple[str, str]]:
        """The lines of the answer to one command, as (key, value) in their order."""
        return self.all([command])[-1]

    def all(self, commands: Iterable[Iterable[str]]) -> list[list[tuple[str, str]]]:
        """The answers to several commands, up to the first that fails."""
        try:
            with self._connect() as connection, connection.makefile("rb") as answers:
                reader = _Reader(answers)
                if not reader.line().startswith("OK MPD "):
                    raise SkillError("media.mpd", "What answers there is no music player.")
                if self._cfg.password_file:
                    self._send(connection, ("password", self._password()))
                    reader.answer()
                result = []
                for command in commands:
                    self._send(connection, command)
                    result.append(reader.answer())
                return result
        except OSError as error:
            raise SkillError("media.mpd", "I can't reach the music player.") from error

    def status(self) -> dict[str, str]:
        return dict(self.ask("status"))

    def song(self) -> dict[str, str]:
        """Title, Artist, Album, Name (of a station), file; empty when there is none."""
        return dict(self.ask("currentsong"))

    def play_found(self, query: str, media_class: str = "") -> str:
        """Plays what is called so, instead of what is in the queue; its name."""
        lists = {v.casefold(): v for k, v in self.ask("listplaylists") if k == "playlist"}
        if query.casefold() in lists and media_class in ("", "playlist"):
            name = lists[query.casefold()]
            self.all([("clear",), ("load", name), ("play",)])
            return name
        wanted = _TAGS.get(media_class)
        for tag in (wanted,) if wanted else ("artist", "album", "title", "any"):
            if any(key == "file" for key, _ in self.ask("search", tag, query, "window", "0:1")):
                self.all([("clear",), ("searchadd", tag, query), ("play",)])
                return query
        raise SkillError("media.nothing", f"I found nothing called {query}.")

    def _connect(self) -> socket.socket:
        host = self._cfg.host
        if not host.startswith(("/", "~")):
            return socket.create_connection((host, self._cfg.port), TIMEOUT_S)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(TIMEOUT_S)
        try:
            connection.connect(str(Path(host).expanduser()))
        except OSError:
            connection.close()
            raise
        return connection

    def _send(self, connection: socket.socket, command: Iterable[str]) -> None:
        first, *arguments = command
        connection.sendall(" ".join([first, *map(_quoted, arguments)]).encode() + b"\n")

    def _password(self) -> str:
        try:
            return Path(self._cfg.password_file).expanduser().read_text(encoding="utf-8").strip()
        except (ValueError, RuntimeError) as error:
            raise SkillError("media.mpd", "I can't read the music player's password.") from error


class _Reader:
    def __init__(self, answers: object) -> None:
        self._readline = answers.readline  # type: ignore[attr-defined]
        self._left = MAX_BYTES

    def line(self) -> str:
        line: bytes = self._readline(self._left)
        self._left -= len(line)
        if not line.endswith(b"\n"):
            raise SkillError("media.mpd", "The music player broke off.")
        return line[:-1].decode("utf-8", "replace")

    def answer(self) -> list[tuple[str, str]]:
        pairs = []
        while (line := self.line()) != "OK":
            if line.startswith("ACK "):
                code = line.partition("[")[2].partition("@")[0]
                text = "The music player wants a password." if code in ("3", "4") else ""
                raise SkillError("media.mpd", text or "The music player could not do that.")
            key, _, value = line.partition(": ")
            pairs.append((key, value))
        return pairs


_TAGS = {"artist": "artist", "album": "album", "track": "title", "music": "any"}


def _quoted(argument: str) -> str:
    clean = " ".join(argument.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{clean}"'
