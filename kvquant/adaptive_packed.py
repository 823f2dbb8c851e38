"""What left the window: packed keys or values of a layer, and the tags that tell their widths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from kvquant.adaptive_rows import (
    Rows,
    clean,
    decode,
    encode,
    exponent_for,
    hadamard,
    row_bytes,
)

Tensor = Any

_DEFAULT_EXPONENT = -11


class Packed:
    """Keys or values of a layer that left the window: rows by width, transform by epoch.

    An epoch's channel means and exponents come from all tokens before it (the first one's from its
    own), so the means of keys follow the slow turn that rotary positions give them; epochs double
    in length, so what they need is next to nothing.
    """

    def __init__(self, ladder: tuple[int, ...], heads: int, dim: int, device: Any) -> None:
        self.ladder, self.heads, self.dim, self.device = ladder, heads, dim, device
        self.matrix = hadamard(dim, device)
        self.rows = [Rows(row_bytes(dim, bits), device) for bits in ladder]
        self.starts: list[int] = []
        self.means: list[Tensor] = []  # (heads, bytes of a row) each, of 8 bits
        self.exponents: list[Tensor] = []  # (heads) int8 each

    def open_epoch(self, start: int, x: Tensor, real: Tensor | None) -> None:
        """x: (n, batch, heads, dim) clean float32 that stands for what will come; real: (n, batch)
        bool, False for padding."""
        if real is None:
            mean = x.double().mean((0, 1))
            spread = (x - mean.float()).square().mean(-1).amax((0, 1))
        else:
            weight = real[:, :, None, None]
            mean = (x.double() * weight).sum((0, 1)) / weight.sum().clamp(min=1)
            spread = ((x - mean.float()).square().mean(-1) * real[:, :, None]).amax((0, 1))
        largest = spread.sqrt() / 2
        exponent = torch.where(
            largest > 0, exponent_for(largest), torch.full_like(largest, _DEFAULT_EXPONENT)
        )
        self.open_known(start, mean, exponent)

    def open_known(self, start: int, mean: Tensor, exponent: Tensor) -> None:
        """mean: (heads, dim); exponent: (heads)."""
        self.starts.append(start)
        self.exponents.append(exponent.to(self.device, torch.int8))
        self.means.append(encode(clean(mean).to(self.device), 8, self.exponents[-1].int()))

    def mean(self, epoch: int) -> Tensor:
        """(heads, dim) float32."""
        return decode(self.means[epoch], 8, self.dim, self.exponents[epoch].int())

    def transform(self, x: Tensor) -> Tensor:
        """Of clean float32 (…, heads, dim) of the open epoch."""
        return clean(x - self.mean(-1)) @ self.matrix

    def append(self, x: Tensor, tags: Tensor) -> None:
        """x: transformed (n, batch, heads, dim); tags: (n, batch, heads) index of the width."""
        flat, tags = x.flatten(0, 2), tags.flatten()
        exponent = self.exponents[-1].int().repeat(flat.shape[0] // self.heads)
        for tag, rows in enumerate(self.rows):
            index = (tags == tag).nonzero()[:, 0]
            if index.numel():
                rows.append(encode(flat[index], self.ladder[tag], exponent[index]))

    def restore(self, tags: Tensor) -> Tensor:
        """(n, batch, heads, dim) float32 of all rows; tags as they were appended."""
        n, batch, heads = tags.shape
        flat = torch.empty(n * batch * heads, self.dim, device=self.device)
        epochs = self._epochs(n)
        lengths = torch.tensor([(b - a) * batch for a, b in epochs], device=self.device)
        exponent = torch.stack(self.exponents).int().repeat_interleave(lengths, 0).flatten()
        tags = tags.flatten()
        for tag, rows in enumerate(self.rows):
            index = (tags == tag).nonzero()[:, 0]
            if index.numel():
                flat[index] = decode(rows.rows, self.ladder[tag], self.dim, exponent[index])
        x = (flat @ self.matrix).view(n, batch, heads, self.dim)
        for epoch, (a, b) in enumerate(epochs):
            x[a:b] += self.mean(epoch)
        return x

    def keep(self, tags: Tensor, n: int) -> None:
        """Only the first n tokens; tags: of all of them."""
        self.select(tags, lambda place: place[:n])
        while self.starts and self.starts[-1] >= n:
            del self.starts[-1], self.means[-1], self.exponents[-1]

    def select(self, tags: Tensor, pick: Callable[[Tensor], Tensor]) -> None:
        """Rows of the places that ``pick`` takes out of an array (n, batch, heads) of them."""
        wanted = pick(tags)
        for tag, rows in enumerate(self.rows):
            mine = tags == tag
            place = (mine.flatten().cumsum(0) - 1).view(tags.shape)
            rows.keep(pick(place)[wanted == tag])

    @property
    def small_bytes(self) -> int:
        return sum(int(x.numel()) for x in (*self.means, *self.exponents))

    def _epochs(self, n: int) -> list[tuple[int, int]]:
        return list(zip(self.starts, [*self.starts[1:], n], strict=True))


class Tags:
    """The widths of packed tokens: a nibble for each head of a sequence, index of the key's width
    | index of the value's << 2, two to a byte, in order of position."""

    def __init__(self, batch: int, heads: int, device: Any) -> None:
        self.batch, self.heads = batch, heads
        self.bytes = Rows(-(-batch * heads // 2), device)

    def append(self, tags: Tensor) -> None:
        """tags: (n, batch, heads, 2) uint8, of key and value."""
        classes = (tags[..., 0] | (tags[..., 1] << 2)).flatten(1)
        if classes.shape[1] % 2:
            classes = torch.nn.functional.pad(classes, (0, 1))
        self.bytes.append(classes[:, 0::2] | (classes[:, 1::2] << 4))

    def classes(self) -> Tensor:
        """(n, batch, heads) uint8."""
        packed = self.bytes.rows
        both = torch.stack([packed & 15, packed >> 4], -1).flatten(1)
        return both[:, : self.batch * self.heads].view(-1, self.batch, self.heads)

    def all(self) -> Tensor:
        """(n, batch, heads, 2) uint8."""
        classes = self.classes()
        return torch.stack([classes & 3, classes >> 2], -1)

    def select(self, batch_index: Tensor) -> Tags:
        """Of these sequences of the batch."""
        chosen = Tags(len(batch_index), self.heads, batch_index.device)
        chosen.append(self.all().index_select(1, batch_index))
        return chosen
