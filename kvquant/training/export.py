"""What was trained, as the two files that the engine reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kvquant import bundle
from kvquant.controller_file import CONTROLLER_FILE, FEATURE_FILE, N_FEATURES
from kvquant.training import ladder
from kvquant.training.network import Network
from kvquant.training.run import Trained

Floats = NDArray[np.float32]
BODY_BITS = (2.2, 2.3, 2.4, 2.5, 2.6, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0, 4.25, 4.5, 5.0, 5.5, 6.0,
             7.0, 8.0)  # fmt: skip
KEPT_FOR_BUDGETS = 17
"""Every so many-th token decides the tables of offsets."""
RULE_WEIGHT = 1.4
RANDOM_NOISE = 3.0


def export(trained: Trained, folder: Path) -> tuple[Path, Path]:
    """Writes the controller and the token features into a folder. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    n_layer, n_head, dim = trained.means.k.shape
    model = {
        "fingerprint": trained.fingerprint, "n_layer": n_layer, "n_kv_head": n_head,
        "head_dim": dim, "n_vocab": len(trained.words.rarity),
    }  # fmt: skip
    s = trained.settings
    t = trained.tables
    arrays: dict[str, Any] = {
        "k_mean": _f32(trained.means.k),
        "v_mean": _f32(trained.means.v),
        "k_mean_pre": _f32(trained.means.k_pre),
        "k_exponent_pre": t.k_exponent.numpy(),
        "k_exponent": t.k_exponent.numpy(),
        "v_exponent": t.v_exponent.numpy(),
        "static": _f32(t.static),
        "f_mean": _f32(t.f_mean),
        "f_scale": _f32(t.f_scale),
        "embedding": _f32(trained.networks["mlp"].embedding),
    }
    for prefix, network in trained.networks.items():
        arrays |= quantized_network(network, prefix)
    header = {
        "model": model,
        "ladder": list(s.widths),
        "window": s.window,
        "sinks": s.sinks,
        "thresholds": ladder.thresholds(s.widths),
        "policies": policies(trained, arrays),
        "made_by": {
            "command": "python -m kvquant train",
            "settings": asdict(s),
            "windows": trained.windows,
        },
    }
    controller = folder / CONTROLLER_FILE.name
    bundle.write(controller, bundle.CONTROLLER, header, arrays)
    words = trained.words
    table = folder / FEATURE_FILE.name
    bundle.write(
        table,
        bundle.FEATURES,
        {"model": model, "N": words.count, "V_obs": words.observed},
        {
            "rarity": words.rarity.astype(np.float16),
            "entropy": words.entropy.astype(np.float16),
            "variance": words.variance.astype(np.float16),
        },
    )
    return controller, table


def quantized_network(network: Network, prefix: str) -> dict[str, Any]:
    """int8 weights with a scale for each output row, float32 biases."""
    arrays: dict[str, Any] = {}
    for i, layer in enumerate(network.layers, 1):
        w = layer.weight.detach()
        if i == 1:
            w = w * network.mask
        w = _f32(w)
        scale = np.maximum(np.abs(w).max(1) / 127, np.float32(1e-12)).astype(np.float32)
        arrays[f"{prefix}.w{i}"] = np.rint(w / scale[:, None]).astype(np.int8)
        arrays[f"{prefix}.s{i}"] = scale
        arrays[f"{prefix}.b{i}"] = _f32(layer.bias)
    return arrays


def run_network(arrays: dict[str, Any], prefix: str, inputs: Floats) -> Floats:
    """What the engine computes: (rows, 32) to (rows, 2), inputs of each layer rounded to int8."""
    x = np.where(np.any(arrays[f"{prefix}.w1"], axis=0), inputs, np.float32(0))
    for i in (1, 2, 3):
        top = np.abs(x).max(1, keepdims=True)
        codes = np.rint(x * (127 / np.maximum(top, 1e-30)))
        y = codes @ arrays[f"{prefix}.w{i}"].T.astype(np.float32)
        x = y * (top / 127) * arrays[f"{prefix}.s{i}"] + arrays[f"{prefix}.b{i}"]
        if i < 3:
            x = np.maximum(x, 0)
    return x.astype(np.float32)


def policies(trained: Trained, arrays: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every named policy with its table of offsets."""
    rows = _f32(trained.examples.features[:, :, ::KEPT_FOR_BUDGETS])
    static = arrays["static"]
    signs = article_signs(trained)
    kinds: dict[str, dict[str, Any]] = {
        "adaptive": _entry("mlp", mlp="mlp"),
        "rule": _entry("linear", weights={0: RULE_WEIGHT}),
        "static_table": _entry("linear"),
        "article": _entry("mlp", mlp="article", use_static=False, per_token=True),
        "random": _entry("linear", use_static=False, noise=RANDOM_NOISE),
    }
    for j, name in ((7, "rarity"), (8, "entropy"), (9, "variance")):
        kinds[name] = _entry("linear", weights={j: signs[j]}, use_static=False, per_token=True)
    for kind in kinds.values():
        predicted = predict(kind, arrays, rows, static)
        kind["budget"] = _budget(predicted, trained.settings.widths)
    return kinds


def article_signs(trained: Trained) -> dict[int, float]:
    """Whether a larger value of each of the article's features asks for more bits.

    Read off the network that was trained on them: its answer one deviation up and one down.
    """
    signs = {}
    for j in (7, 8, 9):
        probe = torch.zeros(*trained.tables.static.shape[:2], 2, N_FEATURES)
        probe[:, :, 0, j], probe[:, :, 1, j] = 1, -1
        with torch.no_grad():
            up, down = trained.networks["article"](probe).mean((0, 1, 3))
        signs[j] = 1.0 if up > down else -1.0
    return signs


def predict(kind: dict[str, Any], arrays: dict[str, Any], rows: Floats, static: Floats) -> Floats:
    """log2 costs as the engine predicts them, (L, H, n, 2). rows: (L, H, n, 13)."""
    n_layer, n_head, n, _ = rows.shape
    if kind["kind"] == "mlp":
        place = np.broadcast_to(arrays["embedding"][:, :, None], (n_layer, n_head, n, 8))
        spare = np.zeros((n_layer, n_head, n, 11), np.float32)
        inputs = np.concatenate([rows, place, spare], -1).reshape(-1, 32)
        s = run_network(arrays, kind["mlp"], inputs).reshape(n_layer, n_head, n, 2)
    else:
        s = np.repeat((rows @ np.array(kind["weights"], np.float32))[..., None], 2, -1)
        if kind["noise"]:
            noise = np.random.default_rng(0).uniform(-1, 1, s.shape[:3])[..., None]
            s = s + np.float32(kind["noise"]) * noise.astype(np.float32)
    if kind["use_static"]:
        s = s + static[:, :, None]
    if kind["per_token"]:
        s = np.broadcast_to(s.mean((0, 1, 3), keepdims=True), s.shape)
    return s.astype(np.float32)


def _entry(
    kind: str,
    *,
    weights: dict[int, float] | None = None,
    use_static: bool = True,
    per_token: bool = False,
    noise: float = 0.0,
    mlp: str | None = None,
) -> dict[str, Any]:
    given = weights or {}
    return {
        "kind": kind,
        "weights": [given.get(j, 0.0) for j in range(N_FEATURES)],
        "use_static": use_static,
        "per_token": per_token,
        "noise": noise,
        "mlp": mlp,
    }


def _budget(predicted: Floats, widths: Sequence[int]) -> list[list[float]]:
    most = ladder.vector_bits(widths[-1])
    rows = []
    for bits in BODY_BITS:
        if bits < most:
            offset = ladder.offset_for(predicted, bits, widths)
            assert math.isfinite(offset), offset
            rows.append([bits, round(offset, 5)])
    return rows


def _f32(x: torch.Tensor) -> Floats:
    values: Floats = x.detach().float().contiguous().numpy()
    return values
