"""Costs predict what errors do; features are those of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant.features import Received
from kvquant.gguf import ModelFile

torch = pytest.importorskip("torch")

from kvquant.training.calibrate import channel_means, sample  # noqa: E402
from kvquant.training.forward import Model, Span, attend_mixed  # noqa: E402

T = 160
SPAN = Span(16, 4)


@pytest.fixture(scope="module")
def model(tiny_path: Path) -> Model:
    return Model(ModelFile.open(tiny_path))


@pytest.fixture(scope="module")
def tokens() -> Any:
    return torch.from_numpy(np.random.default_rng(1).integers(4, 260, T))


def test_the_cost_of_a_token_is_the_divergence_that_an_error_in_it_brings(
    model: Model, tokens: Any
) -> None:
    """Over many draws, errors of one hundredth in every key of one head."""
    means = channel_means(model, tokens, SPAN)
    layer, head, size = 1, 0, 0.1
    drawn = [sample(model, tokens, means, SPAN, seed) for seed in range(24)]
    # Costs are per unit of relative squared error, summed over the queries.
    want = float(torch.stack([s.cost[layer, head, :, 0].sum() for s in drawn]).mean()) * size**2

    def logits(error: Any) -> Any:
        def attend(i: int, q: Any, k: Any, v: Any) -> Any:
            far = k.clone()
            if i == layer and error is not None:
                centred = k[head] - means.k[layer, head]
                length = centred.norm(dim=-1, keepdim=True) * size / k.shape[-1] ** 0.5
                far[head] += error * length
            return attend_mixed(q, (k, v), (far, v), SPAN, lambda first, p: None)

        with torch.no_grad():
            return (model.hidden(tokens, attend) @ model.head.T).log_softmax(-1)

    exact = logits(None)
    found = []
    for seed in range(24):
        draw = torch.Generator().manual_seed(seed)
        other = logits(torch.randn(T, model.params.head_dim, generator=draw))
        found.append(float((exact.exp() * (exact - other)).sum()))
    assert np.mean(found) == pytest.approx(want, rel=0.35)


def test_attention_received_is_counted_as_the_engine_counts_it(model: Model, tokens: Any) -> None:
    got = sample(model, tokens, channel_means(model, tokens, SPAN), SPAN, 0).features.float()
    seen: list[Any] = []

    def attend(i: int, q: Any, k: Any, v: Any) -> Any:
        parts: list[Any] = []
        out = attend_mixed(q, (k, v), (k, v), SPAN, lambda first, p: parts.append(p))
        whole = torch.zeros(p_shape(parts[0]))
        for n, part in enumerate(parts):
            whole[:, n * 128 : n * 128 + part.shape[2], : part.shape[3]] = part.sum(1)
        seen.append(whole)
        return out

    def p_shape(part: Any) -> tuple[int, int, int]:
        return part.shape[0], T, T

    with torch.no_grad():
        model.hidden(tokens, attend)
    distances = np.arange(T)[:, None] - np.arange(T)
    for layer, weights in enumerate(seen):
        received = Received.of(weights.numpy(), distances, SPAN.window)
        for j, (part, queries) in enumerate(
            ((received.mass, SPAN.window), (received.late, SPAN.window / 2), (received.peak, 1))
        ):
            group = model.params.n_head // model.params.n_kv_head
            want = np.log2(part / (queries * group) + 2.0**-20)
            np.testing.assert_allclose(got[layer, :, :, j].numpy(), want, atol=0.02)


def test_tokens_that_are_never_read_from_the_stored_part_cost_nothing(
    model: Model, tokens: Any
) -> None:
    s = sample(model, tokens, channel_means(model, tokens, SPAN), SPAN, 0)
    assert float(s.cost[:, :, : SPAN.sinks].abs().max()) < 1e-9
    assert float(s.cost[:, :, T - SPAN.window - 1 :].abs().max()) < 1e-9
    assert float(s.cost[:, :, SPAN.sinks : 100].min()) > 0
    assert (s.reads > 0).tolist() == [4 <= i < T - SPAN.window - 1 for i in range(T)]
