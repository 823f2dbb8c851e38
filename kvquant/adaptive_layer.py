"""One layer of the transformers cache: packed rows of mixed width, sinks and window in 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from transformers.cache_utils import CacheLayerMixin

from kvquant.adaptive_packed import Packed, Tags
from kvquant.adaptive_rows import LARGEST_HALF, clean
from kvquant.adaptive_rule import LayerRule

Tensor = Any

# The first judgement waits for so many tokens to take means and scales from.
FIRST = 16
# Offsets of the budget follow what happened at every multiple of this.
_STRIDE = 64


class AdaptiveLayer(CacheLayerMixin):  # type: ignore[misc]
    """Cache of one full-attention layer.

    ``keys`` and ``values`` (batch, heads, n, dim) hold sinks and window in 16 bits; what left the
    window is packed and only unpacked for the attention of a step. record_past: nothing leaves the
    window until ``crop`` is called, so that a rollback leaves no trace.
    """

    is_sliding = False
    is_croppable = True
    is_compileable = False

    def __init__(self, window: int, sinks: int, make_rule: Callable[[int, int, int], LayerRule]):
        super().__init__()
        self.window, self.sinks = window, sinks
        self.record_past = False
        self.watched = False
        self.padding: Tensor | None = None  # (batch) tokens of padding before the first real one
        self._make_rule = make_rule
        self._clear()

    def _clear(self) -> None:
        self.keys: Tensor = None
        self.values: Tensor = None
        self.is_initialized = False
        self._received: Tensor | None = None  # (3, batch, heads, n): see feed_attention
        self._signals: list[Tensor] = []
        self._quantized = 0
        self.groups = 1  # query heads of a KV head, known when attention is fed

    # The interface of transformers.

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        batch, heads, _, k_dim = key_states.shape
        v_dim = value_states.shape[-1]
        stored = torch.bfloat16 if self.dtype == torch.bfloat16 else torch.float16
        self.keys = torch.empty(batch, heads, 0, k_dim, dtype=stored, device=self.device)
        self.values = torch.empty(batch, heads, 0, v_dim, dtype=stored, device=self.device)
        self.rule = self._make_rule(heads, k_dim, v_dim)
        self._halves = [Packed(self.rule.ladder, heads, d, self.device) for d in (k_dim, v_dim)]
        self._tags = Tags(batch, heads, self.device)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """All keys and values (batch, heads, length, dim), the new ones as they were given."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        batch = self.keys.shape[0]
        if key_states.shape[0] != batch:
            raise ValueError(f"a batch of {key_states.shape[0]} for a cache of {batch}")
        restored = self._restored() if self._quantized else None
        out = []
        for i, (held, new) in enumerate(((self.keys, key_states), (self.values, value_states))):
            parts = [held[:, :, : self.sinks].to(self.dtype)]
            if restored is not None:
                parts.append(restored[i].permute(1, 2, 0, 3).to(self.dtype))
            out.append(torch.cat([*parts, held[:, :, self.sinks :].to(self.dtype), new], -2))
        self.keys = torch.cat([self.keys, _narrow(key_states, self.keys.dtype)], -2)
        self.values = torch.cat([self.values, _narrow(value_states, self.keys.dtype)], -2)
        if not self.watched:
            # What is not seen from now on would look as if nobody attended to it.
            self._received = None
            self.settle()
        return out[0], out[1]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        return self._quantized + self.keys.shape[-2] if self.is_initialized else 0

    def get_max_length(self) -> int:
        return -1

    @property
    def batch_size(self) -> int:
        return int(self.keys.shape[0]) if self.is_initialized else -1

    def reset(self) -> None:
        self._clear()
        self.padding = None

    def activate_past_recording(self) -> None:
        self.record_past = True

    def crop(self, tokens_to_remove: int) -> None:
        """Drops so many tokens at the end when negative; leaves so many when positive."""
        if not self.is_initialized:
            return
        length = self.get_seq_length()
        left = length + tokens_to_remove if tokens_to_remove <= 0 else min(tokens_to_remove, length)
        left = max(left, 0)
        packed_left = min(self._quantized, max(left - self.sinks, 0))
        if packed_left < self._quantized:
            tags = self._tags.all()
            for i, half in enumerate(self._halves):
                half.keep(tags[..., i], packed_left)
            self._tags.bytes.keep(torch.arange(packed_left, device=self.device))
            self._quantized = packed_left
            self._signals = []
        held = left - packed_left
        self.keys, self.values = self.keys[:, :, :held].clone(), self.values[:, :, :held].clone()
        if self._received is not None:
            self._received = self._received[..., : max(held - self.sinks, 0)]
        self.record_past, recording = False, self.record_past
        if recording:
            self.settle()
            self.record_past = True

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.batch_select_indices(beam_idx)

    def batch_repeat_interleave(self, repeats: int) -> None:
        if self.is_initialized:
            self.batch_select_indices(
                torch.arange(self.batch_size, device=self.device).repeat_interleave(repeats)
            )

    def batch_select_indices(self, indices: Tensor) -> None:
        """Rows of the batch by number, or by a mask."""
        if not self.is_initialized:
            return
        indices = torch.as_tensor(indices, device=self.device)
        if indices.dtype == torch.bool:
            indices = indices.nonzero()[:, 0]
        tags = self._tags.all()
        for i, half in enumerate(self._halves):
            half.select(tags[..., i], lambda place: place.index_select(1, indices))
        self._tags = self._tags.select(indices)
        self.keys = self.keys.index_select(0, indices)
        self.values = self.values.index_select(0, indices)
        if self._received is not None:
            self._received = self._received.index_select(1, indices)
        if self.padding is not None:
            self.padding = self.padding.index_select(0, indices)

    # What this cache adds.

    def feed_attention(self, weights: Tensor | None) -> None:
        """weights: (batch, query heads, queries, length) of the newest tokens' attention.

        Kept of each token in the window, summed over the query heads of a KV head: all that it got
        from the queries 1 … window behind it, that of the later half of them, the most of one.
        """
        if weights is None:
            self._received = None
            return
        batch, heads, queries, length = weights.shape
        front = length - max(self.keys.shape[-2] - self.sinks, 0)
        columns = weights[..., front:].detach().float().nan_to_num(0.0)
        row = torch.arange(length - queries, length, device=weights.device)[:, None]
        distance = row - torch.arange(front, length, device=weights.device)
        near = (distance >= 1) & (distance <= self.window)
        share = columns.view(batch, self.keys.shape[1], -1, queries, length - front).sum(2) * near
        late = (share * (2 * distance > self.window)).sum(-2)
        old = self._received
        if old is None:
            old = torch.zeros(3, *self.keys.shape[:2], 0, device=self.device)
        old = torch.nn.functional.pad(old, (0, length - front - old.shape[-1]))
        new = [old[0] + share.sum(-2), old[1] + late, torch.maximum(old[2], share.amax(-2))]
        self._received = torch.stack(new)
        self.groups = heads // int(self.keys.shape[1])

    def leaving(self) -> int:
        """How many tokens behind the sinks wait to be packed."""
        if not self.is_initialized or self.record_past:
            return 0
        n = int(self.keys.shape[-2]) - self.sinks - self.window
        return n if n >= (1 if self._quantized else FIRST) else 0

    @property
    def packed(self) -> int:
        """How many tokens are packed."""
        return self._quantized

    def settle(self) -> None:
        """Packs the tokens that have left the window, by this layer's own rule."""
        leaving = self.leaving()
        start = 0
        while start < leaving:
            end = start + min(_to_boundary(self._quantized), leaving - start)
            self.pack(start, end)
            start = end
        self.drop(leaving)

    def drop(self, n: int) -> None:
        """Takes n tokens behind the sinks, which are packed now, out of the 16-bit area."""
        if not n:
            return
        place = torch.arange(self.keys.shape[-2], device=self.device)
        left = torch.cat([place[: self.sinks], place[self.sinks + n :]])
        self.keys, self.values = self.keys.index_select(2, left), self.values.index_select(2, left)
        if self._received is not None:
            self._received = self._received[..., n:].clone()

    def received(self, start: int, end: int) -> Tensor | None:
        """(3, n, batch, heads) of the waiting tokens start … end; None where nothing is known."""
        if self._received is None:
            return None
        return self._received[..., start:end].permute(0, 3, 1, 2)

    def vectors(self, start: int, end: int) -> list[Tensor]:
        """Keys and values (n, batch, heads, dim) of the waiting tokens, as they will be stored;
        all of one epoch."""
        n = self._quantized
        real = self._real(self.sinks + n, end - start)
        cut = slice(self.sinks + start, self.sinks + end)
        raw = [
            clean(x[:, :, cut]).permute(2, 0, 1, 3) for x in (self.keys, self.values)
        ]  # (n, batch, heads, dim)
        known = self.rule.calibration
        if known is not None and not self._halves[0].starts:
            for half, mean, exponent in zip(
                self._halves, known.means, known.exponents, strict=True
            ):
                half.open_known(0, mean, exponent)
        elif known is None and self._halves[0].starts[-1:] != [n] and (n == 0 or _opens_epoch(n)):
            before = raw if n == 0 else self._restored()
            real_before = real if n == 0 else self._real(self.sinks, n)
            for half, x in zip(self._halves, before, strict=True):
                half.open_epoch(n, x, real_before)
        return [half.transform(x) for half, x in zip(self._halves, raw, strict=True)]

    def pack(self, start: int, end: int, tags: Tensor | None = None) -> None:
        """Stores the waiting tokens start … end, all of one epoch.

        tags: (n, batch, heads, 2) uint8, widths of keys and values; None asks this layer's rule.
        """
        n = self._quantized
        vectors = self.vectors(start, end)
        real = self._real(self.sinks + n, end - start)
        if tags is None:
            tags = self._judge(vectors, self.received(start, end), real)
        if real is not None:
            top = torch.full_like(tags, len(self.rule.ladder) - 1)
            tags = torch.where(self._real_sinks(self.sinks + n, end - start), top, tags)
            tags = torch.where(real[:, :, None, None], tags, torch.zeros_like(tags))
        for i, half in enumerate(self._halves):
            half.append(vectors[i], tags[..., i])
        self._tags.append(tags)
        self._quantized += end - start

    def _judge(self, vectors: list[Tensor], received: Tensor | None, real: Tensor | None) -> Tensor:
        n = self._quantized
        mass = None if received is None else received[0] / (max(self.window, 1) * self.groups)
        signals = self.rule.signals(vectors[0], vectors[1], mass)
        if real is not None:
            signals = torch.where(real[:, :, None, None], signals, torch.nan)
        self._signals.append(signals)
        if n == 0 or not self.rule.calibrated:
            self.rule.calibrate(signals)
        elif _is_boundary(n):
            self.rule.calibrate(torch.cat(self._signals[:-1] or self._signals))
            self._signals = [signals]
            self.rule.steer(self.body_bits(), n)
        return self.rule.judge(signals)

    def _restored(self) -> list[Tensor]:
        """Keys and values (n, batch, heads, dim) of all packed tokens, float32."""
        tags = self._tags.all()
        return [half.restore(tags[..., i]) for i, half in enumerate(self._halves)]

    def _real(self, position: int, n: int) -> Tensor | None:
        """(n, batch): whether tokens at position … are of the text."""
        if self.padding is None:
            return None
        return torch.arange(position, position + n, device=self.device)[:, None] >= self.padding

    def _real_sinks(self, position: int, n: int) -> Tensor:
        """(n, batch, 1, 1): the first tokens of a text that stands behind padding."""
        place = torch.arange(position, position + n, device=self.device)[:, None] - self.padding
        return ((place >= 0) & (place < self.sinks))[:, :, None, None]

    def classes(self) -> Tensor:
        """(n, batch, heads) uint8 of the n packed tokens, from the first one behind the sinks:
        index of the key's width | index of the value's width << 2."""
        return self._tags.classes()

    def counts(self) -> list[Tensor]:
        """How many packed keys, and how many packed values, have each width of the ladder."""
        return [torch.tensor([rows.count for rows in half.rows]) for half in self._halves]

    def body_bits(self) -> float:
        """Stored bits per number of the packed tokens, tags included."""
        return self.rule.mean_bits(self.counts())

    def bytes_stored(self) -> int:
        """Codes, scales, zero points, tags, channel means, sinks and window."""
        if not self.is_initialized:
            return 0
        packed = sum(rows.bytes_stored for half in self._halves for rows in half.rows)
        small = sum(half.small_bytes for half in self._halves) + self._tags.bytes.bytes_stored
        return packed + small + 2 * int(self.keys.numel() + self.values.numel())

    def bytes_held(self) -> int:
        """Of all tensors that live between two steps, spare room and bookkeeping included."""
        if not self.is_initialized:
            return 0
        spare = sum(
            rows.bytes_held - rows.bytes_stored
            for rows in [self._tags.bytes, *(rows for half in self._halves for rows in half.rows)]
        )
        floats = [self._received, *self._signals, *(half.matrix for half in self._halves)]
        loose = sum(4 * int(x.numel()) for x in floats if x is not None)
        return self.bytes_stored() + spare + loose

    def bytes_plain(self) -> int:
        """What the same tokens take in a plain cache of 16 bits."""
        if not self.is_initialized:
            return 0
        batch, heads, _, k_dim = self.keys.shape
        per_token = 2 * int(batch * heads * (k_dim + self.values.shape[3]))
        return per_token * self.get_seq_length()


def _narrow(x: Tensor, dtype: Any) -> Tensor:
    """To 16 bits; what is too large for a half becomes the largest one, not infinite."""
    if dtype == torch.float16 and x.dtype != torch.float16:
        x = x.clamp(-LARGEST_HALF, LARGEST_HALF)
    return x.to(dtype)


def _opens_epoch(n: int) -> bool:
    """At 16, 32, 64, 128, …"""
    return n >= FIRST and n % FIRST == 0 and (n & (n - 1)) == 0


def _is_boundary(n: int) -> bool:
    return n % _STRIDE == 0 or _opens_epoch(n)


def _to_boundary(n: int) -> int:
    """Tokens from n to the next place where an epoch opens or the budget is looked at."""
    return FIRST - n % FIRST if n < _STRIDE else _STRIDE - n % _STRIDE
