"""The compiled tokenizer with the face of the Python one, to which it is equal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kvquant.errors import SettingError

if TYPE_CHECKING:
    from kvquant import _native


class NativeTokenizer:
    """A ``kvquant.token_text.AnyTokenizer``."""

    def __init__(self, native: _native.Tokenizer) -> None:
        self._native = native
        self._control = frozenset(native.control_ids)

    @property
    def n_vocab(self) -> int:
        return self._native.n_vocab

    @property
    def control_ids(self) -> frozenset[int]:
        return self._control

    def special_id(self, spelling: str) -> int | None:
        found = self._native.special_id(spelling)
        return found if found >= 0 else None

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        # Half a surrogate pair is no text; like the Python tokenizer, "?" stands for it.
        return self._native.encode(text.encode("utf-8", "replace"), special=special)

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        raw = b"".join(self.token_bytes(i, special=special) for i in ids)
        return raw.decode("utf-8", "replace")

    def token_bytes(self, token: int, *, special: bool = False) -> bytes:
        if not 0 <= token < self._native.n_vocab:
            raise SettingError("token.range", f"{token} is not a token of this model.")
        return self._native.token_bytes(token, special=special)
