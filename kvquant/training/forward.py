"""A llama forward in torch whose attention can read a quantized past, as decoding does.

Teacher-forced: all tokens of a text at once. A query reads the FP16 keys and values of the sinks
and of the tokens at most ``window`` back, and the quantized ones of all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams

BLOCK = 128
"""Queries that attend together; keys after the last of them are not touched."""


@dataclass(frozen=True, slots=True)
class Layer:
    attn_norm: Tensor
    qkv: Tensor
    attn_output: Tensor
    ffn_norm: Tensor
    gate_up: Tensor
    ffn_down: Tensor


Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, q (n_head, T, D) after RoPE, k and v (n_kv_head, T, D)) to (n_head, T, D)."""


class Model:
    """The dequantized weights of a GGUF file, none of them trained."""

    def __init__(self, file: ModelFile) -> None:
        self.params = p = Hyperparams.from_file(file)

        def read(name: str) -> Tensor:
            return torch.from_numpy(file.read(f"{name}.weight"))

        self.embedding = read("token_embd")
        self.head = self.embedding if p.tied else read("output")
        self.output_norm = read("output_norm")
        self.layers = []
        for i in range(p.n_layer):
            q, k, v = (read(f"blk.{i}.attn_{name}") for name in "qkv")
            qkv = torch.cat([_halves_apart(q, p.head_dim), _halves_apart(k, p.head_dim), v])
            gate_up = torch.cat([read(f"blk.{i}.ffn_gate"), read(f"blk.{i}.ffn_up")])
            self.layers.append(
                Layer(
                    read(f"blk.{i}.attn_norm"), qkv, read(f"blk.{i}.attn_output"),
                    read(f"blk.{i}.ffn_norm"), gate_up, read(f"blk.{i}.ffn_down"),
                )
            )  # fmt: skip

    def hidden(self, tokens: Tensor, attend: Attend, *, grad: bool = False) -> Tensor:
        """tokens: (T,). Returns the last layer's output after its norm, (T, n_embd).

        grad: gradients are wanted in what passes between the layers.
        """
        angles = self._angles(len(tokens))
        x = self.embedding[tokens].requires_grad_(grad)
        for i in range(len(self.layers)):
            x = self._layer(i, x, angles, attend)
        return _rms_norm(x, self.output_norm, self.params.norm_eps)

    def _layer(self, i: int, x: Tensor, angles: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        p, layer = self.params, self.layers[i]
        t = len(x)
        heads = (_rms_norm(x, layer.attn_norm, p.norm_eps) @ layer.qkv.T).view(t, -1, p.head_dim)
        heads = heads.transpose(0, 1)
        both = p.n_head + p.n_kv_head
        turned = _rope(heads[:both], angles)
        out = attend(i, turned[: p.n_head], turned[p.n_head :], heads[both:])
        x = x + out.transpose(0, 1).reshape(t, p.n_embd) @ layer.attn_output.T
        gate, up = (_rms_norm(x, layer.ffn_norm, p.norm_eps) @ layer.gate_up.T).chunk(2, dim=1)
        return x + (torch.nn.functional.silu(gate) * up) @ layer.ffn_down.T

    def turn(self, heads: Tensor, *, back: bool = False) -> Tensor:
        """RoPE of (heads, T, D), or its undoing."""
        cos, sin = self._angles(heads.shape[1])
        return _rope(heads, (cos, -sin if back else sin))

    def _angles(self, t: int) -> tuple[Tensor, Tensor]:
        p = self.params
        rates = p.rope_base ** (-torch.arange(0, p.head_dim, 2, dtype=torch.float64) / p.head_dim)
        turns = torch.arange(t, dtype=torch.float64)[:, None] * rates
        return turns.cos().float(), turns.sin().float()


@dataclass(frozen=True, slots=True)
class Span:
    """What stays in FP16: the first ``sinks`` tokens and the last ``window``."""

    window: int = 32
    sinks: int = 4


Seen = Callable[[int, Tensor], None]
"""(first query of a block, probabilities (H, G, queries, keys from 0)): to watch attention."""


def attend_mixed(
    q: Tensor, near: tuple[Tensor, Tensor], far: tuple[Tensor, Tensor], span: Span, seen: Seen
) -> Tensor:
    """Attention in which a query at i reads near for j < sinks and j >= i - window, else far.

    q: (H * G, T, D); near, far: keys and values (H, T, D), all in one space. Returns (H * G, T, D).
    """
    (near_k, near_v), (far_k, far_v) = near, far
    h, t, d = near_k.shape
    q = q.view(h, -1, t, d) * d**-0.5
    out = torch.empty_like(q)
    lost_v = near_v - far_v
    for a in range(0, t, BLOCK):
        b = min(a + BLOCK, t)
        low, s = max(0, a - span.window), min(span.sinks, b)
        block = q[:, :, a:b].reshape(h, -1, d)
        scores = torch.bmm(block, far_k[:, :b].transpose(1, 2))
        is_near, future = masks(a, b, low, span)
        tail = scores[:, :, low:].unflatten(1, (-1, b - a))
        near_scores = torch.bmm(block, near_k[:, low:b].transpose(1, 2)).view(tail.shape)
        tail.copy_(torch.where(is_near, near_scores, tail).masked_fill_(future, -torch.inf))
        if low >= s:
            scores[:, :, :s] = torch.bmm(block, near_k[:, :s].transpose(1, 2))
        p = torch.softmax(scores, -1)
        tail = p[:, :, low:].unflatten(1, (-1, b - a)) * is_near
        o = torch.bmm(p, far_v[:, :b]) + torch.bmm(tail.flatten(1, 2), lost_v[:, low:b])
        if low >= s:
            o += torch.bmm(p[:, :, :s], lost_v[:, :s])
        seen(a, p.unflatten(1, (-1, b - a)))
        out[:, :, a:b] = o.view(h, -1, b - a, d)
    return out.view(-1, t, d)


def masks(a: int, b: int, low: int, span: Span) -> tuple[Tensor, Tensor]:
    """Of queries a..b and keys low..b: what is read as it is (sinks and window), what is later."""
    rows, cols = torch.arange(a, b)[:, None], torch.arange(low, b)
    return (cols >= rows - span.window) | (cols < span.sinks), cols > rows


class Probe(torch.autograd.Function):  # type: ignore[misc]
    """Plain attention whose backward pass also gives the gradient that goes through far keys and
    values alone: what an error in the stored copy of a token would do."""

    @staticmethod
    def forward(ctx, q, k, v, span, seen, sums):  # type: ignore[no-untyped-def]
        """sums: two (H, T) that receive the squared length of the far gradient of k and of v."""
        ctx.save_for_backward(q, k, v)
        ctx.span, ctx.sums = span, sums
        return attend_mixed(q, (k, v), (k, v), Span(1, 0), seen)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        q, k, v = ctx.saved_tensors
        h, t, d = k.shape
        q, grad = q.view(h, -1, t, d) * d**-0.5, grad.view(h, -1, t, d)
        dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        near_k, near_v = torch.zeros_like(k), torch.zeros_like(v)
        for a in range(0, t, BLOCK):
            b = min(a + BLOCK, t)
            low, s = max(0, a - ctx.span.window), min(ctx.span.sinks, b)
            block, g = q[:, :, a:b].reshape(h, -1, d), grad[:, :, a:b].reshape(h, -1, d)
            scores = torch.bmm(block, k[:, :b].transpose(1, 2))
            is_near, future = masks(a, b, low, ctx.span)
            scores[:, :, low:].unflatten(1, (-1, b - a)).masked_fill_(future, -torch.inf)
            p = torch.softmax(scores, -1)
            ds = torch.bmm(g, v[:, :b].transpose(1, 2))
            ds = ds.sub_((ds * p).sum(-1, keepdim=True)).mul_(p)
            dq[:, :, a:b] = torch.bmm(ds, k[:, :b]).view(h, -1, b - a, d)
            dk[:, :b] += torch.bmm(ds.transpose(1, 2), block)
            dv[:, :b] += torch.bmm(p.transpose(1, 2), g)
            for w, source, total in ((ds, block, near_k), (p, g, near_v)):
                tail = (w[:, :, low:].unflatten(1, (-1, b - a)) * is_near).flatten(1, 2)
                total[:, low:b] += torch.bmm(tail.transpose(1, 2), source)
                if low >= s:
                    total[:, :s] += torch.bmm(w[:, :, :s].transpose(1, 2), source)
        ctx.sums[0].copy_((dk - near_k).square_().sum(-1))
        ctx.sums[1].copy_((dv - near_v).square_().sum(-1))
        return (dq * d**-0.5).view(-1, t, d), dk, dv, None, None, None


def _rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def _rope(heads: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    """(heads, T, D), the channels that turn together half a head apart."""
    cos, sin = angles
    low, high = heads.chunk(2, dim=-1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], dim=-1)


def _halves_apart(weight: Tensor, head_dim: int) -> Tensor:
    """From pairs of neighbours (GGUF) to pairs half a head apart (Hugging Face)."""
    pairs = weight.view(-1, head_dim // 2, 2, weight.shape[1])
    return pairs.transpose(1, 2).reshape(weight.shape)
