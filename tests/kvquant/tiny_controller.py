"""Writes small controller and token feature files for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kvquant import bundle
from kvquant.gguf import ModelFile
from kvquant.hyperparams import Hyperparams

N_FEATURES = 13
TYPICAL = np.array([-6, -7, -5, 2, 2, -6, -6, 4, 4, 4, 6, 0, 0], np.float32)
"""About what the features of a random model are."""
BUDGET = [[2.0, -6.0], [3.0, -1.0], [4.0, 3.0], [8.0, 12.0]]


def linear(**changes: Any) -> dict[str, Any]:
    policy = {
        "kind": "linear",
        "weights": [0.0] * N_FEATURES,
        "use_static": True,
        "per_token": False,
        "noise": 0.0,
        "mlp": None,
        "budget": BUDGET,
    }
    return policy | changes


def weights(**named: float) -> list[float]:
    """By name of the feature: f0, f1, …; the others are 0."""
    return [named.get(f"f{j}", 0.0) for j in range(N_FEATURES)]


def tiny_header(fingerprint: int, **changes: Any) -> dict[str, Any]:
    header = {
        "model": {"fingerprint": fingerprint},
        "ladder": [2, 3, 4, 8],
        "window": 32,
        "sinks": 4,
        "thresholds": [-2.0, 0.0, 2.5],
        "policies": {
            "adaptive": linear(kind="mlp", mlp="mlp"),
            "rule": linear(weights=weights(f0=1.4)),
            "static_table": linear(),
            "rarity": linear(weights=weights(f7=1.0), use_static=False),
            "article": linear(kind="mlp", mlp="article", per_token=True, use_static=False),
            "random": linear(noise=3.0, use_static=False),
        },
        "made_by": {"command": "test", "seed": 0},
    }
    return header | changes


def tiny_arrays(n_layer: int, n_head: int, dim: int, seed: int = 0) -> dict[str, Any]:
    """A controller that tells tokens and heads apart, untrained."""
    rng = np.random.default_rng(seed)

    def real(*shape: int, spread: float = 1.0) -> Any:
        return rng.normal(0, spread, shape).astype(np.float32)

    arrays: dict[str, Any] = {
        "k_mean": real(n_layer, n_head, dim, spread=0.3),
        "v_mean": real(n_layer, n_head, dim, spread=0.1),
        "k_exponent": rng.integers(-12, -9, (n_layer, n_head)).astype(np.int8),
        "v_exponent": rng.integers(-12, -9, (n_layer, n_head)).astype(np.int8),
        "static": real(n_layer, n_head, 2),
        "f_mean": real(n_layer, n_head, N_FEATURES, spread=0.5) + TYPICAL,
        "f_scale": rng.uniform(0.2, 0.8, (n_layer, n_head, N_FEATURES)).astype(np.float32),
        "embedding": real(n_layer, n_head, 8),
    }
    for prefix in ("mlp", "article"):
        for i, (n_out, n_in) in enumerate(((128, 32), (128, 128), (2, 128)), 1):
            codes = rng.integers(-127, 128, (n_out, n_in), np.int8)
            if prefix == "article" and i == 1:
                codes[:, :7] = codes[:, 10:] = 0
            arrays[f"{prefix}.w{i}"] = codes
            arrays[f"{prefix}.s{i}"] = np.full(n_out, 0.02 / n_in**0.5, np.float32)
            arrays[f"{prefix}.b{i}"] = real(n_out, spread=0.2)
    return arrays


def write_controller(path: Path, model: Path, *, seed: int = 0, **changes: Any) -> Path:
    """For the GGUF file ``model``; changes: of the header."""
    file = ModelFile.open(model)
    p = Hyperparams.from_file(file)
    norm = file.read("output_norm.weight")
    header = tiny_header(bundle.fingerprint_of(norm.tobytes()), **changes)
    arrays = tiny_arrays(p.n_layer, p.n_kv_head, p.head_dim, seed)
    bundle.write(path, bundle.CONTROLLER, header, arrays)
    return path


def write_features(path: Path, model: Path, *, seed: int = 0) -> Path:
    file = ModelFile.open(model)
    p = Hyperparams.from_file(file)
    rng = np.random.default_rng(seed)
    header = {
        "model": {"fingerprint": bundle.fingerprint_of(file.read("output_norm.weight").tobytes())},
        "N": 1000,
        "V_obs": 200,
    }
    names = ("rarity", "entropy", "variance")
    values = {name: rng.uniform(0, 9, p.n_vocab).astype(np.float16) for name in names}
    bundle.write(path, bundle.FEATURES, header, values)
    return path
