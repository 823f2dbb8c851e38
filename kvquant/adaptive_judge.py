"""A trained controller over all layers of the transformers cache at once.

It can judge only what a watched model shows: the attention that tokens received. A layer alone is
not enough, for it looks at what all layers gave a token and shares one budget among them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from kvquant.adaptive_layer import AdaptiveLayer
from kvquant.controller import BUDGET_TOKENS, Controller
from kvquant.controller_file import ControllerFile
from kvquant.features import RARITY, VARIANCE, Leaving, Received, TokenFeatures

Tensor = Any


def open_controller(path: Path | str, fingerprint: int | None = None) -> Controller:
    """With the token features beside it, where there are some; it judges without them too.

    Raises ControllerFileError when a file is damaged or of another model.
    """
    path = Path(path)
    file = ControllerFile.open(path, fingerprint=fingerprint)
    beside = path.with_name(path.name.replace("ctrl", "features"))
    known = None
    if beside != path and beside.exists():
        known = TokenFeatures.load(beside, fingerprint=file.fingerprint)
    return Controller(file, known)


class Judge:
    """body: stored bits per number that packed tokens shall take on average."""

    def __init__(self, controller: Controller, body: float) -> None:
        self._controller = controller
        self._body = body
        self._mean_bits = body
        self._usual = controller.file.arrays["f_mean"].numpy()

    def settle(self, layers: list[AdaptiveLayer], tokens: Tensor | None) -> bool:
        """Packs what has left the window of all layers; tokens: (batch, length) ids of the text,
        or None where they are not known. False, and nothing is done, where attention is missing.
        """
        leaving = layers[0].leaving()
        if any(layer.received(0, leaving) is None for layer in layers):
            return False
        start = 0
        while start < leaving:
            n = layers[0].packed
            end = start + min(BUDGET_TOKENS - n % BUDGET_TOKENS, leaving - start)
            if n % BUDGET_TOKENS == 0 and n:
                self._mean_bits = float(np.mean([layer.body_bits() for layer in layers]))
            offset = self._controller.offset(self._body, n, self._mean_bits)
            tags = self._tags(layers, start, end, tokens, offset)
            for i, layer in enumerate(layers):
                layer.pack(start, end, tags[:, :, i].contiguous())
            start = end
        for layer in layers:
            layer.drop(leaving)
        return True

    def _tags(
        self,
        layers: list[AdaptiveLayer],
        start: int,
        end: int,
        tokens: Tensor | None,
        offset: float,
    ) -> Tensor:
        """(n, batch, layers, heads, 2) uint8."""
        lengths = [
            torch.stack([x.norm(dim=-1) for x in layer.vectors(start, end)]) for layer in layers
        ]
        # (2, layers, batch, heads, n) and (3, layers, batch, heads, n).
        norms = torch.stack(lengths, 1).permute(0, 1, 3, 4, 2).cpu().numpy()
        parts = [layer.received(start, end) for layer in layers]
        received = torch.stack(parts, 1).permute(0, 1, 3, 4, 2).cpu().numpy()
        first = layers[0].sinks + layers[0].packed
        positions = np.arange(first, first + end - start)
        classes = []
        for b in range(norms.shape[2]):
            ids = np.zeros(end - start, np.int64)
            if tokens is not None:
                ids = tokens[b, first : first + end - start].cpu().numpy()
            leaving = Leaving(
                positions,
                ids,
                Received(*(np.ascontiguousarray(part[:, b]) for part in received)),
                norms[0, :, b],
                norms[1, :, b],
            )
            features = self._controller.features(leaving, layers[0].window, layers[0].groups)
            if tokens is None or self._controller.known is None:
                # What is not known is taken as usual.
                features[..., RARITY : VARIANCE + 1] = self._usual[..., RARITY : VARIANCE + 1]
            classes.append(self._controller.judge(features, positions, offset))
        found = torch.tensor(np.stack(classes, 1), device=layers[0].device)
        return torch.stack([found & 3, found >> 2], -1)
