"""What a tokenizer provides, and how tokens that come one by one become text."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import Protocol


class HasTokenBytes(Protocol):
    def token_bytes(self, token: int) -> bytes: ...


class AnyTokenizer(Protocol):
    """``kvquant.tokenizer.Tokenizer`` says what each of these does."""

    @property
    def n_vocab(self) -> int: ...
    @property
    def control_ids(self) -> frozenset[int]: ...
    def special_id(self, spelling: str) -> int | None: ...
    def encode(self, text: str, *, special: bool = False) -> list[int]: ...
    def decode(self, ids: Iterable[int], *, special: bool = False) -> str: ...
    def token_bytes(self, token: int, *, special: bool = False) -> bytes: ...


class TextStream:
    """Turns tokens that come one by one into whole characters."""

    def __init__(self, tokenizer: HasTokenBytes) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        """The text that is complete with this token; "" while a character is unfinished."""
        return self._decoder.decode(self._tokenizer.token_bytes(token))
