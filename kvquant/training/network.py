"""The controller's networks in torch, and the loss that they learn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kvquant.controller_file import N_EMBEDDING, N_FEATURES, N_HIDDEN, N_INPUTS
from kvquant.training.ladder import ERRORS, thresholds, vector_bits

ARTICLE = (7, 8, 9)
"""The features of the published method: rarity, entropy, attention variance."""


@dataclass(frozen=True, slots=True)
class Examples:
    """All tokens of all windows, N of them.

    features: (L, H, N, 13) standardised; cost: (L, H, N, 2) per query that reads the token,
    relative to ``2 ** static``; weight: (N,) by how many queries read it, mean 1.
    """

    features: Tensor
    cost: Tensor
    weight: Tensor


class Network(torch.nn.Module):  # type: ignore[misc]
    """32 inputs, two hidden layers of 128, two outputs: log2 of the cost over the static one.

    columns: the features that are looked at; the others' weights stay zero.
    """

    def __init__(self, n_layer: int, n_head: int, columns: tuple[int, ...], embed: bool) -> None:
        super().__init__()
        self.embedding = torch.nn.Parameter(torch.randn(n_layer, n_head, N_EMBEDDING) * 0.3)
        self.embedding.requires_grad_(embed)
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(n_in, n_out)
            for n_in, n_out in ((N_INPUTS, N_HIDDEN), (N_HIDDEN, N_HIDDEN), (N_HIDDEN, 2))
        )
        mask = torch.zeros(N_INPUTS)
        mask[list(columns)] = 1
        if embed:
            mask[N_FEATURES : N_FEATURES + N_EMBEDDING] = 1
        self.register_buffer("mask", mask)
        torch.nn.init.zeros_(self.layers[2].weight)
        torch.nn.init.zeros_(self.layers[2].bias)

    def forward(self, features: Tensor) -> Tensor:
        """(L, H, n, 13) to (L, H, n, 2)."""
        n = features.shape[2]
        place = self.embedding[:, :, None].expand(-1, -1, n, -1)
        spare = N_INPUTS - N_FEATURES - N_EMBEDDING
        x = torch.cat([features, place, features.new_zeros(*features.shape[:3], spare)], -1)
        x = torch.relu(self.layers[0](x * self.mask))
        return self.layers[2](torch.relu(self.layers[1](x)))


@dataclass(frozen=True, slots=True)
class Loss:
    """The joint loss; ``static`` is (L, H, 2), or zeros for a network without the table.

    A prediction m of a cost y loses log m + y / m: the excess of quality loss + price x bits over
    the best choice, summed over all prices at once when widths are continuous. On top come the
    same excess for the ladder's own steps at a price drawn anew each time (quality), and the
    cross-entropy against the class that the cost itself asks for (classes).
    """

    static: Tensor
    ladder: tuple[int, ...]
    quality: float = 1.0
    classes: float = 0.1
    offsets: tuple[float, float] = (18.0, 32.0)

    def __call__(
        self, change: Tensor, cost: Tensor, weight: Tensor, draw: torch.Generator
    ) -> Tensor:
        """change: (L, H, n, 2) predicted log2; cost as in ``Examples``; weight: (n,)."""
        by_token = weight[None, None, :, None]
        total = ((cost * torch.exp2(-change) + change * math.log(2)) * by_token).mean()
        if self.quality or self.classes:
            low, high = self.offsets
            offset = low + (high - low) * torch.rand(change.shape[2], generator=draw)
            offset = offset[None, None, :, None] + self.static[:, :, None]
            steps = torch.tensor(thresholds(self.ladder))
            above = (change + offset)[..., None] - steps
            errors = torch.tensor([ERRORS[b] for b in self.ladder])
            bits = torch.tensor([vector_bits(b) for b in self.ladder])
            if self.quality:
                taken = torch.sigmoid(above * 2)
                saved = (errors[:-1] - errors[1:]) * taken
                paid = (bits[1:] - bits[:-1]) * taken
                price = cost * torch.exp2(offset)
                excess = paid.sum(-1) - price * saved.sum(-1)
                total = total + self.quality * (excess * by_token / (1 + price)).mean()
            if self.classes:
                wanted = (torch.log2(cost + 1e-12) + offset)[..., None] > steps
                entropy = torch.nn.functional.binary_cross_entropy_with_logits(
                    above, wanted.float(), reduction="none"
                ).sum(-1)
                total = total + self.classes * (entropy * by_token).mean()
        return total


def fit(
    network: Network,
    examples: Examples,
    loss: Loss,
    *,
    epochs: int,
    seed: int,
    rate: float = 2e-3,
    batch: int = 96,
    state: dict[str, Any] | None = None,
) -> Iterator[tuple[int, float, Callable[[], dict[str, Any]]]]:
    """Trains in place; yields (epochs done, mean loss, what to pass as ``state`` to go on).

    batch: tokens a step; each brings all of its layers and heads. The same seed gives the same
    network, also when training was stopped between two epochs.
    """
    n = examples.features.shape[2]
    steps = max(n // batch, 1)
    optimiser = torch.optim.AdamW(
        [p for p in network.parameters() if p.requires_grad], lr=rate, weight_decay=1e-3
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=epochs * steps, pct_start=0.1
    )
    done = 0
    if state is not None:
        done = int(state["epochs"])
        network.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        schedule.load_state_dict(state["schedule"])
    for epoch in range(done, epochs):
        draw = torch.Generator().manual_seed(seed * 1000 + epoch)
        order = torch.randperm(n, generator=draw)
        total = 0.0
        for i in range(steps):
            at = order[i * batch : (i + 1) * batch]
            change = network(examples.features[:, :, at].float())
            value = loss(change, examples.cost[:, :, at], examples.weight[at], draw)
            optimiser.zero_grad()
            value.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            total += float(value.detach())
        epochs_done = epoch + 1

        def snapshot(epochs_done: int = epochs_done) -> dict[str, Any]:
            return {
                "epochs": epochs_done,
                "network": network.state_dict(),
                "optimiser": optimiser.state_dict(),
                "schedule": schedule.state_dict(),
            }

        yield epochs_done, total / steps, snapshot
