"""``AdaptiveCache``: the adaptive KV cache for decoders of the transformers library."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kvquant.errors import BackendMissingError, SettingError

try:
    import torch
    from transformers.cache_utils import Cache, DynamicCache, DynamicLayer
except ImportError as e:
    raise BackendMissingError(
        "hf.missing",
        f"AdaptiveCache needs torch and transformers, and {e.name} is not there.",
        "Install the extra: pip install '.[train]'.",
    ) from e

from kvquant.adaptive_judge import Judge, open_controller
from kvquant.adaptive_layer import FIRST, AdaptiveLayer
from kvquant.adaptive_rows import WIDTHS
from kvquant.adaptive_rule import Calibration, LayerRule, Weights, calibrations
from kvquant.bundle import fingerprint_of
from kvquant.controller import Controller
from kvquant.controller_file import CONTROLLER_FILE, ControllerFile

Tensor = Any

LADDER = (2, 3, 4, 8)
_MAX_WIDTHS = 4


@dataclass(frozen=True, slots=True)
class CacheReport:
    """What the cache holds, measured on its tensors.

    kv_bytes: codes, scales, zero points, tags, channel means, sinks and window, and the whole of
    the layers that stay plain; held_bytes: with spare room and bookkeeping; kv_bytes_fp16: the same
    tokens in 16 bits; bits_mean: stored bits per number over the layers that adapt, all in;
    body_bits: over the packed tokens alone; class_tokens: vectors by (key width, value width).
    """

    tokens: int
    kv_bytes: int
    held_bytes: int
    kv_bytes_fp16: int
    bits_mean: float
    body_bits: float
    class_tokens: dict[tuple[int, int], int]


class AdaptiveCache(Cache):  # type: ignore[misc]
    """A cache for ``model(…, past_key_values=cache)`` and ``model.generate``; newer versions of
    transformers call the argument ``cache``.

    The first ``sinks`` and the last ``window`` tokens stay in 16 bits. What leaves the window is
    packed: channel means removed, Hadamard, and a width of ``ladder`` for each token, head, and key
    or value, such that with ``n_ctx`` tokens everything together takes ``budget_bits`` a number.
    The first 16 tokens that leave the window set means and scales, so the first dozens of tokens
    take 16 bits each. A chunk that is given at once sees itself exactly.

    A transformers cache does not see queries or attention weights. Widths are therefore chosen by
    the lengths of keys and values; ``watch`` adds the attention that tokens received.

    Layers with a sliding window, or without keys and values, stay as transformers has them.
    Every step unpacks a layer for its attention: this saves memory, not time.

    Args:
        config: the model's; without it every layer is taken for one of full attention.
        budget_bits: stored bits per number, everything counted; one width in ``ladder`` and any
            large budget give a static cache.
        window, sinks: tokens at the end and at the start that stay in 16 bits; 32 and 4, or what
            the controller was made for.
        ladder: one to four of the widths 2, 3, 4, 8, 16, ascending; the controller's, or 2 to 8.
        n_ctx: length that the budget is meant for.
        controller: for this model, or its file: its channel means and its table of how much
            layers and heads matter are used, and all of it while the model is watched (and no
            layer has a sliding window). ``for_model`` finds the shipped one.
        attention_mask: (batch, length) of the first prompt; needed only to see padding on the left
            where the model is called without ``position_ids`` (``generate`` gives them).

    Raises SettingError for values that cannot be used, ControllerFileError for a file that is
    damaged or of another model.
    """

    def __init__(
        self,
        config: Any = None,
        *,
        budget_bits: float = 3.5,
        window: int | None = None,
        sinks: int | None = None,
        ladder: tuple[int, ...] | None = None,
        n_ctx: int = 2048,
        controller: Controller | Path | str | None = None,
        attention_mask: Tensor | None = None,
        weights: Weights | None = None,
    ) -> None:
        if isinstance(controller, (str, Path)):
            controller = open_controller(controller)
        file = controller.file if controller else None
        _check_shape(file, config)
        window = _first(window, file.window if file else None, 32)
        sinks = _first(sinks, file.sinks if file else None, 4)
        self._ladder = tuple(ladder or (file.ladder if file else LADDER))
        _check(budget_bits, window, sinks, self._ladder, n_ctx)
        self._body = _body_bits(budget_bits, window, sinks, n_ctx)
        self._weights = weights or Weights()
        self._attention_mask = attention_mask
        self._watched = False
        known = calibrations(file, self._ladder, self._body) if file else []
        self._judge: Judge | None = None
        self._tokens: Tensor | None = None
        make = partial(AdaptiveLayer, window, sinks)
        # transformers knows which kind of layer stands where; only its plain ones are replaced.
        plain = DynamicCache(config=config).layers if config is not None else []
        if plain:
            super().__init__(
                layers=[
                    make(partial(self._make_rule, known[i] if known else None))
                    if type(layer) is DynamicLayer
                    else layer
                    for i, layer in enumerate(plain)
                ]
            )
        else:
            super().__init__(layer_class_to_replicate=partial(make, partial(self._make_rule, None)))
        if controller and self._ladder == controller.ladder and len(self._adaptive()) == len(plain):
            self._judge = Judge(controller, self._body)

    @classmethod
    def for_model(cls, model: Any, **settings: Any) -> AdaptiveCache:
        """A cache for ``model``: with the shipped controller where it was made for these weights,
        else calibrating itself. settings: as of the constructor; a ``controller`` given here must
        be this model's."""
        fingerprint = _fingerprint(model)
        wanted = settings.pop("controller", None)
        if wanted is None and CONTROLLER_FILE.exists():
            if ControllerFile.open(CONTROLLER_FILE).fingerprint == fingerprint:
                wanted = open_controller(CONTROLLER_FILE)
        elif isinstance(wanted, (str, Path)):
            wanted = open_controller(wanted, fingerprint)
        return cls(model.config, controller=wanted, **settings)

    def _make_rule(
        self, known: Calibration | None, heads: int, k_dim: int, v_dim: int
    ) -> LayerRule:
        return LayerRule(
            self._ladder,
            self._body if known is None else known.target,
            (k_dim, v_dim),
            torch.zeros(heads, 2) if known is None else known.static,
            known,
            self._weights,
        )

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """As transformers calls it; the attention's arguments show where padding stands."""
        while self.layer_class_to_replicate is not None and len(self.layers) <= layer_idx:
            self.layers.append(self.layer_class_to_replicate())
            self.layers[-1].watched = self._watched
        layer = self.layers[layer_idx]
        if isinstance(layer, AdaptiveLayer) and not layer.is_initialized:
            layer.padding = self._padding(key_states, kwargs.get("kwargs") or kwargs)
        keys, values = super().update(key_states, value_states, layer_idx, *args, **kwargs)
        return keys, values

    def _padding(self, keys: Tensor, given: dict[str, Any]) -> Tensor | None:
        """(batch) tokens of padding on the left, or None where there is none."""
        batch, _, length, _ = keys.shape
        mask = self._attention_mask
        if mask is not None and tuple(mask.shape) == (batch, length):
            padding = mask.to(keys.device).ne(0).int().argmax(1)
        else:
            positions = given.get("position_ids")
            if positions is None or tuple(positions.shape) != (batch, length):
                return None
            # generate() counts from the first real token; padding has position 0 or 1.
            positions = positions.to(keys.device)
            place = torch.arange(length, device=keys.device)
            padding = torch.where(positions == 0, place, -1).amax(1).clamp(min=0)
            odd = (positions > 1) & (place < padding[:, None])
            padding = torch.where(odd.any(1), 0, padding)
        return padding if bool(padding.any()) else None

    @contextmanager
    def watch(self, model: Any) -> Iterator[AdaptiveCache]:
        """Within this block, passes of ``model`` over this cache also tell it the attention
        weights, for better choices at the same bits. The model computes its attention in the
        plain ("eager") way meanwhile, which is slower for long prompts."""
        before = model.config._attn_implementation
        model.set_attn_implementation("eager")
        handles = [
            module.register_forward_hook(self._hook, with_kwargs=True)
            for module in model.modules()
            if isinstance(getattr(module, "layer_idx", None), int)
            and "Attention" in type(module).__name__
        ]
        handles.append(model.register_forward_pre_hook(self._note_tokens, with_kwargs=True))
        self._set_watched(True)
        try:
            yield self
        finally:
            self._set_watched(False)
            for handle in handles:
                handle.remove()
            model.set_attn_implementation(before)

    def _hook(self, module: Any, _: Any, kwargs: dict[str, Any], output: Any) -> None:
        if any(value is self for value in kwargs.values()):
            self.feed_attention(module.layer_idx, output[1])

    def feed_attention(self, layer_idx: int, weights: Tensor | None) -> None:
        """After ``update`` of that layer: the weights (batch, query heads, queries, length) of the
        attention that followed it. Only for tokens still in the window do they count."""
        layer = self.layers[layer_idx]
        if not isinstance(layer, AdaptiveLayer):
            return
        layer.feed_attention(weights)
        if self._judge is None:
            layer.settle()
        elif layer is self.layers[-1] and not self._judge.settle(self._adaptive(), self._known()):
            for each in self._adaptive():
                each.settle()

    def _note_tokens(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if any(value is self for value in kwargs.values()):
            ids = kwargs.get("input_ids", args[0] if args else None)
            held = self.get_seq_length()
            before = self._tokens
            if ids is not None and held:
                ids = None if before is None else torch.cat([before[:, :held], ids], 1)
            self._tokens = ids

    def _known(self) -> Tensor | None:
        """(batch, length) ids of all tokens, or None where some are not known."""
        tokens = self._tokens
        known = tokens is not None and tokens.shape[1] == self.get_seq_length()
        return tokens if known else None

    def batch_select_indices(self, indices: Tensor) -> None:
        """Rows of the batch by number, or by a mask."""
        super().batch_select_indices(indices)
        if self._tokens is not None:
            self._tokens = self._tokens[indices]

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Each row of the batch so many times."""
        super().batch_repeat_interleave(repeats)
        if self._tokens is not None:
            self._tokens = self._tokens.repeat_interleave(repeats, 0)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Rows of the batch for the beams that go on."""
        super().reorder_cache(beam_idx)
        if self._tokens is not None:
            self._tokens = self._tokens[beam_idx]

    def _set_watched(self, watched: bool) -> None:
        self._watched = watched
        for layer in self._adaptive():
            layer.watched = watched
            if not watched and layer.is_initialized and not layer.record_past:
                layer.settle()

    def _adaptive(self) -> list[AdaptiveLayer]:
        return [layer for layer in self.layers if isinstance(layer, AdaptiveLayer)]

    def report(self) -> CacheReport:
        """Bytes and bits, measured."""
        adaptive = [layer for layer in self._adaptive() if layer.is_initialized]
        plain = sum(
            x.numel() * x.element_size()
            for layer in self.layers
            if not isinstance(layer, AdaptiveLayer) and layer.is_initialized
            for x in (getattr(layer, "keys", None), getattr(layer, "values", None))
            if x is not None
        )
        stored = sum(layer.bytes_stored() for layer in adaptive)
        fp16 = sum(layer.bytes_plain() for layer in adaptive)
        return CacheReport(
            tokens=self.get_seq_length() if self.layers else 0,
            kv_bytes=stored + plain,
            held_bytes=sum(layer.bytes_held() for layer in adaptive) + plain,
            kv_bytes_fp16=fp16 + plain,
            bits_mean=16.0 * stored / fp16 if fp16 else 0.0,
            body_bits=_mean_body(adaptive),
            class_tokens=_class_tokens(adaptive, self._ladder),
        )


def _body_bits(budget_bits: float, window: int, sinks: int, n_ctx: int) -> float:
    """Bits that are left for packed tokens: without sinks, window and the means of epochs."""
    packed = n_ctx - sinks - window
    means = 8 * (1 + max(math.log2(packed / FIRST), 0.0))
    return max((budget_bits * n_ctx - 16 * (sinks + window) - means) / packed, 0.0)


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _fingerprint(model: Any) -> int | None:
    """As controller files name models: by the weights of the last norm."""
    norm = getattr(model.get_decoder(), "norm", None)
    weight = getattr(norm, "weight", None)
    if weight is None:
        return None
    return fingerprint_of(weight.detach().float().cpu().contiguous().numpy().tobytes())


def _check_shape(file: ControllerFile | None, config: Any) -> None:
    if file is None:
        return
    if config is None:
        raise SettingError("hf.controller", "A controller needs the model's config beside it.")
    text = config.get_text_config(decoder=True)
    heads = getattr(text, "num_key_value_heads", text.num_attention_heads)
    dim = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    shape = (text.num_hidden_layers, heads, dim)
    if file.arrays["k_mean"].shape != shape:
        raise SettingError(
            "hf.controller",
            f"{file.name} is for {' x '.join(map(str, file.arrays['k_mean'].shape))} layers, heads"
            f" and channels, the model has {' x '.join(map(str, shape))}.",
            "Take the controller of this model, or none.",
        )


def _mean_body(layers: list[AdaptiveLayer]) -> float:
    sizes = [float(layer.counts()[0].sum()) for layer in layers]
    bits = [layer.rule.mean_bits(layer.counts()) for layer in layers]
    total = sum(sizes)
    return math.fsum(b * n for b, n in zip(bits, sizes, strict=True)) / total if total else 0.0


def _class_tokens(
    layers: list[AdaptiveLayer], ladder: tuple[int, ...]
) -> dict[tuple[int, int], int]:
    counts = sum(
        (torch.bincount(layer.classes().flatten().int(), minlength=16).cpu() for layer in layers),
        torch.zeros(16, dtype=torch.int64),
    )
    return {
        (ladder[code & 3], ladder[code >> 2]): int(n) for code, n in enumerate(counts) if int(n)
    }


def _check(
    budget_bits: float, window: int, sinks: int, ladder: tuple[int, ...], n_ctx: int
) -> None:
    wrong: list[tuple[str, bool, Callable[[], str]]] = [
        (
            "budget_bits",
            not (math.isfinite(budget_bits) and budget_bits > 0),
            lambda: f"budget_bits is {budget_bits}; give a number above 0.",
        ),
        ("window", window < 0, lambda: f"window is {window}; give 0 or more tokens."),
        ("sinks", sinks < 0, lambda: f"sinks is {sinks}; give 0 or more tokens."),
        (
            "ladder",
            not 1 <= len(ladder) <= _MAX_WIDTHS
            or list(ladder) != sorted(set(ladder) & set(WIDTHS)),
            lambda: f"ladder is {ladder}; give one to four of {WIDTHS}, ascending.",
        ),
        (
            "n_ctx",
            n_ctx <= sinks + window,
            lambda: f"n_ctx is {n_ctx}, not more than sinks and window together.",
        ),
    ]
    for name, is_wrong, message in wrong:
        if is_wrong:
            raise SettingError(f"hf.{name}", message())
