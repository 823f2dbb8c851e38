"""Chooses the next token from logits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kvquant.config import Sampling
from kvquant.errors import BackendError, SettingError


class Sampler:
    """One generation's choices; holds its own random state, so runs do not disturb each other."""

    def __init__(self, sampling: Sampling, allowed: NDArray[np.bool_] | None = None) -> None:
        """allowed: (n_vocab,), False forbids a token. Raises SettingError when all are."""
        if allowed is not None and not allowed.any():
            raise SettingError("sampling.mask", "The mask allows no token at all.")
        self._sampling = sampling
        self._allowed = allowed
        self._random = np.random.default_rng(sampling.seed)

    def pick(self, logits: NDArray[np.float32], recent: Sequence[int] = ()) -> int:
        """The next token.

        logits: (n_vocab,), not changed. Minus infinity forbids a token.
        recent: the new text so far; its last ``repetition_window`` tokens are penalised.

        Raises BackendError when the logits hold NaN or no token is left.
        """
        s = self._sampling
        scores = logits
        if s.repetition_penalty != 1.0 and s.repetition_window:
            scores = _penalise(scores, recent[-s.repetition_window :], s.repetition_penalty)
        if self._allowed is not None:
            if len(self._allowed) != len(scores):
                raise SettingError(
                    "sampling.mask",
                    f"The mask has {len(self._allowed)} tokens, the model {len(scores)}.",
                )
            scores = np.where(self._allowed, scores, np.float32(-np.inf))
        best = int(scores.argmax())
        # argmax finds a NaN first if there is one.
        if not np.isfinite(scores[best]):
            raise BackendError(
                "model.numbers", "The model gave no usable numbers; its file may be damaged."
            )
        if s.greedy:
            return best
        return self._draw(scores, scores[best])

    def _draw(self, scores: NDArray[np.float32], best: np.float32) -> int:
        s = self._sampling
        few = 0 < s.top_k < len(scores)
        if few:
            candidates = np.argpartition(-scores, s.top_k - 1)[: s.top_k]
            total = None
        else:
            candidates, total = self._likely(scores, best)
        if few or s.top_p < 1.0 or s.min_p > 0.0:
            # Likeliest first; of equals the lower id, so that a seed means one text.
            candidates = candidates[np.lexsort((candidates, -scores[candidates]))]
        p = np.exp((scores[candidates].astype(np.float64) - best) / s.temperature)
        p /= p.sum() if total is None else total
        keep = len(p)
        if s.top_p < 1.0:
            keep = min(keep, int(np.searchsorted(np.cumsum(p), s.top_p)) + 1)
        if s.min_p > 0.0:
            keep = min(keep, int(np.count_nonzero(p >= s.min_p * p[0])))
        cumulative = np.cumsum(p[:keep])
        at = np.searchsorted(cumulative, self._random.random() * cumulative[-1], side="right")
        return int(candidates[min(int(at), keep - 1)])

    def _likely(
        self, scores: NDArray[np.float32], best: np.float32
    ) -> tuple[NDArray[np.int64], float]:
        """Tokens that top_p and min_p can leave, found without sorting the vocabulary.

        Also returns the weight of all tokens, relative to the likeliest one. Tokens below the cut
        hold less than 1 - top_p together, so none of them is wanted.
        """
        s = self._sampling
        weights = np.exp((scores.astype(np.float64) - best) / s.temperature)
        total = float(weights.sum())
        cut = max(s.min_p, (1.0 - s.top_p) * total / len(scores))
        # A shade lower, because of rounding; and never what has no weight at all.
        return np.flatnonzero(weights >= max(0.999 * cut, 1e-300)), total


def _penalise(
    scores: NDArray[np.float32], recent: Sequence[int], penalty: float
) -> NDArray[np.float32]:
    """Divides positive logits of recent tokens by the penalty and multiplies negative ones."""
    ids = np.unique(np.asarray(recent, np.int64))
    scores = scores.copy()
    old = scores[ids]
    scores[ids] = np.where(old > 0, old / penalty, old * penalty)
    return scores
