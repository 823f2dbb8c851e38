"""What all quantized caches of one model have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvquant.controller import BUDGET_TOKENS, Controller
from kvquant.controller_file import CONTROLLER_FILE, ControllerFile
from kvquant.errors import ControllerFileError
from kvquant.hyperparams import Hyperparams
from kvquant.kv_settings import (
    LADDER,
    PRE_ROPE,
    ROTATED,
    KvSettings,
    body_bits,
    check_head,
    class_bits,
)
from kvquant.pages import CELL_TOKENS
from kvquant.vector_format import DEFAULT_EXPONENT, Bytes, Floats

_WINDOW, _SINKS = 32, 4


@dataclass(frozen=True)
class CacheSetup:
    """The shape, the widths and what stays in 16 bits.

    ladder: width of each tag; controller: None gives every token the class ``constant_class``.
    key_mean, v_mean: (L, H, D); k_exponent, v_exponent: (L, H); frequencies: (D / 2,) radians per
    position. body_bits: that the quantized tokens may take on average.
    exact_entropy: predictions' entropies are measured, not looked up.
    """

    n_layer: int
    n_head: int
    n_kv_head: int
    head_dim: int
    frequencies: NDArray[np.float64]
    ladder: tuple[int, ...]
    key_mean: Floats
    v_mean: Floats
    k_exponent: NDArray[np.int64]
    v_exponent: NDArray[np.int64]
    controller: Controller | None = None
    constant_class: int = 0
    sinks: int = _SINKS
    window: int = _WINDOW
    body_bits: float = 16.0
    exact_entropy: bool = False
    key_layout: str = ROTATED
    _bits: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        bits = [class_bits(self.ladder, cls, self.head_dim) for cls in range(16)]
        object.__setattr__(self, "_bits", np.array(bits))

    @property
    def group(self) -> int:
        """Query heads of a KV head."""
        return self.n_head // self.n_kv_head

    @property
    def n_slots(self) -> int:
        """Of the area of halves: sinks, window and one more, in whole cells."""
        return -(-(self.sinks + self.window + 1) // CELL_TOKENS) * CELL_TOKENS

    def slots(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the area of halves holds positions that are sinks or in the window."""
        ring = self.sinks + (positions - self.sinks) % (self.n_slots - self.sinks)
        return np.where(positions < self.sinks, positions, ring)

    def exponents(self, layer: int, head: int) -> tuple[int, int]:
        """Of the scales of a head's keys and values."""
        return int(self.k_exponent[layer, head]), int(self.v_exponent[layer, head])

    def turns(self, positions: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """cos, sin (…, D / 2) of positions (…)."""
        angles = positions[..., None] * self.frequencies
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def offset(self, classes: Bytes) -> float:
        """What steers towards the budget after tokens with these classes (n, L, H)."""
        if self.controller is None:
            return 0.0
        n = len(classes)
        counted = classes[: n // BUDGET_TOKENS * BUDGET_TOKENS]
        mean = float(self._bits[counted].mean()) if len(counted) else 0.0
        return self.controller.offset(self.body_bits, n, mean)


def setup_for(
    settings: KvSettings, params: Hyperparams, fingerprint: int, n_ctx: int
) -> CacheSetup:
    """The setup of a quantized kind of cache.

    fingerprint: of the model (``kvquant.bundle.fingerprint_of``); n_ctx: of the caches to come.
    For keys before RoPE, the controller's own channel means and exponents for that are taken
    (``k_mean_pre``, ``k_exponent_pre``), or none.

    Raises SettingError, ControllerFileError.
    """
    check_head(params.head_dim)
    file = _means(settings, params, fingerprint)
    window, sinks = settings.places(
        file.window if file else _WINDOW, file.sinks if file else _SINKS
    )
    ladder: tuple[int, ...] = LADDER
    controller, body, constant = None, 16.0, 0
    if settings.adaptive:
        controller = Controller.load(
            settings.controller, policy=settings.policy, fingerprint=fingerprint, shape=params
        )
        ladder = controller.ladder
        body = body_bits(settings.budget_bits, ladder, params.head_dim, window, sinks, n_ctx)
    else:
        constant = LADDER.index(settings.width) * 5
    return CacheSetup(
        n_layer=params.n_layer,
        n_head=params.n_head,
        n_kv_head=params.n_kv_head,
        head_dim=params.head_dim,
        frequencies=params.rope_base ** (-np.arange(0, params.head_dim, 2) / params.head_dim),
        ladder=ladder,
        controller=controller,
        constant_class=constant,
        sinks=sinks,
        window=window,
        body_bits=body,
        exact_entropy=settings.adaptive and settings.features == "exact",
        key_layout=settings.key_layout,
        **_tables(file, params, "_pre" if settings.key_layout == PRE_ROPE else ""),
    )


def _means(settings: KvSettings, params: Hyperparams, fingerprint: int) -> ControllerFile | None:
    """The file that was asked for; for static kinds the shipped one, where it fits."""
    path = settings.controller
    if path is None and not settings.adaptive and not CONTROLLER_FILE.exists():
        return None
    try:
        return ControllerFile.open(path or CONTROLLER_FILE, fingerprint=fingerprint, shape=params)
    except ControllerFileError as e:
        if path is None and not settings.adaptive and e.code == "controller.model":
            return None
        raise


def _tables(file: ControllerFile | None, params: Hyperparams, suffix: str) -> dict[str, Any]:
    """Means and exponents; suffix: of the names of the keys' arrays."""
    places = (params.n_layer, params.n_kv_head)
    found: dict[str, NDArray[Any]] = {
        "key_mean": np.zeros((*places, params.head_dim), np.float32),
        "v_mean": np.zeros((*places, params.head_dim), np.float32),
        "k_exponent": np.full(places, DEFAULT_EXPONENT, np.int64),
        "v_exponent": np.full(places, DEFAULT_EXPONENT, np.int64),
    }
    arrays = file.arrays if file else {}
    names = {
        "key_mean": f"k_mean{suffix}",
        "v_mean": "v_mean",
        "k_exponent": f"k_exponent{suffix}",
        "v_exponent": "v_exponent",
    }
    for field_name, name in names.items():
        if name in arrays:
            found[field_name] = arrays[name].numpy().astype(found[field_name].dtype)
    return found
