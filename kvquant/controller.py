"""Decides how many bits a token keeps at each layer and KV head, when it leaves the window.

A policy gives every token the log2 of what its error would cost, for its key and for its value:
from a small int8 network, or as a weighted sum of the same features. That plus an offset, which
steers towards a budget of bits, is cut at three thresholds into a tag.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant import bundle
from kvquant.controller_file import (
    CONTROLLER_FILE,
    FEATURE_FILE,
    N_EMBEDDING,
    N_INPUTS,
    ControllerFile,
    Policy,
    Shape,
)
from kvquant.features import N_FEATURES, RARITY, VARIANCE, Leaving, TokenFeatures, features_of
from kvquant.vector_format import Bytes, Floats

BUDGET_TOKENS = 64
"""Tokens between two looks at the budget."""

_STEERING, _STEERING_TOP = 2.3 / 256.0, 6.0


class Controller:
    """One policy of a controller file, ready to judge."""

    def __init__(
        self, file: ControllerFile, known: TokenFeatures | None = None, policy: str = "adaptive"
    ) -> None:
        """known: features of the vocabulary's tokens; None: nothing is known.

        Raises SettingError when the file has no such policy.
        """
        self.file = file
        self.policy: Policy = file.policy(policy)
        self.known = known
        self.k_mean, self.v_mean = self._floats("k_mean"), self._floats("v_mean")
        self.k_exponent = file.arrays["k_exponent"].numpy().astype(np.int64)
        self.v_exponent = file.arrays["v_exponent"].numpy().astype(np.int64)
        self.static = self._floats("static")
        self._mean, self._scale = self._floats("f_mean"), self._floats("f_scale")
        self._embedding = self._floats("embedding")
        self._layers = self._network()

    @classmethod
    def load(
        cls,
        path: Path | str | None = None,
        *,
        policy: str = "adaptive",
        features: Path | str | None = None,
        fingerprint: int | None = None,
        shape: Shape | None = None,
    ) -> Controller:
        """Reads a controller file; None takes the shipped one.

        features: the token feature file, where the policy needs one; by default the one beside
            the controller whose name has "features" for "ctrl", else the shipped one.
        fingerprint, shape: of the model in use; None takes any.

        Raises ControllerFileError, SettingError.
        """
        path = CONTROLLER_FILE if path is None else Path(path)
        file = ControllerFile.open(path, fingerprint=fingerprint, shape=shape)
        chosen = file.policy(policy)
        if chosen.mlp is None and not any(chosen.weights[RARITY : VARIANCE + 1]):
            return cls(file, None, policy)
        if features is None:
            beside = path.with_name(path.name.replace("ctrl", "features", 1))
            features = beside if beside != path and beside.exists() else FEATURE_FILE
        known = TokenFeatures.load(Path(features), fingerprint=file.fingerprint, shape=shape)
        return cls(file, known, policy)

    def save(self, path: Path | str) -> None:
        """Writes the whole controller file, all policies. Raises OSError."""
        arrays = {name: array.numpy() for name, array in self.file.arrays.items()}
        bundle.write(Path(path), bundle.CONTROLLER, self.file.header, arrays)

    @property
    def ladder(self) -> tuple[int, int, int, int]:
        """Width in bits of each tag."""
        return self.file.ladder

    @property
    def window(self) -> int:
        """Newest tokens that it expects to stay in 16 bits."""
        return self.file.window

    @property
    def sinks(self) -> int:
        """First tokens that it expects to stay in 16 bits."""
        return self.file.sinks

    def features(self, leaving: Leaving, window: int, group: int) -> Floats:
        """(n, L, H, 13) of tokens that leave the window, not standardised."""
        known = self.known
        if known is None:
            known = TokenFeatures.none(int(leaving.tokens.max(initial=0)) + 1)
        return features_of(leaving, known, self.static, window, group)

    def judge(self, features: Floats, positions: NDArray[np.integer], offset: float = 0.0) -> Bytes:
        """Classes (n, L, H) of n tokens: tag of the key, and 4 times the tag of the value.

        features: (n, L, H, 13), not standardised; positions: (n,); offset: see ``offset``.
        """
        s = self.sensitivities(features, positions)
        if self.policy.per_token:
            s = np.broadcast_to(s.mean((1, 2, 3), keepdims=True), s.shape)
        thresholds = np.array(self.file.thresholds, np.float32)
        tags = ((s + np.float32(offset))[..., None] > thresholds).sum(-1).astype(np.uint8)
        classes: Bytes = tags[..., 0] | (tags[..., 1] << 2).astype(np.uint8)
        return classes

    def sensitivities(self, features: Floats, positions: NDArray[np.integer]) -> Floats:
        """(n, L, H, 2): log2 of the loss per relative squared error, of key and value."""
        x = (features - self._mean) * self._scale
        s = self._run(x) if self._layers else self._sum(x, positions)
        return s + self.static if self.policy.use_static else s

    def _sum(self, x: Floats, positions: NDArray[np.integer]) -> Floats:
        """A linear policy on standardised features, the same for key and value."""
        s: Floats = (x @ np.array(self.policy.weights, np.float32))[..., None]
        if self.policy.noise:
            places = np.arange(self.static.shape[0] * self.static.shape[1])
            noise = place_noise(positions, places).reshape(*x.shape[:3], 1)
            s = s + np.float32(self.policy.noise) * noise
        return np.repeat(s, 2, axis=-1)

    def offset(self, body_bits: float, n: int, mean_bits: float) -> float:
        """What is added to sensitivities after n tokens.

        body_bits: wanted on average; mean_bits: what the first 64 * (n // 64) tokens took.
        """
        bits, offsets = np.array(self.policy.budget, np.float64).T
        base = float(np.interp(body_bits, bits, offsets))
        counted = n // BUDGET_TOKENS * BUDGET_TOKENS
        steer = _STEERING * (body_bits - mean_bits) * counted if counted else 0.0
        return base + min(max(steer, -_STEERING_TOP), _STEERING_TOP)

    def _run(self, x: Floats) -> Floats:
        """The network on standardised features (n, L, H, 13)."""
        rows = np.zeros((*x.shape[:3], N_INPUTS), np.float32)
        rows[..., :N_FEATURES] = x
        rows[..., N_FEATURES : N_FEATURES + N_EMBEDDING] = self._embedding
        # An input that the network has no weights for must not widen the range of the others.
        rows[..., ~self._layers[0][0].any(0)] = 0.0
        y = rows.reshape(-1, N_INPUTS)
        for i, (weights, scale, bias) in enumerate(self._layers):
            y = dense(y, weights, scale, bias)
            if i + 1 < len(self._layers):
                y = np.maximum(y, np.float32(0.0))
        return y.reshape(*x.shape[:3], 2)

    def _network(self) -> list[tuple[NDArray[np.int8], Floats, Floats]]:
        prefix = self.policy.mlp
        if prefix is None:
            return []
        names = [[f"{prefix}.{part}{i}" for part in "wsb"] for i in (1, 2, 3)]
        return [
            (self.file.arrays[w].numpy(), self._floats(s), self._floats(b)) for w, s, b in names
        ]

    def _floats(self, name: str) -> Floats:
        array: NDArray[Any] = self.file.arrays[name].numpy()
        return array.astype(np.float32)


def dense(x: Floats, weights: NDArray[np.int8], scale: Floats, bias: Floats) -> Floats:
    """One layer in int8: x (rows, n_in), quantized row by row; weights (n_out, n_in)."""
    largest = np.abs(x).max(-1, keepdims=True)
    inverse = np.float32(127.0) / np.where(largest > 0, largest, np.float32(np.inf))
    codes = np.rint(x * inverse).astype(np.int32)
    sums = (codes @ weights.T.astype(np.int32)).astype(np.float32)
    found: Floats = sums * (largest / np.float32(127.0) * scale) + bias
    return found


def place_noise(positions: NDArray[np.integer], places: NDArray[np.integer]) -> Floats:
    """(n, places): numbers in -1 … 1 that position and place decide, the same everywhere."""
    x = (positions.astype(np.uint32)[:, None] * np.uint32(0x9E3779B1)) ^ (
        places.astype(np.uint32) * np.uint32(0x85EBCA77)
    )
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    x = x ^ (x >> np.uint32(16))
    found: Floats = (x.astype(np.float64) * 2.0**-31 - 1.0).astype(np.float32)
    return found
