"""Pages, cells and lists of classes: what is stored is what was given, and all of it is counted."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from kvquant.errors import CacheFullError, SettingError
from kvquant.pages import CELL_TOKENS, PAGE_BYTES, PagePool, TokenPages
from kvquant.vector_format import WIDTHS, decode, encode

DIM = 32
LADDER = (2, 3, 4, 8)


def vectors(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32)


def some_classes(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 16, n).astype(np.uint8)


def filled(classes: np.ndarray, ladder: Any = LADDER, pool: PagePool | None = None) -> TokenPages:
    pages = TokenPages(pool or PagePool(DIM), ladder)
    n = len(classes)
    pages.append(classes, vectors(n, 1), vectors(n, 2))
    return pages


def expected(classes: np.ndarray, ladder: Any = LADDER) -> tuple[np.ndarray, np.ndarray]:
    """Vectors through the format, one width after the other, without pages."""
    found = []
    for seed, tags in ((1, classes & 3), (2, classes >> 2)):
        x = vectors(len(classes), seed)
        for tag, bits in enumerate(ladder):
            chosen = tags == tag
            x[chosen] = decode(encode(x[chosen], bits, -11), -11)
        found.append(x)
    return found[0], found[1]


def same(pages: TokenPages, classes: np.ndarray, kept: Any = slice(None), ladder: Any = LADDER
         ) -> None:  # fmt: skip
    keys, values = pages.read()
    want_keys, want_values = expected(classes, ladder)
    assert np.array_equal(pages.classes, classes[kept])
    assert np.array_equal(keys, want_keys[kept])
    assert np.array_equal(values, want_values[kept])


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 100])
def test_tokens_come_back_in_order(n: int) -> None:
    same(filled(some_classes(n)), some_classes(n))


@pytest.mark.parametrize("ladder", [(2, 3, 4, 8), (2, 4, 8, 16), (3, 4, 8, 16), (16,) * 4])
def test_all_pairs_of_neighbours(ladder: tuple[int, ...]) -> None:
    pairs = np.array(list(itertools.product(range(16), repeat=2)), np.uint8).ravel()
    same(filled(pairs, ladder), pairs, ladder=ladder)


@pytest.mark.parametrize("parts", [[1] * 70, [70], [16, 16, 38], [3, 50, 17]])
def test_codes_do_not_depend_on_the_filling(parts: list[int]) -> None:
    classes = some_classes(70)
    whole, pages = filled(classes), TokenPages(PagePool(DIM), LADDER)
    at = 0
    for n in parts:
        part = slice(at, at + n)
        pages.append(classes[part], vectors(70, 1)[part], vectors(70, 2)[part])
        at += n
    for token in range(70):
        for one, other in zip(pages.codes(token), whole.codes(token), strict=True):
            assert one.bits == other.bits
            assert np.array_equal(one.codes, other.codes)
            assert np.array_equal(one.scales, other.scales)
            assert np.array_equal(one.zeros, other.zeros)


def test_bytes_are_those_of_codes_scales_and_tags() -> None:
    per_vector = {2: 8 + 1, 3: 12 + 1, 4: 16 + 1, 8: 32 + 2, 16: 64}
    for bits in WIDTHS:
        pages = filled(np.zeros(33, np.uint8), (bits,) * 4)
        assert pages.nbytes == 33 * 2 * per_vector[bits] + 17
        key, value = pages.codes(7)
        for v in (key, value):
            # Codes of one byte each here; packed they take bits / 8.
            stored = v.codes.size * bits // 8 + (bits < 16) * v.scales.size
            assert stored + (bits == 8) * v.zeros.size == per_vector[bits]
        assert pages.pool.cell_bytes(bits) == 16 * per_vector[bits]


@pytest.mark.parametrize(("first", "last"), [
    (0, 0), (0, 60), (60, 60), (0, 1), (59, 60), (16, 32), (15, 17), (3, 44),
])  # fmt: skip
def test_dropping_tokens(first: int, last: int) -> None:
    classes = some_classes(60, first + last)
    pages = filled(classes)
    pages.evict(first, last)
    kept = np.r_[0:first, last:60]
    same(pages, classes, kept)
    pages.truncate(first)
    same(pages, classes, slice(first))
    pages.append(classes[first:], vectors(60, 1)[first:], vectors(60, 2)[first:])
    same(pages, classes)


def test_what_is_dropped_is_given_back() -> None:
    pool = PagePool(DIM)
    pages = filled(some_classes(200), pool=pool)
    assert pool.counters.pages_taken > 0
    pages.clear()
    counters = pool.counters
    assert (counters.pages_taken, counters.page_bytes, counters.cells) == (0, 0, {})
    assert counters.allocations > 0
    assert counters.fragmentation == 0


def test_requantizing() -> None:
    classes, others = some_classes(50), some_classes(50, 9)
    pages = filled(classes)
    keys, values = pages.read()
    pages.requantize(others)
    assert np.array_equal(pages.classes, others)
    new_keys, new_values = pages.read()
    for i in range(50):
        for old, new, a, b in (
            (keys[i], new_keys[i], classes[i] & 3, others[i] & 3),
            (values[i], new_values[i], classes[i] >> 2, others[i] >> 2),
        ):
            if a == b:
                assert np.array_equal(old, new)
            again = decode(encode(old[None], LADDER[b], -11), -11)[0]
            assert a == b or np.array_equal(new, again)


def test_forks_share_until_one_writes() -> None:
    classes = some_classes(60)
    pool = PagePool(DIM)
    pages = filled(classes[:40], pool=pool)
    cells = pool.counters.cells
    fork = pages.fork()
    assert pool.counters.cells == cells
    fork.append(classes[40:], vectors(60, 1)[40:], vectors(60, 2)[40:])
    assert pool.counters.cells != cells
    same(pages, classes[:40])
    pages.append(classes[40:], vectors(60, 1)[40:], vectors(60, 2)[40:])
    pages.evict(3, 30)
    keys, values = fork.read()
    assert np.array_equal(fork.classes, classes)
    assert np.array_equal(keys[:40], expected(classes[:40])[0])
    assert np.array_equal(values[:40], expected(classes[:40])[1])
    pages.clear()
    fork.clear()
    assert pool.counters.pages_taken == 0


def test_cells_fill_pages_of_one_width() -> None:
    pool = PagePool(DIM)
    cells = [pool.take(bits) for bits in (2, 4, 2, 16)]
    assert cells[0].page is cells[2].page
    assert cells[0].page is not cells[1].page
    counters = pool.counters
    assert counters.cells == {2: 2, 4: 1, 16: 1}
    assert counters.cell_bytes == {2: 2 * 16 * 9, 4: 16 * 17, 16: 16 * 64}
    assert counters.page_bytes == 3 * PAGE_BYTES
    used = sum(counters.cell_bytes.values())
    assert counters.fragmentation == pytest.approx(1 - used / (3 * PAGE_BYTES))
    per_page = PAGE_BYTES // (16 * 64)
    more = [pool.take(16) for _ in range(per_page)]
    assert pool.counters.pages_taken == 4
    for cell in [*cells, *more]:
        pool.give(cell)
    assert pool.counters.page_bytes == 0
    assert pool.counters.allocations == 4 + per_page


def test_a_full_pool_changes_nothing() -> None:
    pool = PagePool(DIM, max_bytes=2 * PAGE_BYTES + 5)
    pages = TokenPages(pool, LADDER)
    zeros = np.zeros(20, np.uint8)
    pages.append(zeros, vectors(20, 1), vectors(20, 2))
    mixed = np.array([0] * 15 + [1, 2], np.uint8)
    before = pages.read()
    with pytest.raises(CacheFullError, match="2 pages"):
        pages.append(mixed, vectors(17, 3), vectors(17, 4))
    with pytest.raises(CacheFullError):
        pages.requantize(np.array([0, 1, 2, 3] * 5, np.uint8))
    assert len(pages) == 20
    for one, other in zip(pages.read(), before, strict=True):
        assert np.array_equal(one, other)
    assert pool.counters.cells == {2: 2 * -(-20 // CELL_TOKENS)}


@pytest.mark.parametrize("ladder", [(2, 3, 4, 5), (0,), (2, 4, 8, 32)])
def test_unknown_widths(ladder: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match="width"):
        TokenPages(PagePool(DIM), ladder)
    with pytest.raises(SettingError, match="width"):
        PagePool(DIM).take(6)


def test_no_nan_gets_into_a_page() -> None:
    x = vectors(4, 1)
    x[1, 3], x[2], x[3, 0] = np.nan, np.inf, -np.inf
    for bits in WIDTHS:
        pages = TokenPages(PagePool(DIM), (bits,) * 4)
        pages.append(np.zeros(4, np.uint8), x, x)
        assert all(np.isfinite(part).all() for part in pages.read())
