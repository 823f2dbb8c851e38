"""Byte-level BPE, built from the metadata of a model file.

Text is cut into words, the bytes of a word are written as printable characters, and pairs are
merged in the order of the merge list. Spellings of control tokens in a text are plain text
unless the caller asks for them: what a user says can never open a turn or end one.
"""

from __future__ import annotations

import bisect
import heapq
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kvquant.errors import ModelFileError, SettingError

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4
_CACHED_WORDS = 50_000

_CONTRACTION_LETTERS = "stmdrevl"
_SPLITS_DIGITS = {"smollm": True, "gpt-2": False, "default": False}
"""Pre-tokenizers that are known, and whether each digit is a word of its own."""

_SPACES = frozenset("\t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000").union(
    map(chr, range(0x2000, 0x200B))
)

# Letters and numbers that came after Unicode 14, the version of Python 3.11, as first and last
# code point. Without them the same text would give other tokens on another Python.
_LATER_LETTERS = (
    (0x1C89, 0x1C8A), (0xA7CB, 0xA7CD), (0xA7DA, 0xA7DC), (0x105C0, 0x105F3),
    (0x10D4A, 0x10D65), (0x10D6F, 0x10D85), (0x10EC2, 0x10EC4), (0x1123F, 0x11240),
    (0x11380, 0x11389), (0x1138B, 0x1138B), (0x1138E, 0x1138E), (0x11390, 0x113B5),
    (0x113B7, 0x113B7), (0x113D1, 0x113D1), (0x113D3, 0x113D3), (0x11BC0, 0x11BE0),
    (0x11F02, 0x11F02), (0x11F04, 0x11F10), (0x11F12, 0x11F33), (0x1342F, 0x1342F),
    (0x13441, 0x13446), (0x13460, 0x143FA), (0x16100, 0x1611D), (0x16D40, 0x16D6C),
    (0x18CFF, 0x18CFF), (0x1B132, 0x1B132), (0x1B155, 0x1B155), (0x1DF25, 0x1DF2A),
    (0x1E030, 0x1E06D), (0x1E4D0, 0x1E4EB), (0x1E5D0, 0x1E5ED), (0x1E5F0, 0x1E5F0),
    (0x2B739, 0x2B739), (0x2EBF0, 0x2EE5D), (0x31350, 0x323AF),
)  # fmt: skip
_LATER_NUMBERS = (
    (0x10D40, 0x10D49), (0x116D0, 0x116E3), (0x11BF0, 0x11BF9), (0x11DE0, 0x11DE9),
    (0x11F50, 0x11F59), (0x16130, 0x16139), (0x16D70, 0x16D79), (0x16FF4, 0x16FF6),
    (0x1CCF0, 0x1CCF9), (0x1D2C0, 0x1D2D3), (0x1E4F0, 0x1E4F9), (0x1E5F1, 0x1E5FA),
)  # fmt: skip


class _Classes(dict[int, str]):
    """Code point to its class, for ``str.translate``: L letter, N number, S white space, O other.

    The space, the apostrophe and the letters of English contractions stand for themselves.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in " '" or char in _CONTRACTION_LETTERS:
            kind = char
        elif char in _SPACES:
            kind = "S"
        else:
            major = unicodedata.category(char)[0]
            if major == "L" or _within(code, _LATER_LETTERS):
                kind = "L"
            elif major == "N" or _within(code, _LATER_NUMBERS):
                kind = "N"
            else:
                kind = "O"
        self[code] = kind
        return kind


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    at = bisect.bisect_right(ranges, (code, 0x110000)) - 1
    return at >= 0 and code <= ranges[at][1]


_CLASSES = _Classes()
_CONTRACTION = "'(?:[stmd]|re|ve|ll)"
_LETTERS = f"[L{_CONTRACTION_LETTERS}]"
# Words of the class string. Before a word one space belongs to it; of a longer run of white
# space the last one does. With digits split off first, a run before a digit stays whole.
_WORDS_DIGITS_SPLIT = re.compile(rf"{_CONTRACTION}| ?{_LETTERS}+|N| ?[O']+|[S ]+(?![^S N])|[S ]+")
_WORDS = re.compile(rf"{_CONTRACTION}| ?{_LETTERS}+| ?N+| ?[O']+|[S ]+(?![^S ])|[S ]+")


def _byte_chars() -> list[str]:
    """The printable character that stands for each byte in the vocabulary."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    chars = [""] * 256
    for byte in printable:
        chars[byte] = chr(byte)
    others = [byte for byte in range(256) if not chars[byte]]
    for i, byte in enumerate(others):
        chars[byte] = chr(0x100 + i)
    return chars


BYTE_CHARS = _byte_chars()
_CHAR_BYTES = {char: byte for byte, char in enumerate(BYTE_CHARS)}


class Tokenizer:
    """Text to token ids and back."""

    def __init__(
        self,
        tokens: list[str],
        types: list[int],
        merges: list[str],
        *,
        digits_split: bool,
    ) -> None:
        """tokens and types: by id; merges: "left right", the first merges first.

        Raises ModelFileError when they do not fit together.
        """
        self._tokens = tokens
        self._control = frozenset(i for i, kind in enumerate(types) if kind == _CONTROL)
        added = {tokens[i]: i for i, kind in enumerate(types) if kind in (_CONTROL, _USER_DEFINED)}
        plain = {t: i for i, t in enumerate(tokens) if t not in added}
        if len(plain) + len(added) != len(tokens) or "" in added:
            raise _wrong("has the same token twice")
        self._added = added
        self._pattern_plain = _alternatives(
            t for t, i in added.items() if types[i] == _USER_DEFINED
        )
        self._pattern_special = _alternatives(added)
        self._byte_ids = [plain.get(char, -1) for char in BYTE_CHARS]
        self._merges = _merge_table(plain, merges)
        self._words = _WORDS_DIGITS_SPLIT if digits_split else _WORDS
        self._cache: dict[str, tuple[int, ...]] = {}
        self._bytes: dict[int, bytes] = {}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Tokenizer:
        """Builds it from a GGUF file's metadata. Raises ModelFileError when that cannot be."""
        model = metadata.get("tokenizer.ggml.model")
        if model != "gpt2":
            raise _wrong(f"has a tokenizer of the kind {model!r}; only byte-level BPE is known")
        pre = metadata.get("tokenizer.ggml.pre", "default")
        if not isinstance(pre, str) or pre not in _SPLITS_DIGITS:
            known = ", ".join(_SPLITS_DIGITS)
            raise _wrong(f"cuts words in the way {pre!r}; known are {known}")
        tokens = _strings(metadata, "tokens")
        merges = _strings(metadata, "merges")
        types = metadata.get("tokenizer.ggml.token_type")
        if types is None:
            types = np.full(len(tokens), _NORMAL)
        if not isinstance(types, np.ndarray) or len(types) != len(tokens):
            raise _wrong(f"does not have a type for each of its {len(tokens)} tokens")
        return cls(tokens, types.tolist(), merges, digits_split=_SPLITS_DIGITS[pre])

    @property
    def n_vocab(self) -> int:
        return len(self._tokens)

    @property
    def control_ids(self) -> frozenset[int]:
        """Tokens that are no text: turn markers and the like."""
        return self._control

    def special_id(self, spelling: str) -> int | None:
        """The id of a control token such as ``<|im_end|>``; None when there is none."""
        token = self._added.get(spelling)
        return token if token in self._control else None

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of a text.

        special: take spellings of control tokens as these tokens. Never for text that comes
            from a user.
        """
        pattern = self._pattern_special if special else self._pattern_plain
        if pattern is None:
            return self._encode_plain(text)
        ids: list[int] = []
        end = 0
        for match in pattern.finditer(text):
            ids += self._encode_plain(text[end : match.start()])
            ids.append(self._added[match.group()])
            end = match.end()
        return ids + self._encode_plain(text[end:])

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """The text of tokens; bytes that are no UTF-8 become U+FFFD.

        special: write control tokens out; otherwise they give nothing.
        """
        raw = b"".join(self.token_bytes(i, special=special) for i in ids)
        return raw.decode("utf-8", "replace")

    def token_bytes(self, token: int, *, special: bool = False) -> bytes:
        """The UTF-8 bytes that one token adds; may be a part of a character."""
        if not 0 <= token < len(self._tokens):
            raise SettingError("token.range", f"{token} is not a token of this model.")
        if token in self._control:
            return self._tokens[token].encode() if special else b""
        raw = self._bytes.get(token)
        if raw is None:
            text = self._tokens[token]
            if text in self._added or any(char not in _CHAR_BYTES for char in text):
                raw = text.encode()
            else:
                raw = bytes(_CHAR_BYTES[char] for char in text)
            self._bytes[token] = raw
        return raw

    def _encode_plain(self, text: str) -> list[int]:
        classes = text.translate(_CLASSES)
        ids: list[int] = []
        for match in self._words.finditer(classes):
            word = text[match.start() : match.end()]
            found = self._cache.get(word)
            if found is None:
                found = self._merge(word)
                if len(self._cache) >= _CACHED_WORDS:
                    self._cache.clear()
                self._cache[word] = found
            ids.extend(found)
        return ids

    def _merge(self, word: str) -> tuple[int, ...]:
        """BPE of one word: always the earliest merge of the list, of equals the leftmost.

        A heap and a linked list keep it at n log n: a word may be as long as the text. Bytes
        that the vocabulary lacks (some control bytes) are dropped.
        """
        raw = word.encode("utf-8", "replace")
        ids = [i for i in (self._byte_ids[byte] for byte in raw) if i >= 0]
        end = len(ids)
        left, right = list(range(-1, end - 1)), list(range(1, end + 1))
        heap: list[tuple[int, int, int, int, int]] = []

        def offer(a: int, b: int) -> None:
            merge = self._merges.get((ids[a], ids[b]))
            if merge is not None:
                heapq.heappush(heap, (merge[0], a, ids[a], ids[b], merge[1]))

        for i in range(end - 1):
            offer(i, i + 1)
        while heap:
            _, a, id_a, id_b, merged = heapq.heappop(heap)
            b = right[a]
            if ids[a] != id_a or b >= end or ids[b] != id_b:
                continue
            ids[a], ids[b] = merged, -1
            right[a] = right[b]
            if right[a] < end:
                left[right[a]] = a
                offer(a, right[a])
            if left[a] >= 0:
                offer(left[a], a)
        return tuple(i for i in ids if i >= 0)


def _alternatives(spellings: Iterable[str]) -> re.Pattern[str] | None:
    """Matches any of the spellings, the longest where several begin."""
    ordered = sorted(spellings, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None


def _merge_table(
    vocabulary: Mapping[str, int], merges: Iterable[str]
) -> dict[tuple[int, int], tuple[int, int]]:
    """(left id, right id) to (rank, id of both together)."""
    table: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, merge in enumerate(merges):
        left, space, right = merge.partition(" ")
        try:
            pair = vocabulary[left], vocabulary[right]
            both = vocabulary[left + right]
        except KeyError:
            raise _wrong(f"has the merge {merge!r} of tokens that it lacks") from None
        if not space:
            raise _wrong(f"has the merge {merge!r} without a space")
        table.setdefault(pair, (rank, both))
    return table


def _strings(metadata: Mapping[str, Any], name: str) -> list[str]:
    value = metadata.get(f"tokenizer.ggml.{name}")
    if not isinstance(value, list):
        raise _wrong(f"has no tokenizer {name}")
    return value


def _wrong(message: str) -> ModelFileError:
    return ModelFileError("model.tokenizer", f"The model file {message}.")
