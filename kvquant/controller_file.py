"""What a controller file and a token feature file say, checked once and read without numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kvquant.bundle import CONTROLLER, FEATURES, Array, Bundle, read, wrong
from kvquant.errors import SettingError

CONTROLLER_FILE = Path(__file__).parent / "files" / "ctrl-135M.bin"
FEATURE_FILE = Path(__file__).parent / "files" / "features-135M.bin"
"""The shipped ones, for the model of 135 million weights."""

WIDTHS = (2, 3, 4, 8, 16)
N_FEATURES = 13
N_EMBEDDING = 8
N_INPUTS = 32
N_HIDDEN = 128
MAX_PLACES = 1024
"""Of the window and of the sinks."""
MAX_POLICIES = 64
MAX_NAME = 60
"""Letters of a policy's name."""
MAX_BUDGETS = 1024


class Shape(Protocol):
    """The part of a model's shape that these files depend on."""

    @property
    def n_layer(self) -> int: ...
    @property
    def n_kv_head(self) -> int: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def n_vocab(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Policy:
    """One way of judging.

    kind: "mlp" (a network, ``mlp`` is the prefix of its arrays) or "linear" (``weights`` of the
        standardised features, (13,)).
    use_static: the table of sensitivities is added; per_token: one class for all of a token.
    noise: of a number in -1 … 1 that the place decides.
    budget: (bits of the quantized part, offset) ascending.
    """

    name: str
    kind: str
    weights: tuple[float, ...]
    use_static: bool
    per_token: bool
    noise: float
    mlp: str | None
    budget: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class ControllerFile:
    """A controller as stored.

    ladder: four widths in bits, ascending; thresholds: three, ascending; window, sinks: tokens.
    arrays: k_mean, v_mean (L, H, D); k_exponent, v_exponent (L, H) int8; static (L, H, 2);
        f_mean, f_scale (L, H, 13); embedding (L, H, 8); k_mean_pre, k_exponent_pre: as k_mean
        and k_exponent, of keys before RoPE, both or none; for each network w1, w2, w3 int8
        (out, in) with s and b (out,), named "prefix.w1" and so on.
    made_by: what made it, as it says itself; header: all of this as it was read.
    """

    name: str
    fingerprint: int
    ladder: tuple[int, int, int, int]
    window: int
    sinks: int
    thresholds: tuple[float, float, float]
    policies: dict[str, Policy]
    arrays: dict[str, Array]
    made_by: dict[str, Any]
    header: dict[str, Any]

    @classmethod
    def open(
        cls, path: Path, *, fingerprint: int | None = None, shape: Shape | None = None
    ) -> ControllerFile:
        """Reads and checks a file; of the model in use, where fingerprint and shape are given.

        Raises ControllerFileError.
        """
        return cls.from_bundle(read(path, CONTROLLER, fingerprint), shape)

    @classmethod
    def from_bundle(cls, bundle: Bundle, shape: Shape | None = None) -> ControllerFile:
        """Checks what a bundle says. Raises ControllerFileError."""
        check = _Checker(bundle)
        _check_arrays(check, shape)
        a, b, c, d = check.ladder()
        low, middle, high = check.ascending("thresholds", bundle.header.get("thresholds"), 3)
        policies = check.policies()
        for policy in policies.values():
            if policy.mlp is not None:
                _check_network(check, policy.mlp)
        made_by = bundle.header.get("made_by", {})
        if not isinstance(made_by, dict):
            raise check.error("header", "has a made_by that is no object")
        return cls(
            name=bundle.name,
            fingerprint=bundle.fingerprint,
            ladder=(a, b, c, d),
            window=check.places("window", 2),
            sinks=check.places("sinks", 0),
            thresholds=(low, middle, high),
            policies=policies,
            arrays=bundle.arrays,
            made_by=made_by,
            header=bundle.header,
        )

    def policy(self, name: str) -> Policy:
        """Raises SettingError when there is no policy of this name."""
        if name not in self.policies:
            raise SettingError(
                "kv.policy",
                f"{self.name} has no policy {name!r:.60}; it has {', '.join(self.policies)}.",
            )
        return self.policies[name]


@dataclass(frozen=True, slots=True)
class FeatureFile:
    """Features of every token of the vocabulary, float16 (n_vocab,).

    count: tokens of the text that they were counted in; observed: different ones among them.
    """

    name: str
    fingerprint: int
    rarity: Array
    entropy: Array
    variance: Array
    count: int
    observed: int

    @classmethod
    def open(
        cls, path: Path, *, fingerprint: int | None = None, shape: Shape | None = None
    ) -> FeatureFile:
        """Reads and checks a file. Raises ControllerFileError."""
        return cls.from_bundle(read(path, FEATURES, fingerprint), shape)

    @classmethod
    def from_bundle(cls, bundle: Bundle, shape: Shape | None = None) -> FeatureFile:
        """Checks what a bundle says. Raises ControllerFileError."""
        check = _Checker(bundle)
        n_vocab = shape.n_vocab if shape else check.shape("rarity", 1)[0]
        for name in ("rarity", "entropy", "variance"):
            check.array(name, "f16", (n_vocab,))
        return cls(
            name=bundle.name,
            fingerprint=bundle.fingerprint,
            rarity=bundle.arrays["rarity"],
            entropy=bundle.arrays["entropy"],
            variance=bundle.arrays["variance"],
            count=check.whole("N", 0, 2**62),
            observed=check.whole("V_obs", 0, n_vocab),
        )


def _check_arrays(check: _Checker, shape: Shape | None) -> None:
    if shape is not None:
        n_layer, n_head, dim = shape.n_layer, shape.n_kv_head, shape.head_dim
    else:
        n_layer, n_head, dim = check.shape("k_mean", 3)
    per_head = (n_layer, n_head)
    # Of keys before RoPE: optional, both or none.
    also = "k_mean_pre" in check.bundle.arrays
    for name in ("k_mean", "v_mean", *["k_mean_pre"] * also):
        check.array(name, "f32", (*per_head, dim))
    for name in ("k_exponent", "v_exponent", *["k_exponent_pre"] * also):
        check.array(name, "i8", per_head)
        # Scales up to 2^16 beyond the exponent must stay normal float32 numbers.
        if not all(-100 <= e <= 100 for e in check.bundle.arrays[name].data.cast("b")):
            raise check.error("arrays", f"has a {name} outside -100 … 100")
    check.array("static", "f32", (*per_head, 2))
    check.array("f_mean", "f32", (*per_head, N_FEATURES))
    check.array("f_scale", "f32", (*per_head, N_FEATURES))
    check.array("embedding", "f32", (*per_head, N_EMBEDDING))


def _check_network(check: _Checker, prefix: str) -> None:
    for i, (n_out, n_in) in enumerate(((N_HIDDEN, N_INPUTS), (N_HIDDEN, N_HIDDEN), (2, N_HIDDEN))):
        check.array(f"{prefix}.w{i + 1}", "i8", (n_out, n_in))
        check.array(f"{prefix}.s{i + 1}", "f32", (n_out,))
        check.array(f"{prefix}.b{i + 1}", "f32", (n_out,))


class _Checker:
    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self._header = bundle.header

    def error(self, code: str, message: str) -> Exception:
        return wrong(self.bundle.name, code, message)

    def array(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        found = self.bundle.arrays.get(name)
        if found is None:
            raise self.error("arrays", f"lacks the array {name[:60]}")
        if (found.dtype, found.shape) != (dtype, shape):
            raise self.error(
                "shape",
                f"has {name[:60]} as {found.dtype} {list(found.shape)} "
                f"instead of {dtype} {list(shape)}",
            )
        if not _finite(found):
            raise self.error("arrays", f"has a number in {name[:60]} that is not finite")

    def shape(self, name: str, dims: int) -> tuple[int, ...]:
        found = self.bundle.arrays.get(name)
        if found is None or len(found.shape) != dims:
            raise self.error("arrays", f"lacks the array {name} of {dims} dimensions")
        return found.shape

    def whole(self, key: str, low: int, high: int) -> int:
        value = self._header.get(key)
        if type(value) is not int or not low <= value <= high:
            raise self.error(
                "header", f"has {key} {value!r:.40}, not a whole number {low} … {high}"
            )
        return value

    def places(self, key: str, low: int) -> int:
        return self.whole(key, low, MAX_PLACES)

    def ladder(self) -> list[int]:
        value = self._header.get("ladder")
        widths = value if isinstance(value, list) else []
        known = all(type(b) is int and b in WIDTHS for b in widths)
        if not known or len(widths) != 4 or sorted(set(widths)) != widths:
            raise self.error(
                "header", f"has the ladder {value!r:.60}, not four ascending widths of {WIDTHS}"
            )
        return widths

    def ascending(self, what: str, value: Any, n: int) -> list[float]:
        numbers = self.numbers(what, value, n)
        if sorted(numbers) != numbers:
            raise self.error("header", f"has {what} that do not ascend")
        return numbers

    def numbers(self, what: str, value: Any, n: int) -> list[float]:
        if not isinstance(value, list) or len(value) != n:
            raise self.error("header", f"has {what} {value!r:.60}, not {n} numbers")
        return [self.number(what, x) for x in value]

    def number(self, what: str, value: Any) -> float:
        real = type(value) is float or (type(value) is int and abs(value) < 2**53)
        if not real or not math.isfinite(value):
            raise self.error("header", f"has {what} with {value!r:.40}, not a finite number")
        return float(value)

    def policies(self) -> dict[str, Policy]:
        value = self._header.get("policies")
        if not isinstance(value, dict) or not 1 <= len(value) <= MAX_POLICIES:
            raise self.error("header", "has no table of policies")
        if not all(0 < len(name) <= MAX_NAME for name in value):
            raise self.error("header", f"has a policy whose name has not 1 to {MAX_NAME} letters")
        return {name: self._policy(name, entry) for name, entry in value.items()}

    def _policy(self, name: str, entry: Any) -> Policy:
        what = f"the policy {name[:60]!r}"
        if not isinstance(entry, dict):
            raise self.error("header", f"has {what} that is no object")
        kind, mlp = entry.get("kind"), entry.get("mlp")
        flags = [entry.get("use_static", False), entry.get("per_token", False)]
        if kind not in ("mlp", "linear"):
            raise self.error("header", f"has {what} of the unknown kind {kind!r:.40}")
        if not (isinstance(mlp, str) if kind == "mlp" else mlp is None):
            raise self.error("header", f"has {what} of the kind {kind} with mlp {mlp!r:.40}")
        if not all(isinstance(flag, bool) for flag in flags):
            raise self.error(
                "header", f"has {what} with use_static or per_token neither true nor false"
            )
        return Policy(
            name=name,
            kind=kind,
            weights=tuple(
                self.numbers(
                    f"weights of {what}", entry.get("weights", [0] * N_FEATURES), N_FEATURES
                )
            ),
            use_static=flags[0],
            per_token=flags[1],
            noise=self.number(f"noise of {what}", entry.get("noise", 0.0)),
            mlp=mlp,
            budget=self._budget(what, entry.get("budget")),
        )

    def _budget(self, what: str, value: Any) -> tuple[tuple[float, float], ...]:
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_BUDGETS:
            raise self.error("header", f"has {what} without a table of budgets")
        pairs = [self.numbers(f"a budget of {what}", pair, 2) for pair in value]
        bits = [pair[0] for pair in pairs]
        if sorted(set(bits)) != bits:
            raise self.error("header", f"has {what} with budgets that do not ascend")
        return tuple((b, offset) for b, offset in pairs)


def _finite(array: Array) -> bool:
    if array.dtype == "f32":
        # A sum of float32 numbers cannot overflow, and keeps what is not finite.
        return math.isfinite(sum(array.data.cast("f")))
    if array.dtype == "f16":
        return not bytes(array.data[1::2]).translate(None, _FINITE_HALVES)
    return True


_FINITE_HALVES = bytes(b for b in range(256) if b & 0x7C != 0x7C)
"""Upper bytes of halves that are finite."""
