"""The forward pass and its attention over two copies of the past, against plain ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import reference
from kvquant.gguf import ModelFile

torch = pytest.importorskip("torch")

from kvquant.training.forward import Model, Probe, Span, attend_mixed  # noqa: E402

H, G, T, D = 2, 2, 300, 16


def ignore(first: int, p: Any) -> None:
    """Nobody watches."""


def plain(q: Any, near: tuple[Any, Any], far: tuple[Any, Any], span: Span) -> Any:
    """All scores at once."""
    rows, cols = torch.arange(T)[:, None], torch.arange(T)
    is_near = (cols >= rows - span.window) | (cols < span.sinks)
    q = q.view(H, G, T, D) / D**0.5
    scores = [q @ k[:, None].transpose(2, 3) for k in (near[0], far[0])]
    p = torch.where(is_near, *scores).masked_fill(cols > rows, -torch.inf).softmax(-1)
    out = (p * is_near) @ near[1][:, None] + (p * ~is_near) @ far[1][:, None]
    return out.view(H * G, T, D)


def random(*shape: int, seed: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("span", [Span(32, 4), Span(8, 0), Span(200, 1)])
def test_a_query_reads_near_copies_of_sinks_and_window_only(span: Span) -> None:
    q = random(H * G, T, D, seed=0)
    near, far = [tuple(random(H, T, D, seed=s + i) for i in range(2)) for s in (1, 3)]
    got = attend_mixed(q, near, far, span, ignore)
    torch.testing.assert_close(got, plain(q, near, far, span), atol=1e-5, rtol=1e-4)


def test_the_gradient_through_stored_copies_alone_is_told_apart() -> None:
    span = Span(32, 4)
    leaves = [random(H * G, T, D, seed=0), random(H, T, D, seed=1), random(H, T, D, seed=2)]
    grad = random(H * G, T, D, seed=3)
    ours = [x.clone().requires_grad_() for x in leaves]
    sums = (torch.zeros(H, T), torch.zeros(H, T))
    Probe.apply(*ours, span, ignore, sums).backward(grad)

    theirs = [x.clone().requires_grad_() for x in leaves]
    errors = [torch.zeros(H, T, D, requires_grad=True) for _ in range(2)]
    q, k, v = theirs
    plain(q, (k, v), (k + errors[0], v + errors[1]), span).backward(grad)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-4)
    for total, error in zip(sums, errors, strict=True):
        torch.testing.assert_close(total, error.grad.square().sum(-1), atol=1e-4, rtol=1e-3)


def test_the_model_gives_the_references_logits(tiny_path: Path) -> None:
    tokens = np.random.default_rng(0).integers(4, 260, 150).astype(np.int32)
    cache = reference.load(str(tiny_path), threads=1, kv="fp32").cache(200)
    want = cache.forward(tokens, 0, len(tokens))
    model = Model(ModelFile.open(tiny_path))

    def attend(i: int, q: Any, k: Any, v: Any) -> Any:
        return attend_mixed(q, (k, v), (k, v), Span(), ignore)

    with torch.no_grad():
        hidden = model.hidden(torch.from_numpy(tokens).long(), attend)
    np.testing.assert_allclose((hidden @ model.head.T).numpy(), want, atol=2e-3)
