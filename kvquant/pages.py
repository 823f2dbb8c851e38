"""The storage of a quantized cache, readable: pages from a pool, cells in them, lists of classes.

A page of 64 KiB holds cells of one width; a cell is 16 keys or 16 values of one KV head with their
scales. The tokens of a head lie in 16 lists by class (width of the key, width of the value), in
order of position, so that tags alone say where a token is. Cells are counted references: forks
share them until one side writes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kvquant.errors import CacheFullError
from kvquant.vector_format import (
    Bytes,
    Floats,
    Vectors,
    check_width,
    decode,
    encode,
    pack,
    row_bytes,
    unpack,
)

PAGE_BYTES = 65_536
CELL_TOKENS = 16


@dataclass(frozen=True, slots=True)
class PoolCounters:
    """allocations: cells taken so far; pages_taken: pages that hold cells; page_bytes: theirs;
    cells, cell_bytes: held now, by width; fragmentation: part of page_bytes in no cell, 0 … 1."""

    allocations: int
    pages_taken: int
    page_bytes: int
    cells: dict[int, int]
    cell_bytes: dict[int, int]
    fragmentation: float


class PagePool:
    """Pages for all caches of one head size. Not for several threads at once."""

    def __init__(self, head_dim: int, max_bytes: int | None = None) -> None:
        """max_bytes: pages are never more than that; None: as many as memory holds."""
        self.head_dim = head_dim
        self._max_pages = None if max_bytes is None else max_bytes // PAGE_BYTES
        self._pages: set[_Page] = set()
        self._open: dict[int, list[_Page]] = {}
        self._allocations = 0
        self._cells: Counter[int] = Counter()

    def cell_bytes(self, bits: int) -> int:
        """Codes, scales and zero points of a cell; none beside 16-bit codes."""
        return CELL_TOKENS * (row_bytes(self.head_dim, bits) + {8: 2, 16: 0}.get(bits, 1))

    def take(self, bits: int) -> Cell:
        """A cell with one reference.

        Raises SettingError for a width that does not exist, CacheFullError when there is no page.
        """
        pages = self._open.setdefault(check_width(bits), [])
        if not pages:
            if self._max_pages is not None and len(self._pages) >= self._max_pages:
                raise CacheFullError(
                    "cache.full",
                    f"The KV cache's pool of {self._max_pages} pages is exhausted.",
                    "Shorten the context or give the cache more memory.",
                )
            page = _Page(bits, self.cell_bytes(bits))
            self._pages.add(page)
            pages.append(page)
        page = pages[-1]
        cell = Cell(page, page.free.pop(), self.head_dim)
        if not page.free:
            pages.pop()
        self._allocations += 1
        self._cells[bits] += 1
        return cell

    def give(self, cell: Cell) -> None:
        """Gives one reference back; the last one frees the cell, and a page without cells."""
        cell.references -= 1
        if cell.references > 0:
            return
        page = cell.page
        self._cells[page.bits] -= 1
        if not page.free:
            self._open[page.bits].append(page)
        page.free.append(cell.index)
        if len(page.free) == page.capacity:
            self._open[page.bits].remove(page)
            self._pages.remove(page)

    @property
    def counters(self) -> PoolCounters:
        cells = {bits: n for bits, n in sorted(self._cells.items()) if n}
        cell_bytes = {bits: n * self.cell_bytes(bits) for bits, n in cells.items()}
        page_bytes = len(self._pages) * PAGE_BYTES
        unused = 1.0 - sum(cell_bytes.values()) / page_bytes if page_bytes else 0.0
        return PoolCounters(
            self._allocations, len(self._pages), page_bytes, cells, cell_bytes, unused
        )


class _Page:
    def __init__(self, bits: int, cell_bytes: int) -> None:
        self.bits = bits
        self.cell_bytes = cell_bytes
        self.capacity = PAGE_BYTES // cell_bytes
        self.data = np.zeros(PAGE_BYTES, np.uint8)
        self.free = list(reversed(range(self.capacity)))


class Cell:
    """Sixteen vectors of one width, packed: codes, then scales, then zero points."""

    def __init__(self, page: _Page, index: int, dim: int) -> None:
        self.page = page
        self.index = index
        self.references = 1
        self._dim = dim
        raw = page.data[index * page.cell_bytes : (index + 1) * page.cell_bytes]
        codes = CELL_TOKENS * row_bytes(dim, page.bits)
        self._codes = raw[:codes].reshape(CELL_TOKENS, -1)
        self._beside = raw[codes:].reshape(-1, CELL_TOKENS)

    @property
    def bits(self) -> int:
        return self.page.bits

    def write(self, lane: int, vectors: Vectors) -> None:
        """Vectors (n, dim) into lanes from ``lane`` on."""
        lanes = slice(lane, lane + len(vectors.codes))
        self._codes[lanes] = pack(vectors.codes, self.bits)
        for row, values in zip(self._beside, (vectors.scales, vectors.zeros), strict=False):
            row[lanes] = values

    def read(self, n: int) -> Vectors:
        """Copies of the first n vectors."""
        codes = unpack(self._codes[:n].copy(), self.bits, self._dim)
        none = np.zeros(n, np.uint8)
        scales, zeros, *_ = [*(row[:n].copy() for row in self._beside), none, none]
        return Vectors(self.bits, codes, scales, zeros)


@dataclass(slots=True)
class _Half:
    """Keys or values of one class: ``count`` vectors in cells of ``bits``."""

    bits: int
    cells: list[Cell] = field(default_factory=list)
    count: int = 0


class TokenPages:
    """The quantized tokens of one layer and KV head.

    Keys and values pass in and out as float32 (n, dim) in order of position; a class is the key's
    index into the ladder, and the value's times 4.
    """

    def __init__(
        self, pool: PagePool, ladder: tuple[int, ...], exponents: tuple[int, int] = (-11, -11)
    ) -> None:
        """ladder: up to four widths; exponents: of the scales of keys and of values.

        Raises SettingError for a width that does not exist.
        """
        self.pool = pool
        self.ladder = tuple(check_width(bits) for bits in ladder)
        self.exponents = exponents
        self.classes: Bytes = np.zeros(0, np.uint8)
        self._lists: dict[int, tuple[_Half, _Half]] = {}

    def __len__(self) -> int:
        return len(self.classes)

    def append(self, classes: Bytes, keys: Floats, values: Floats) -> None:
        """Quantizes n more tokens. Raises CacheFullError, and then nothing has changed."""
        before = self.classes
        try:
            for cls in np.unique(classes).tolist():
                chosen = classes == cls
                pair = self._pair(cls)
                for half, x, e in zip(pair, (keys, values), self.exponents, strict=True):
                    self._extend(half, encode(x[chosen], half.bits, e))
        except CacheFullError:
            self._keep(np.arange(len(before)), before)
            raise
        self.classes = np.concatenate([before, classes.astype(np.uint8)])

    def by_class(self, cls: int) -> tuple[Floats, Floats]:
        """Keys and values of one class, dequantized."""
        key, value = (self._read(half) for half in self._pair(cls))
        return decode(key, self.exponents[0]), decode(value, self.exponents[1])

    def places(self, cls: int) -> NDArray[np.intp]:
        """Which tokens, counted in order of position, are of a class."""
        return np.flatnonzero(self.classes == cls)

    def present(self) -> list[int]:
        """Classes that some token has."""
        found: list[int] = np.unique(self.classes).tolist()
        return found

    def read(self) -> tuple[Floats, Floats]:
        """All keys and values, dequantized, in order of position."""
        keys = np.zeros((len(self), self.pool.head_dim), np.float32)
        values = np.zeros_like(keys)
        for cls in self.present():
            at = self.places(cls)
            keys[at], values[at] = self.by_class(cls)
        return keys, values

    def codes(self, token: int) -> tuple[Vectors, Vectors]:
        """What is stored of one token's key and value."""
        keys, values = self._each()
        return keys[token], values[token]

    def requantize(self, classes: Bytes) -> None:
        """New classes for all tokens. A key or value that keeps its width keeps its codes.

        Raises CacheFullError, and then nothing has changed.
        """
        made = TokenPages(self.pool, self.ladder, self.exponents)
        stored = self._each()
        try:
            for cls in np.unique(classes).tolist():
                for which, half in enumerate(made._pair(cls)):
                    for token in np.flatnonzero(classes == cls).tolist():
                        vector = stored[which][token]
                        made._extend(half, self._in_width(vector, which, half.bits))
        except CacheFullError:
            made.clear()
            raise
        self.clear()
        self.classes, self._lists = classes.astype(np.uint8), made._lists

    def truncate(self, n: int) -> None:
        """Keeps the first n tokens."""
        self._keep(np.arange(n), self.classes)

    def evict(self, first: int, last: int) -> None:
        """Drops the tokens [first, last), counted in order of position."""
        kept = np.concatenate([np.arange(first), np.arange(last, len(self))])
        self._keep(kept, self.classes)

    def fork(self) -> TokenPages:
        """A second list with the same tokens; cells are shared until one of the two writes."""
        other = TokenPages(self.pool, self.ladder, self.exponents)
        other.classes = self.classes
        for cls, halves in self._lists.items():
            for half in halves:
                for cell in half.cells:
                    cell.references += 1
            key, value = (_Half(half.bits, list(half.cells), half.count) for half in halves)
            other._lists[cls] = key, value
        return other

    def clear(self) -> None:
        """Gives every cell back."""
        self._keep(np.arange(0), self.classes)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, scales and zero points of the tokens; half a byte each for the tags."""
        total = 0
        for key, value in self._lists.values():
            for half in (key, value):
                total += half.count * self.pool.cell_bytes(half.bits) // CELL_TOKENS
        return total + -(-len(self) // 2)

    def _pair(self, cls: int) -> tuple[_Half, _Half]:
        if cls not in self._lists:
            self._lists[cls] = _Half(self.ladder[cls & 3]), _Half(self.ladder[cls >> 2])
        return self._lists[cls]

    def _extend(self, half: _Half, vectors: Vectors) -> None:
        """Appends encoded vectors, sixteen to a cell."""
        done, n = 0, len(vectors.codes)
        while done < n:
            lane = half.count % CELL_TOKENS
            if lane == 0:
                half.cells.append(self.pool.take(half.bits))
            elif half.cells[-1].references > 1:
                self._make_own(half)
            part = slice(done, done + min(CELL_TOKENS - lane, n - done))
            half.cells[-1].write(lane, _pick(vectors, part))
            half.count += part.stop - part.start
            done = part.stop

    def _make_own(self, half: _Half) -> None:
        """Copies the last cell, which a fork shares, before it is written."""
        shared = half.cells[-1]
        copy = self.pool.take(half.bits)
        copy.write(0, shared.read(CELL_TOKENS))
        self.pool.give(shared)
        half.cells[-1] = copy

    def _read(self, half: _Half) -> Vectors:
        found = [
            cell.read(min(CELL_TOKENS, half.count - i * CELL_TOKENS))
            for i, cell in enumerate(half.cells)
        ]
        if not found:
            return encode(np.zeros((0, self.pool.head_dim), np.float32), half.bits, 0)
        return Vectors(
            half.bits,
            np.concatenate([v.codes for v in found]),
            np.concatenate([v.scales for v in found]),
            np.concatenate([v.zeros for v in found]),
        )

    def _each(self) -> tuple[dict[int, Vectors], dict[int, Vectors]]:
        """What is stored of every token's key and value."""
        keys: dict[int, Vectors] = {}
        values: dict[int, Vectors] = {}
        for cls in self.present():
            tokens = self.places(cls).tolist()
            for found, half in zip((keys, values), self._pair(cls), strict=True):
                vectors = self._read(half)
                found.update({token: _pick(vectors, i) for i, token in enumerate(tokens)})
        return keys, values

    def _in_width(self, vector: Vectors, which: int, bits: int) -> Vectors:
        """A key (0) or value (1) in a width; as it is where it has that width already."""
        if vector.bits == bits:
            return vector
        exponent = self.exponents[which]
        return encode(decode(vector, exponent), bits, exponent)

    def _keep(self, kept: NDArray[np.intp], classes: Bytes) -> None:
        """Only these tokens of those with ``classes``, by their place in the order of position."""
        for cls in list(self._lists):
            # What of the class is kept, counted within the class.
            at = np.flatnonzero(np.isin(np.flatnonzero(classes == cls), kept))
            for half in self._lists[cls]:
                self._shorten(half, at)
            if len(at) == 0:
                del self._lists[cls]
        self.classes = classes[kept]

    def _shorten(self, half: _Half, at: NDArray[np.intp]) -> None:
        prefix = len(at) == 0 or int(at[-1]) == len(at) - 1
        vectors = None if prefix else _pick(self._read(half), at)
        n_kept = len(at) if prefix else 0
        n_cells = -(-n_kept // CELL_TOKENS)
        for cell in half.cells[n_cells:]:
            self.pool.give(cell)
        del half.cells[n_cells:]
        half.count = n_kept
        if vectors is not None:
            self._extend(half, vectors)


def _pick(vectors: Vectors, at: int | slice | NDArray[np.intp]) -> Vectors:
    if isinstance(at, int):
        at = slice(at, at + 1)
    return Vectors(vectors.bits, vectors.codes[at], vectors.scales[at], vectors.zeros[at])
