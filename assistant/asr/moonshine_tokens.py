"""The tokens of the Moonshine network: from numbers to text and from text to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assistant.errors import ModelError

START, END = 1, 2
"""Tokens around a transcript."""

SPACE = "\u2581"
"""Stands for the space before a word."""

FIRST_BYTE = 3
"""Token of the byte 0; the 255 others follow."""

FIRST_MERGED = 259
"""From here on tokens are made of shorter ones, the commoner ones first."""


class Tokens:
    """pieces: the bytes of each token, by its number."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        self._numbers: dict[bytes, int] = {}
        for number, piece in enumerate(pieces):
            if number >= FIRST_MERGED:
                self._numbers.setdefault(piece, number)

    def __len__(self) -> int:
        return len(self._pieces)

    def text(self, tokens: Sequence[int]) -> str:
        """What the tokens say, without spaces around it and without marks such as <s>."""
        pieces = (self._pieces[t] for t in tokens if t < len(self._pieces))
        joined = b"".join(p for p in pieces if not (p[:1] == b"<" and p[-1:] == b">"))
        return joined.decode("utf-8", "replace").replace(SPACE, " ").strip()

    def begins_word(self, token: int) -> bool:
        """True for what cannot go on a word: a space, punctuation, the end."""
        piece = self._pieces[token] if token < len(self._pieces) else b""
        text = piece.decode("utf-8", "replace")
        return token == END or text[:1] == SPACE or not text[:1].isalnum()

    def spell(self, text: str) -> tuple[int, ...]:
        """The tokens of a text as the network was taught them; a word begins with its space.

        Neighbours are joined to the token with the lowest number until none can be joined.
        """
        parts = [char.encode() for char in text.replace(" ", SPACE)]
        while len(parts) > 1:
            joined = [
                (self._numbers.get(parts[i] + parts[i + 1], len(self)), i)
                for i in range(len(parts) - 1)
            ]
            number, at = min(joined)
            if number == len(self):
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        found: list[int] = []
        for part in parts:
            number = self._numbers.get(part, -1)
            found += [number] if number >= 0 else [FIRST_BYTE + byte for byte in part]
        return tuple(found)


def read_tokens(path: Path) -> list[bytes]:
    """The pieces of tokenizer.bin by token number.

    Each is a length (one byte, or two when the first has its high bit set: low 7 bits, then
    128s) and that many bytes. Raises ModelError.
    """
    data = path.read_bytes()
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        length = data[at]
        at += 1
        if length >= 128 and at < len(data):
            length += data[at] * 128 - 128
            at += 1
        if at + length > len(data):
            break
        pieces.append(data[at : at + length])
        at += length
    if at != len(data) or len(pieces) <= END:
        raise ModelError(
            "asr.bad_model", f"{path} is truncated or damaged.", "Run `assistant models verify`."
        )
    return pieces
