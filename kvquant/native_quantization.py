"""Hands a controller file over to the compiled engine, without numpy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvquant import _native
from kvquant.controller_file import (
    CONTROLLER_FILE,
    FEATURE_FILE,
    ControllerFile,
    FeatureFile,
    Policy,
    Shape,
)
from kvquant.errors import ControllerFileError
from kvquant.kv_settings import LADDER, PRE_ROPE, KvSettings, body_bits, check_head

_ALWAYS = ("k_mean", "v_mean", "k_exponent", "v_exponent")
_JUDGING = ("static", "f_mean", "f_scale", "embedding")
_NETWORK = tuple(f"{name}{i}" for i in (1, 2, 3) for name in "wsb")
_OF_TOKENS = range(7, 10)
"""Inputs that come from the token feature file."""

_WINDOW, _SINKS = 32, 4


@dataclass(frozen=True, slots=True)
class NativeShape:
    """Channels, heads and tokens, as in ``kvquant.hyperparams.Hyperparams``."""

    n_layer: int
    n_embd: int
    n_head: int
    n_kv_head: int
    head_dim: int
    n_ff: int
    n_vocab: int
    n_ctx_train: int


def quantization(
    settings: KvSettings, shape: Shape, fingerprint: int, n_ctx: int
) -> _native.Quantization | None:
    """None for caches that are not quantized.

    shape, fingerprint: of the model in use; the fingerprint is that of its last norm.

    Raises SettingError, and ControllerFileError for a file that is absent, damaged or of another
    model.
    """
    if not settings.quantized:
        return None
    check_head(shape.head_dim)
    dims = (shape.n_layer, shape.n_kv_head, shape.head_dim)
    file = _controller(settings, shape, fingerprint)
    before_rope = settings.key_layout == PRE_ROPE
    arrays = {} if file is None else _means(file, "_pre" if before_rope else "")
    window, sinks = settings.places(
        file.window if file else _WINDOW, file.sinks if file else _SINKS
    )
    if not settings.adaptive:
        tag = LADDER.index(settings.width)
        return _native.Quantization(
            shape=dims,
            ladder=LADDER,
            window=window,
            sinks=sinks,
            arrays=arrays,
            constant_class=tag | tag << 2,
            before_rope=before_rope,
        )
    assert file is not None
    policy = file.policy(settings.policy)
    arrays |= {name: file.arrays[name].data for name in _JUDGING}
    if policy.mlp is not None:
        arrays |= {name: file.arrays[f"{policy.mlp}.{name}"].data for name in _NETWORK}
    if policy.mlp is not None or any(policy.weights[j] != 0 for j in _OF_TOKENS):
        arrays |= _token_features(settings.controller, shape, fingerprint)
    body = body_bits(settings.budget_bits, file.ladder, shape.head_dim, window, sinks, n_ctx)
    return _native.Quantization(
        shape=dims,
        ladder=file.ladder,
        window=window,
        sinks=sinks,
        arrays=arrays,
        policy=_as_dict(policy, file.thresholds, body),
        measured_entropy=settings.features == "exact",
        before_rope=before_rope,
    )


def _means(file: ControllerFile, suffix: str) -> dict[str, Any]:
    """Means and exponents, as far as the file has them; suffix: of the names of the keys'."""
    names = {name: name + suffix if name.startswith("k_") else name for name in _ALWAYS}
    return {name: file.arrays[there].data for name, there in names.items() if there in file.arrays}


def _controller(settings: KvSettings, shape: Shape, fingerprint: int) -> ControllerFile | None:
    """The file that was asked for; for static kinds the shipped one's means, where they fit."""
    if settings.controller is not None or settings.adaptive:
        path = settings.controller or CONTROLLER_FILE
        return ControllerFile.open(path, fingerprint=fingerprint, shape=shape)
    if not CONTROLLER_FILE.exists():
        return None
    try:
        return ControllerFile.open(CONTROLLER_FILE, fingerprint=fingerprint, shape=shape)
    except ControllerFileError as e:
        if e.code == "controller.model":
            return None
        raise


def _token_features(controller: Path | None, shape: Shape, fingerprint: int) -> dict[str, Any]:
    """Those beside the controller file ("ctrl-x.bin", "features-x.bin"), else the shipped ones."""
    path = FEATURE_FILE
    if controller is not None:
        beside = controller.with_name(controller.name.replace("ctrl", "features", 1))
        if beside != controller and beside.exists():
            path = beside
    file = FeatureFile.open(path, fingerprint=fingerprint, shape=shape)
    return {
        "rarity": file.rarity.data,
        "entropy": file.entropy.data,
        "variance": file.variance.data,
    }


def _as_dict(policy: Policy, thresholds: tuple[float, float, float], body: float) -> dict[str, Any]:
    return {
        "thresholds": thresholds,
        "weights": policy.weights,
        "use_static": policy.use_static,
        "per_token": policy.per_token,
        "noise": policy.noise,
        "budget": list(policy.budget),
        "body_bits": body,
    }
