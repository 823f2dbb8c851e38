"""The adaptive KV cache of one sequence: pages + controller + attention, plainly.

The first tokens (sinks) and the newest (window) are halves; a token that leaves the window is
judged, for every layer and KV head, and goes into the pages. Keys and values are kept in a space
of their own (``kvquant.transforms``): keys after RoPE (layout "rotated"), or before it and turned
whenever they are read ("pre_rope"). Channel i of a head meets i + head_dim / 2 in RoPE.

    out = cache.attend(layer, q, k, v)     # once per layer, n new tokens
    cache.finish(tokens)                   # then judge, quantize, keep
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvquant.attention import Part, attend, scores_of, turned_keys
from kvquant.cache_setup import CacheSetup
from kvquant.controller import BUDGET_TOKENS
from kvquant.features import Leaving, Received
from kvquant.pages import PagePool, TokenPages
from kvquant.transforms import back, forth, hadamard, rotate
from kvquant.vector_format import Bytes, Floats, halves

Halves = NDArray[np.float16]
Ints = NDArray[np.int64]
Watch = Callable[[int, Floats], None]


@dataclass(frozen=True, slots=True)
class _Staged:
    """A layer's new tokens: keys, values (H, n, D), what they and the window got from them."""

    keys: Halves
    values: Halves
    received: Received


class KVCache:
    """Positions count from 0. Sinks are [0, sinks), quantized tokens come up to ``front``, the
    window is [front, length)."""

    def __init__(self, setup: CacheSetup, pool: PagePool | None = None) -> None:
        """pool: of the setup's head size, shared with other caches; None: its own."""
        s = setup
        self.setup = setup
        self.pool = pool if pool is not None else PagePool(s.head_dim)
        self.watch: Watch | None = None
        """Called with (layer, scores (n_head, n, tokens)) in order of position; see ``attend``."""
        self.judged = (0, 0)
        """Nanoseconds that features and controller took, and tokens judged."""
        self.length = 0
        self.front = 0
        self._positions: Ints = np.zeros(0, np.int64)
        self._tokens: Ints = np.zeros(0, np.int64)
        self._entropies: Floats = np.zeros(0, np.float32)
        self._pages = [
            [TokenPages(self.pool, s.ladder, s.exponents(i, h)) for h in range(s.n_kv_head)]
            for i in range(s.n_layer)
        ]
        near = (s.n_layer, s.n_kv_head, s.n_slots)
        self._keys: Halves = np.zeros((*near, s.head_dim), np.float16)
        self._values: Halves = np.zeros((*near, s.head_dim), np.float16)
        self._received = Received.zeros(*near)
        self._staged: dict[int, _Staged] = {}

    # ---- a step

    def attend(self, layer: int, q: Floats, k: Floats, v: Floats) -> Floats:
        """Attention of n new tokens at positions length … length + n - 1; keeps them aside.

        q: (n, n_head, D); k, v: (n, n_kv_head, D), all before RoPE. Returns (n, n_head, D).
        """
        s, n = self.setup, len(q)
        new = np.arange(self.length, self.length + n)
        turn = s.turns(new[:, None])
        rotated = s.key_layout == "rotated"
        queries = rotate(q, *turn) * np.float32(s.head_dim**-0.5)
        if rotated:
            queries, k = hadamard(queries), rotate(k, *turn)
        k = forth(k, s.key_mean[layer]).swapaxes(0, 1)
        v = forth(v, s.v_mean[layer]).swapaxes(0, 1)
        keys, values = halves(k), halves(v)
        near = self._near()
        slots = s.slots(near)
        keys_near = np.concatenate([self._keys[layer][:, slots], keys], axis=1)
        values_near = np.concatenate([self._values[layer][:, slots], values], axis=1)
        at = np.concatenate([near, new])
        out = np.zeros((n, s.n_head, s.head_dim), np.float32)
        weights = np.zeros((s.n_kv_head, n, len(at)), np.float32)
        watched = np.full((s.n_head, n, self.length + n), -np.inf, np.float32)
        for h in range(s.n_kv_head):
            heads = slice(h * s.group, (h + 1) * s.group)
            rows = queries[:, heads].reshape(n * s.group, s.head_dim)
            visible = np.repeat(at[None] <= new[:, None], s.group, axis=0)
            parts, places = self._parts(layer, h)
            parts.append(
                Part(
                    self._ready(layer, h, keys_near[h].astype(np.float32), at),
                    values_near[h].astype(np.float32),
                    visible,
                )
            )
            found, given = attend(rows, parts)
            spread = found.reshape(n, s.group, s.head_dim)
            out[:, heads] = back(spread, s.v_mean[layer, h])
            weights[h] = given[-1].reshape(n, s.group, -1).sum(1)
            if self.watch is not None:
                for part, place in zip(parts, [*places, at], strict=True):
                    scores = scores_of(rows, part).reshape(n, s.group, -1)
                    watched[heads][..., place] = scores.swapaxes(0, 1)
        if self.watch is not None:
            self.watch(layer, watched)
        received = Received.of(weights, new[:, None] - at, s.window)
        self._staged[layer] = _Staged(keys, values, received)
        return out

    def finish(self, tokens: NDArray[np.integer], entropies: Floats | None = None) -> None:
        """Ends a step after every layer's ``attend``: keeps the tokens, judges what leaves.

        tokens: (n,); entropies: (n,) of the predictions after them, where they were measured.

        Raises CacheFullError, and then the cache is as before the step.
        """
        s, n = self.setup, len(tokens)
        staged = [self._staged[i] for i in range(s.n_layer)]
        near = self._near()
        slots, n_near = s.slots(near), len(near)
        new = np.arange(self.length, self.length + n)
        length = self.length + n
        first = max(self.front, s.sinks)
        last = max(first, length - s.window)

        # Window and new tokens together, as columns: (L, H, n_near + n).
        at = np.concatenate([near, new])
        keys = np.concatenate([self._keys[:, :, slots], np.stack([x.keys for x in staged])], 2)
        values = np.concatenate(
            [self._values[:, :, slots], np.stack([x.values for x in staged])], 2
        )
        fresh = Received(
            *(
                np.stack([getattr(x.received, part) for x in staged])
                for part in ("mass", "late", "peak")
            )
        )
        before = Received.zeros(s.n_layer, s.n_kv_head, n_near + n)
        before.put(slice(0, n_near), self._received.at(slots))
        received = before.joined(fresh)
        all_tokens = np.concatenate([self._tokens, tokens.astype(np.int64)])
        measured = np.full(n, np.nan, np.float32) if entropies is None else entropies
        all_entropies = np.concatenate([self._entropies, measured.astype(np.float32)])

        out = np.flatnonzero((at >= first) & (at < last))
        leaving = Leaving(
            positions=at[out],
            tokens=all_tokens[at[out]],
            received=received.at(out),
            key_norm=_lengths(keys[:, :, out]),
            value_norm=_lengths(values[:, :, out]),
            entropy=all_entropies[at[out]] if s.exact_entropy else None,
        )
        self._quantize(leaving, keys[:, :, out], values[:, :, out])
        stays = np.flatnonzero((at < s.sinks) | (at >= last))
        where = s.slots(at[stays])
        self._keys[:, :, where], self._values[:, :, where] = keys[:, :, stays], values[:, :, stays]
        self._received.put(where, received.at(stays))
        self._tokens, self._entropies = all_tokens, all_entropies
        self.length, self.front = length, last if last > first else self.front
        self._staged = {}

    def _quantize(self, leaving: Leaving, keys: Halves, values: Halves) -> None:
        """Judges tokens in order of position, and appends them. keys, values: (L, H, n, D)."""
        s, n = self.setup, len(leaving.positions)
        if n == 0:
            return
        classes = self.classes()
        before, start = len(classes), time.perf_counter_ns()
        features = (
            None if s.controller is None else s.controller.features(leaving, s.window, s.group)
        )
        done = 0
        while done < n:
            # The offset changes at every 64th quantized token, wherever a prompt is cut.
            turn = slice(done, done + BUDGET_TOKENS - len(classes) % BUDGET_TOKENS)
            if s.controller is None or features is None:
                found = np.full((n, s.n_layer, s.n_kv_head), s.constant_class, np.uint8)
                turn = slice(done, n)
            else:
                offset = s.offset(classes)
                found = s.controller.judge(features[turn], leaving.positions[turn], offset)
            classes = np.concatenate([classes, found])
            done = turn.stop
        if s.controller is not None:
            took = time.perf_counter_ns() - start
            self.judged = (self.judged[0] + took, self.judged[1] + n)
        self._append(classes[before:], keys.astype(np.float32), values.astype(np.float32))
        self._positions = np.concatenate([self._positions, leaving.positions])

    def _append(self, classes: Bytes, keys: Floats, values: Floats) -> None:
        """To all heads or to none."""
        done: list[tuple[TokenPages, int]] = []
        try:
            for i, h, pages in self._heads():
                n = len(pages)
                pages.append(classes[:, i, h], keys[i, h], values[i, h])
                done.append((pages, n))
        except Exception:
            for pages, n in done:
                pages.truncate(n)
            raise

    def _parts(self, layer: int, head: int) -> tuple[list[Part], list[Ints]]:
        """The quantized tokens by class, and the position of each."""
        pages = self._pages[layer][head]
        parts, places = [], []
        for cls in pages.present():
            keys, values = pages.by_class(cls)
            at = self._positions[pages.places(cls)]
            parts.append(Part(self._ready(layer, head, keys, at), values))
            places.append(at)
        return parts, places

    def _ready(self, layer: int, head: int, keys: Floats, at: Ints) -> Floats:
        """Stored keys as queries meet them."""
        s = self.setup
        if s.key_layout == "rotated":
            return keys
        return turned_keys(keys, s.key_mean[layer, head], *s.turns(at))

    def _near(self) -> Ints:
        """Positions that are halves, in order."""
        sinks = np.arange(min(self.setup.sinks, self.length))
        return np.concatenate([sinks, np.arange(max(self.front, self.setup.sinks), self.length)])

    def _heads(self) -> list[tuple[int, int, TokenPages]]:
        return [
            (i, h, pages) for i, layer in enumerate(self._pages) for h, pages in enumerate(layer)
        ]

    # ---- changes

    def truncate(self, n: int) -> None:
        """Forgets the tokens from position n on; 0 <= n <= length."""
        assert 0 <= n <= self.length, (n, self.length)
        self._staged = {}
        if n < self.front:
            kept = int(np.count_nonzero(self._positions < n))
            for _, _, pages in self._heads():
                pages.truncate(kept)
            self._positions = self._positions[:kept]
            self.front = n
        self.length = n
        self._tokens, self._entropies = self._tokens[:n], self._entropies[:n]

    def fork(self) -> KVCache:
        """A second cache with the same tokens; pages are shared until one of the two writes."""
        other = KVCache(self.setup, self.pool)
        other.length, other.front = self.length, self.front
        other._positions, other._tokens = self._positions, self._tokens
        other._entropies = self._entropies
        other._pages = [[pages.fork() for pages in layer] for layer in self._pages]
        other._keys, other._values = self._keys.copy(), self._values.copy()
        other._received = self._received.at(slice(None))
        return other

    def requantize(self, classes: Bytes) -> None:
        """New classes (n, L, H) for all quantized tokens; widths that stay keep their codes.

        Raises CacheFullError; heads before the one that failed have their new classes then.
        """
        for i, h, pages in self._heads():
            pages.requantize(classes[:, i, h])

    def evict(self, first: int, last: int) -> None:
        """Drops quantized positions [first, last) for good; all others stay where they are."""
        assert self.setup.sinks <= first <= last <= max(self.front, first), (first, last)
        a, b = np.searchsorted(self._positions, [first, last]).tolist()
        for _, _, pages in self._heads():
            pages.evict(a, b)
        self._positions = np.delete(self._positions, slice(a, b))

    def slide(self, n: int) -> None:
        """Drops the n oldest positions after the sinks; all later tokens move down by n.

        Keys of the layout "rotated" are turned back by n positions and quantized again in their
        width; those of "pre_rope" stay as they are. 0 <= n <= length - sinks.
        """
        s = self.setup
        assert 0 <= n <= self.length - s.sinks, (n, self.length)
        first = s.sinks + n
        near = self._near()
        moved = near[near >= first]
        held = (
            self._moved_keys(self._keys[:, :, s.slots(moved)].astype(np.float32), n),
            self._values[:, :, s.slots(moved)],
            self._received.at(s.slots(moved)),
        )
        kept = int(np.count_nonzero(self._positions < first))
        for i, h, pages in self._heads():
            pages.evict(0, kept)
            if s.key_layout == "rotated" and len(pages):
                keys, values = pages.read()
                classes = pages.classes
                pages.clear()
                pages.append(classes, self._moved_keys(keys, n, i, h), values)
        self._positions = self._positions[kept:] - n
        self.length -= n
        self.front = max(self.front - n, min(s.sinks, self.length))
        where = s.slots(moved - n)
        self._keys[:, :, where], self._values[:, :, where] = halves(held[0]), held[1]
        self._received.put(where, held[2])
        self._tokens = np.delete(self._tokens, slice(s.sinks, first))
        self._entropies = np.delete(self._entropies, slice(s.sinks, first))

    def _moved_keys(
        self, keys: Floats, n: int, layer: int | None = None, head: int | None = None
    ) -> Floats:
        """Stored keys (…, m, D) of all heads or of one, as they are n positions earlier."""
        s = self.setup
        if s.key_layout == "pre_rope":
            return keys
        mean = s.key_mean[:, :, None] if layer is None else s.key_mean[layer, head]
        return forth(rotate(back(keys, mean), *s.turns(np.array(-n))), mean)

    # ---- what it holds

    def classes(self) -> Bytes:
        """(n, L, H): of the quantized tokens, tag of the key and 4 times the tag of the value."""
        s = self.setup
        found = [pages.classes for _, _, pages in self._heads()]
        return np.stack(found, axis=1).reshape(-1, s.n_layer, s.n_kv_head)

    @property
    def ladder(self) -> tuple[int, ...]:
        """Width in bits of each tag."""
        return self.setup.ladder

    @property
    def positions(self) -> Ints:
        """Of the quantized tokens, in order."""
        return self._positions

    @property
    def tokens(self) -> Ints:
        """Ids of all positions, evicted ones included."""
        return self._tokens

    @property
    def kv_bytes(self) -> int:
        """Bytes of the stored tokens: codes, scales, zero points, tags, halves."""
        s = self.setup
        places = s.n_layer * s.n_kv_head
        tags = -(-len(self._positions) * places // 2)
        stored = sum(pages.nbytes - -(-len(pages) // 2) for _, _, pages in self._heads())
        return stored + tags + len(self._near()) * places * 4 * s.head_dim

    @property
    def bits_mean(self) -> float:
        """kv_bytes in bits per number stored; 0 when empty."""
        s = self.setup
        n = len(self._positions) + len(self._near())
        return 8 * self.kv_bytes / max(n * 2 * s.n_layer * s.n_kv_head * s.head_dim, 1)

    @property
    def class_tokens(self) -> list[int]:
        """Quantized (token, layer, head)s by class."""
        counts: list[int] = np.bincount(self.classes().ravel(), minlength=16).tolist()
        return counts


def _lengths(x: Halves) -> Floats:
    """Of vectors along the last axis."""
    squares = np.square(x.astype(np.float32)).sum(-1)
    found: Floats = np.sqrt(squares)
    return found
