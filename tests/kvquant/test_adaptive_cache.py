"""The adaptive cache under transformers' own models: tiny random ones, built here."""

# ruff: noqa: E402 - the modules under test need torch themselves
from __future__ import annotations

import contextlib
import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
transformers = pytest.importorskip("transformers", reason="needs the extra train")

from kvquant import AdaptiveCache, KvquantError, bundle
from kvquant.adaptive_layer import AdaptiveLayer
from kvquant.adaptive_rows import WIDTHS, clean, decode, encode, hadamard, row_bytes
from kvquant.adaptive_rule import Weights
from kvquant.errors import SettingError
from kvquant.quantizer import dequantize, quantize
from tests.kvquant.tiny_controller import tiny_arrays, tiny_header

# Newest versions of transformers rename the argument ``past_key_values`` and warn.
pytestmark = pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated:FutureWarning")

ROOT = Path(__file__).parents[2]
VOCABULARY = 96
EXACT = {"ladder": (16,), "budget_bits": 16.0}

SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}


def small(kind: str, **changes: Any) -> Any:
    torch.manual_seed(3)
    config = getattr(transformers, kind + "Config")(**(SMALL | changes))
    return transformers.AutoModelForCausalLM.from_config(config).eval()


MODELS: dict[str, Any] = {
    "llama": lambda: small("Llama"),
    "llama, one KV head": lambda: small("Llama", num_key_value_heads=1),
    "llama, a KV head for each": lambda: small("Llama", num_key_value_heads=4),
    "qwen2": lambda: small("Qwen2"),
    "qwen3, own head size": lambda: small("Qwen3", head_dim=32),
    "mistral, sliding": lambda: small("Mistral", sliding_window=48),
    "mistral": lambda: small("Mistral", sliding_window=None),
    "phi3": lambda: small("Phi3"),
    "gemma2": lambda: small("Gemma2", head_dim=16, sliding_window=48),
    "gemma3": lambda: small(
        "Gemma3Text", head_dim=16, sliding_window=48,
        layer_types=["sliding_attention", "full_attention"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def quietly() -> Iterator[None]:
    threads, level = torch.get_num_threads(), transformers.utils.logging.get_verbosity()
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    yield
    transformers.utils.logging.set_verbosity(level)
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def llama() -> Any:
    return MODELS["llama"]()


def tokens(batch: int, length: int, seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, VOCABULARY, (batch, length), generator=generator)


def logits(model: Any, ids: Any, cache: Any, **more: Any) -> Any:
    with torch.no_grad():
        return model(ids, past_key_values=cache, **more).logits


def layers(cache: AdaptiveCache) -> list[AdaptiveLayer]:
    return [layer for layer in cache.layers if isinstance(layer, AdaptiveLayer)]


def content(cache: AdaptiveCache) -> list[Any]:
    """Everything that a next token would attend to."""
    out = []
    for layer in layers(cache):
        batch, heads, _, dim = layer.keys.shape
        nothing = torch.zeros(batch, heads, 0, dim)
        copied = copy.deepcopy(layer)
        out += list(copied.update(nothing, nothing))
    return out


# Codes and rows.


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("dim", [16, 64, 80, 17, 256])
def test_rows_are_those_of_the_reference(bits: int, dim: int) -> None:
    rng = np.random.default_rng(dim)
    x = (rng.standard_normal((50, dim)) * 10.0 ** rng.uniform(-1, 1, (50, 1))).astype(np.float32)
    x[0] = 0
    q = quantize(x, bits, group=dim)
    exponent = torch.full((50,), q.exponent, dtype=torch.int32)
    rows = encode(clean(torch.tensor(x)), bits, exponent)
    assert rows.dtype == torch.uint8
    assert rows.shape == (50, row_bytes(dim, bits))
    if bits != 16:
        place = -(-dim // 8) * bits
        same = rows[:, place].numpy() == q.scales[:, 0]
        # The search adds up in float32 here: once in a while the next scale is as good.
        assert same.mean() > 0.95
    back, expected = decode(rows, bits, dim, exponent).numpy(), dequantize(q)
    error, best = ((back - x) ** 2).sum(1), ((expected - x) ** 2).sum(1)
    assert np.all(error <= best * 1.0001 + 1e-12)


@pytest.mark.parametrize("dim", [1, 16, 17, 80, 96, 128, 256])
def test_hadamard_is_its_own_inverse(dim: int) -> None:
    h = hadamard(dim, "cpu")
    assert torch.allclose(h @ h, torch.eye(dim), atol=1e-5)
    block = dim & -dim
    assert int((h != 0).sum(1).max()) == block


# Any decoder.


@pytest.mark.parametrize("name", MODELS)
def test_any_decoder_takes_it(name: str) -> None:
    model = MODELS[name]()
    ids = tokens(2, 150)
    expected = logits(model, ids, transformers.DynamicCache(config=model.config))
    cache = AdaptiveCache(model.config, **EXACT)
    got = torch.cat([logits(model, part, cache) for part in ids.split([70, 1, 1, 60, 18], 1)], 1)
    assert torch.allclose(got, expected, atol=0.02)
    plain = name in ("mistral, sliding", "gemma2", "gemma3")
    assert len(layers(cache)) == {"mistral, sliding": 0, "gemma2": 1, "gemma3": 1}.get(name, 2)
    assert cache.get_seq_length() == 150
    packed = AdaptiveCache(model.config, budget_bits=4.5)
    out = model.generate(ids[:, :100], past_key_values=packed, max_new_tokens=20, do_sample=False)
    assert out.shape == (2, 120)
    report = packed.report()
    assert plain or report.kv_bytes < 0.75 * report.kv_bytes_fp16
    assert report.tokens == 119


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_models_of_any_precision(dtype: str) -> None:
    model = MODELS["llama"]().to(getattr(torch, dtype))
    ids = tokens(1, 130)
    expected = logits(model, ids, transformers.DynamicCache(config=model.config)).float()
    cache = AdaptiveCache(model.config, ladder=(8,), budget_bits=16)
    got = torch.cat([logits(model, part, cache) for part in ids.split(26, 1)], 1)
    assert got.dtype == getattr(torch, dtype)
    assert torch.allclose(got.float(), expected, atol=0.15)
    wanted = torch.bfloat16 if dtype == "bfloat16" else torch.float16
    assert all(layer.keys.dtype == wanted for layer in layers(cache))


@pytest.mark.parametrize("head_dim", [16, 20, 64, 80, 96, 128, 256])
def test_any_head_size(head_dim: int) -> None:
    model = small("Qwen3", head_dim=head_dim, num_attention_heads=2, num_key_value_heads=1)
    ids = tokens(1, 120)
    cache = AdaptiveCache(model.config, ladder=(8,), budget_bits=16)
    got = torch.cat([logits(model, part, cache) for part in ids.split(20, 1)], 1)
    expected = logits(model, ids, None)
    assert torch.allclose(got, expected, atol=0.1)


def test_without_a_config_every_layer_adapts(llama: Any) -> None:
    cache = AdaptiveCache(budget_bits=4.5)
    got = torch.cat([logits(llama, part, cache) for part in tokens(1, 120).split(40, 1)], 1)
    assert got.shape == (1, 120, VOCABULARY)
    assert len(layers(cache)) == 2
    assert cache.report().class_tokens


# What is stored.


def test_window_and_sinks_are_bit_equal_to_halves(llama: Any) -> None:
    ids = tokens(1, 150)
    plain = transformers.DynamicCache(config=llama.config)
    logits(llama, ids, plain)
    cache = AdaptiveCache(llama.config, budget_bits=3, window=24, sinks=3)
    logits(llama, ids, cache)
    for mine, theirs in zip(cache.layers, plain.layers, strict=True):
        for held, full in ((mine.keys, theirs.keys), (mine.values, theirs.values)):
            assert held.shape[2] == 27
            assert torch.equal(held[:, :, :3], full[:, :, :3].half())
            assert torch.equal(held[:, :, 3:], full[:, :, -24:].half())


@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
def test_reported_bits_are_the_bytes_that_are_stored(llama: Any, width: int) -> None:
    cache = AdaptiveCache(llama.config, ladder=(width,), budget_bits=16, window=20, sinks=2)
    logits(llama, tokens(3, 200), cache)
    n, batch, heads, dim, n_layer = 200 - 22, 3, 2, 16, 2
    rows = 2 * n * batch * heads * n_layer * row_bytes(dim, width)
    tags = n * batch * heads // 2 * n_layer
    # Epochs start at 0, 16, 32, 64 and 128 packed tokens: means in 8 bits, an exponent a head.
    means = 5 * 2 * heads * (row_bytes(dim, 8) + 1) * n_layer
    full = 2 * 22 * batch * heads * dim * 2 * n_layer
    report = cache.report()
    assert report.kv_bytes == rows + tags + means + full
    assert report.kv_bytes_fp16 == 2 * 200 * batch * heads * dim * 2 * n_layer
    assert report.bits_mean == pytest.approx(16 * report.kv_bytes / report.kv_bytes_fp16)
    assert report.class_tokens == {(width, width): n * batch * heads * n_layer}
    assert report.body_bits == pytest.approx(8 * (rows + tags) / (2 * n * batch * heads * dim * 2))
    held = sum(
        x.untyped_storage().nbytes()
        for layer in layers(cache)
        for x in tensors_of(layer)
    )  # fmt: skip
    assert report.kv_bytes <= report.held_bytes <= held + 64 * len(layers(cache))
    assert held < 1.3 * report.held_bytes


def tensors_of(thing: Any, seen: set[int] | None = None) -> list[Any]:
    """Every tensor that hangs on an object, once."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, (str, bytes, int, float, type)):
        return []
    seen.add(id(thing))
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, dict):
        parts = list(thing.values())
    elif isinstance(thing, (list, tuple)):
        parts = list(thing)
    else:
        parts = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    return [tensor for part in parts for tensor in tensors_of(part, seen)]


def test_one_pass_and_single_tokens_store_the_same() -> None:
    # One layer: its keys do not depend on how exactly earlier ones were stored.
    model = small("Llama", num_hidden_layers=1)
    ids = tokens(2, 180)
    whole, single = (AdaptiveCache(model.config, budget_bits=4) for _ in range(2))
    logits(model, ids, whole)
    for part in ids.split(1, 1):
        logits(model, part, single)
    a, b = layers(whole)[0], layers(single)[0]
    assert torch.equal(a.classes(), b.classes())
    differing = [(x - y).abs().max() for x, y in zip(content(whole), content(single), strict=True)]
    # Matrix products of another shape round the keys differently in their last bit.
    assert max(differing) < 0.05
    assert whole.report().kv_bytes == single.report().kv_bytes


@pytest.mark.parametrize("budget", [3.0, 3.5, 4.5, 6.0])
def test_budget_is_kept(budget: float) -> None:
    model = small("Llama", head_dim=64, num_attention_heads=2, num_key_value_heads=1)
    cache = AdaptiveCache(model.config, budget_bits=budget, window=16, sinks=4, n_ctx=600)
    logits(model, tokens(1, 600), cache)
    assert cache.report().bits_mean == pytest.approx(budget, abs=0.15)


def test_short_texts_stay_exact(llama: Any) -> None:
    cache = AdaptiveCache(llama.config, budget_bits=2.2)
    logits(llama, tokens(1, 51), cache)
    assert cache.report().class_tokens == {}
    logits(llama, tokens(1, 1), cache)
    assert sum(cache.report().class_tokens.values()) == 16 * 2 * 2


def test_nan_does_not_spread(llama: Any) -> None:
    cache = AdaptiveCache(llama.config, budget_bits=4, window=8, sinks=1)
    keys, values = torch.randn(2, 1, 2, 60, 16)
    keys[0, 0, 20, 3], values[0, 1, 22, 0], keys[0, 0, 40, 1] = torch.nan, torch.inf, -torch.inf
    cache.update(keys, values, 0)
    k, v = cache.update(*torch.randn(2, 1, 2, 1, 16), 0)
    assert torch.isfinite(k[:, :, :52]).all()
    assert torch.isfinite(v).all()
    others = torch.ones(61, dtype=torch.bool)
    others[[20, 22, 40]] = False
    size = keys.nan_to_num(0, 0, 0).square().mean()
    assert (k[:, :, :60][:, :, others[:60]] - keys[:, :, others[:60]]).square().mean() < 0.1 * size


# Uses of a cache.


def test_exact_widths_generate_what_a_plain_cache_does(llama: Any) -> None:
    ids = tokens(2, 90)
    settings = {"max_new_tokens": 25, "do_sample": False}
    plain = llama.generate(ids, **settings)
    mine = llama.generate(ids, past_key_values=AdaptiveCache(llama.config, **EXACT), **settings)
    assert torch.equal(plain, mine)
    for more in ({"num_beams": 3}, {"num_beams": 4, "num_return_sequences": 3}):
        plain = llama.generate(ids, **settings, **more)
        cache = AdaptiveCache(llama.config, **EXACT)
        assert torch.equal(plain, llama.generate(ids, past_key_values=cache, **settings, **more))
        assert cache.layers[0].batch_size == 2 * more["num_beams"]
    sampled = []
    for cache in (None, AdaptiveCache(llama.config, **EXACT)):
        torch.manual_seed(5)
        sampled.append(
            llama.generate(ids, past_key_values=cache, max_new_tokens=25, do_sample=True, top_k=20)
        )
    assert torch.equal(*sampled)


def test_beams_keep_their_own_rows() -> None:
    cache = AdaptiveCache(budget_bits=3.5, window=8, sinks=2)
    keys, values = torch.randn(2, 3, 2, 90, 16)
    cache.update(keys, values, 0)
    before = content(cache)
    classes = layers(cache)[0].classes()
    order = torch.tensor([2, 0, 0])
    cache.reorder_cache(order)
    for old, new in zip(before, content(cache), strict=True):
        assert torch.equal(old[order], new)
    assert torch.equal(layers(cache)[0].classes(), classes[:, order])
    cache.batch_repeat_interleave(2)
    assert all(torch.equal(old[order].repeat_interleave(2, 0), new)
               for old, new in zip(before, content(cache), strict=True))  # fmt: skip
    cache.batch_select_indices(torch.tensor([True, False] * 3))
    assert all(
        torch.equal(old[order], new) for old, new in zip(before, content(cache), strict=True)
    )
    assert cache.report().tokens == 90
    more = torch.randn(2, 3, 2, 30, 16)
    cache.update(*more, 0)
    assert cache.get_seq_length() == 120


@pytest.mark.parametrize("left", [0, 1, 4, 20, 60, 81, 82, 100, 119, 120])
def test_crop_leaves_the_first_tokens_as_they_were(left: int) -> None:
    cache = AdaptiveCache(budget_bits=3.5, window=30, sinks=4)
    keys, values = torch.randn(2, 2, 3, 120, 16)
    cache.update(keys, values, 0)
    before = content(cache)
    bytes_before = cache.report().kv_bytes
    cache.crop(left - 120)
    assert cache.get_seq_length() == left
    for old, new in zip(before, content(cache), strict=True):
        assert torch.equal(old[:, :, :left], new)
    assert left == 120 or cache.report().kv_bytes < bytes_before
    # And on it goes, over places where means are taken anew.
    cache.update(keys[:, :, : 200 - left], values[:, :, : 200 - left], 0)
    for part in torch.randn(60, 2, 2, 3, 1, 16):
        cache.update(*part, 0)
    assert sum(cache.report().class_tokens.values()) == 2 * 3 * (cache.get_seq_length() - 34)
    assert cache.get_mask_sizes(1, 0) == (cache.get_seq_length() + 1, 0)


def test_crop_by_length_as_older_versions_call_it() -> None:
    cache = AdaptiveCache(budget_bits=3.5, window=30)
    cache.update(*torch.randn(2, 1, 1, 100, 16), 0)
    for wanted, expected in ((500, 100), (70, 70), (3, 3)):
        cache.crop(wanted)
        assert cache.get_seq_length() == expected
    cache.reset()
    cache.crop(-1)
    assert cache.get_seq_length() == 0


def test_a_rollback_while_recording_leaves_no_trace() -> None:
    kept, tried = (AdaptiveCache(budget_bits=3, window=16, sinks=2) for _ in range(2))
    parts = torch.randn(2, 1, 2, 100, 16)
    for cache in (kept, tried):
        cache.update(*parts, 0)
    expected = content(kept)
    tried.activate_past_recording()
    tried.update(*torch.randn(2, 1, 2, 7, 16), 0)
    tried.crop(-7)
    for a, b in zip(expected, content(tried), strict=True):
        assert torch.equal(a, b)
    tried.update(*torch.randn(2, 1, 2, 5, 16), 0)
    tried.crop(0)
    assert layers(tried)[0].keys.shape[2] == 18
    assert tried.is_croppable


def test_assisted_generation_gives_the_same_text(llama: Any) -> None:
    ids = tokens(1, 60)
    plain = llama.generate(ids, max_new_tokens=20, do_sample=False)
    cache = AdaptiveCache(llama.config, **EXACT)
    helper = small("Llama", num_hidden_layers=1)
    got = llama.generate(
        ids, past_key_values=cache, assistant_model=helper, max_new_tokens=20, do_sample=False
    )
    assert torch.equal(plain, got)


def test_turns_reuse_the_cache(llama: Any) -> None:
    cache = AdaptiveCache(llama.config, **EXACT)
    ids = tokens(1, 80)
    first = llama.generate(ids, past_key_values=cache, max_new_tokens=10, do_sample=False)
    longer = torch.cat([first, tokens(1, 30, seed=2)], 1)
    second = llama.generate(longer, past_key_values=cache, max_new_tokens=10, do_sample=False)
    assert torch.equal(second, llama.generate(longer, max_new_tokens=10, do_sample=False))


def test_a_copied_prompt_serves_several_texts(llama: Any) -> None:
    prompt = AdaptiveCache(llama.config, budget_bits=4)
    logits(llama, tokens(1, 100), prompt)
    one, two = copy.deepcopy(prompt), copy.deepcopy(prompt)
    a, b = tokens(1, 40, seed=1), tokens(1, 40, seed=2)
    first = logits(llama, a, one)
    logits(llama, b, two)
    assert torch.equal(logits(llama, a, copy.deepcopy(prompt)), first)
    assert prompt.get_seq_length() == 100


def test_reset_starts_anew(llama: Any) -> None:
    cache = AdaptiveCache(llama.config, budget_bits=4)
    ids = tokens(2, 120)
    first = torch.cat([logits(llama, part, cache) for part in ids.split(60, 1)], 1)
    cache.reset()
    assert cache.get_seq_length() == 0
    assert cache.report().kv_bytes == 0
    ids = ids[:1]
    again = torch.cat([logits(llama, part, cache) for part in ids.split(60, 1)], 1)
    assert again.shape[0] == 1
    assert torch.allclose(again[:, :60], first[:1, :60], atol=1e-4)


# Padding.


def padded(short: int, long: int) -> tuple[Any, Any]:
    ids = tokens(2, long)
    mask = torch.ones_like(ids)
    mask[0, : long - short] = 0
    ids[0, : long - short] = 0
    return ids, mask


@pytest.mark.parametrize("beams", [1, 2])
def test_left_padding_changes_nothing(llama: Any, beams: int) -> None:
    ids, mask = padded(70, 130)
    settings = {"max_new_tokens": 15, "do_sample": False, "num_beams": beams}
    cache = AdaptiveCache(llama.config, **EXACT)
    batch = llama.generate(ids, attention_mask=mask, past_key_values=cache, **settings)
    alone = llama.generate(ids[:1, 60:], **settings)
    assert torch.equal(batch[0, 60:], alone[0])
    assert layers(cache)[0].padding.tolist() == [60] * beams + [0] * beams


def test_padding_is_cheap_and_the_first_real_tokens_are_not(llama: Any) -> None:
    ids, mask = padded(100, 200)
    caches = [AdaptiveCache(llama.config, budget_bits=4) for _ in range(2)]
    llama.generate(ids, attention_mask=mask, past_key_values=caches[0], max_new_tokens=1)
    caches[1] = AdaptiveCache(llama.config, budget_bits=4, attention_mask=mask)
    logits(llama, ids, caches[1], attention_mask=mask)
    for cache in caches:
        for layer in layers(cache):
            classes = layer.classes()[:, 0]
            assert (classes[: 100 - 4] == 0).all()
            assert (classes[100 - 4 : 100] == 0b1111).all()
            assert (layer.classes()[: 100 - 4, 1] != 0).any()


def test_padding_does_not_move_the_means() -> None:
    keys, values = torch.randn(2, 2, 2, 150, 16)
    keys += 3
    odd = keys.clone()
    odd[0, :, :80] = 500
    positions = torch.arange(150).repeat(2, 1)
    positions[0] = (positions[0] - 80).clamp(min=0)
    contents = []
    for given in (keys, odd):
        cache = AdaptiveCache(budget_bits=4)
        cache.update(given, values, 0, kwargs={"position_ids": positions})
        contents.append(content(cache)[0])
    assert layers(cache)[0].padding.tolist() == [80, 0]
    assert torch.equal(contents[0][1], contents[1][1])
    assert torch.equal(contents[0][0, :, 80:], contents[1][0, :, 80:])


def test_several_texts_in_one_row_are_no_padding() -> None:
    cache = AdaptiveCache(budget_bits=4)
    positions = torch.cat([torch.arange(50), torch.arange(40)]).repeat(2, 1)
    cache.update(*torch.randn(2, 2, 2, 90, 16), 0, kwargs={"position_ids": positions})
    assert layers(cache)[0].padding is None


# What the rule looks at.


def test_attention_is_seen_when_the_model_is_watched(llama: Any) -> None:
    ids = tokens(1, 160)
    before = llama.config._attn_implementation
    seen, blind = (AdaptiveCache(llama.config, budget_bits=4) for _ in range(2))
    with seen.watch(llama):
        for part in ids.split(40, 1):
            logits(llama, part, seen)
        other = AdaptiveCache(llama.config, budget_bits=4)
        logits(llama, ids, other)
    for part in ids.split(40, 1):
        logits(llama, part, blind)
    assert llama.config._attn_implementation == before
    assert not any(module._forward_hooks for module in llama.modules())
    assert not torch.equal(layers(seen)[0].classes(), layers(blind)[0].classes())
    # The block leaves nothing behind, and a cache that was not meant was not told.
    assert layers(other)[0]._received is None
    logits(llama, ids[:, :40], seen)
    assert seen.get_seq_length() == 200
    assert layers(seen)[0].keys.shape[2] == 36


def test_a_watched_batch_with_padding_goes_through(llama: Any, tmp_path: Path) -> None:
    ids, mask = padded(60, 130)
    for given in (None, controller(tmp_path, llama)):
        cache = AdaptiveCache.for_model(llama, controller=given, budget_bits=4)
        with cache.watch(llama):
            out = llama.generate(
                ids, attention_mask=mask, past_key_values=cache, max_new_tokens=8, num_beams=2
            )
        assert out.shape == (2, 138)
        assert all(layer.packed == 101 for layer in layers(cache))
        assert (layers(cache)[0].classes()[: 70 - 4, :2] == 0).all()


def test_attended_tokens_get_more_bits() -> None:
    cache = AdaptiveCache(budget_bits=4, window=16, sinks=2, weights=Weights(0, 0, 1.0))
    keys, values = torch.randn(2, 1, 1, 90, 16)
    layer_weights = torch.full((1, 2, 90, 90), 1e-4)
    layer_weights[..., 30:34] = 0.2
    cache._set_watched(True)
    cache.update(keys, values, 0)
    cache.feed_attention(0, layer_weights)
    classes = layers(cache)[0].classes()[:, 0, 0]
    bits = torch.tensor([2, 3, 4, 8])[(classes & 3).int()]
    assert (bits[28:32] == 8).all()
    assert bits.float().mean() < 5


def test_attention_of_chunks_adds_up_to_that_of_one_pass() -> None:
    weights = torch.rand(2, 4, 60, 60).tril()
    keys, values = torch.randn(2, 2, 2, 60, 16)
    masses = []
    for parts in ([60], [20, 1, 9, 30]):
        cache = AdaptiveCache(window=60, sinks=4)
        cache._set_watched(True)
        start = 0
        for n in parts:
            end = start + n
            cache.update(keys[:, :, start:end], values[:, :, start:end], 0)
            cache.feed_attention(0, weights[:, :, start:end, :end])
            start = end
        masses.append(layers(cache)[0]._received[0])
    assert torch.allclose(*masses, atol=1e-5)
    near = weights.view(2, 2, 2, 60, 60).sum(2)
    expected = near.sum(-2) - near.diagonal(dim1=-2, dim2=-1)
    assert torch.allclose(masses[0], expected[..., 4:], atol=1e-5)


# Controllers.


def controller(folder: Path, model: Any, **changes: Any) -> Path:
    config = model.config
    arrays = tiny_arrays(config.num_hidden_layers, config.num_key_value_heads, 16) | changes
    norm = model.get_decoder().norm.weight.detach().float().numpy()
    path = folder / "ctrl.bin"
    header = tiny_header(bundle.fingerprint_of(norm.tobytes()))
    bundle.write(path, bundle.CONTROLLER, header, arrays)
    return path


def test_a_controller_gives_means_and_a_table(llama: Any, tmp_path: Path) -> None:
    static = np.zeros((2, 2, 2), np.float32)
    static[1, 0, 0] = 9
    path = controller(tmp_path, llama, static=static)
    cache = AdaptiveCache.for_model(llama, controller=path, budget_bits=4)
    logits(llama, tokens(1, 200), cache)
    first, second = layers(cache)
    assert (second.classes()[:, 0, 0] & 3).float().mean() > 2.5
    assert (first.classes()[:, 0, 0] & 3).float().mean() < 2
    file = bundle.read(path, bundle.CONTROLLER)
    expected = torch.tensor(file.arrays["k_mean"].numpy()[1])
    assert torch.allclose(second._halves[0].mean(0), expected, atol=0.01)
    assert len(second._halves[0].means) == 1
    assert cache.report().body_bits == pytest.approx(cache._body, abs=0.4)
    again = AdaptiveCache(llama.config, controller=path, window=8)
    assert layers(again)[0].window == 8
    assert layers(again)[0].sinks == 4


def test_a_watched_model_is_judged_by_the_whole_controller(llama: Any, tmp_path: Path) -> None:
    path = controller(tmp_path, llama)
    ids, rest = tokens(2, 90), tokens(2, 20, seed=4)

    def run(rows: Any, *, feed: bool = True) -> AdaptiveCache:
        cache = AdaptiveCache.for_model(llama, controller=path, budget_bits=4)
        with cache.watch(llama) if feed else contextlib.nullcontext():
            logits(llama, ids[rows], cache)
            cache.crop(-4)
            cache.reorder_cache(torch.arange(len(rows)))
            logits(llama, rest[rows], cache)
        return cache

    both = run(torch.tensor([1, 0]))
    for layer in layers(both):
        assert layer.keys.shape[2] == 36
        assert layer.packed == 70
    assert both._known().tolist() == torch.cat([ids[:, :86], rest], 1)[[1, 0]].tolist()
    # Up to the first look at the budget each row is judged as it is alone.
    for b, row in enumerate((1, 0)):
        for mine, alone in zip(layers(both), layers(run(torch.tensor([row]))), strict=True):
            same = mine.classes()[:50, b] == alone.classes()[:50, 0]
            assert same.float().mean() > 0.98
    tables = [layer.classes()[:, 0] for layer in layers(run(torch.tensor([1]), feed=False))]
    assert any((a.classes()[:, 0] != b).any() for a, b in zip(layers(both), tables, strict=True))


def test_a_foreign_controller_is_refused(llama: Any, tmp_path: Path) -> None:
    path = controller(tmp_path, llama)
    other = small("Llama", num_key_value_heads=1)
    torch.nn.init.uniform_(other.model.norm.weight)
    with pytest.raises(KvquantError) as e:
        AdaptiveCache.for_model(other, controller=path)
    assert e.value.code == "controller.model"
    with pytest.raises(SettingError, match="2 x 2 x 16 layers, heads and channels, the model has"):
        AdaptiveCache(other.config, controller=path)
    with pytest.raises(SettingError, match="needs the model's config"):
        AdaptiveCache(controller=path)
    assert AdaptiveCache.for_model(other).get_seq_length() == 0


# Mistakes.


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("budget_bits", {"budget_bits": 0}),
        ("budget_bits", {"budget_bits": float("nan")}),
        ("window", {"window": -1}),
        ("sinks", {"sinks": -1}),
        ("ladder", {"ladder": (2, 5)}),
        ("ladder", {"ladder": (4, 2)}),
        ("ladder", {"ladder": (2, 2)}),
        ("ladder", {"ladder": (2, 3, 4, 8, 16)}),
        ("n_ctx", {"n_ctx": 36}),
    ],
)
def test_wrong_settings_are_named(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError) as e:
        AdaptiveCache(**settings)
    assert e.value.code == f"hf.{name}"
    assert name in str(e.value)


def test_no_window_and_no_sinks(llama: Any) -> None:
    cache = AdaptiveCache(llama.config, budget_bits=8, window=0, sinks=0)
    for part in tokens(1, 70).split(7, 1):
        logits(llama, part, cache)
    assert sum(cache.report().class_tokens.values()) == 70 * 2 * 2
    assert layers(cache)[0].keys.shape[2] == 0


def test_a_batch_of_another_size_is_refused() -> None:
    cache = AdaptiveCache()
    cache.update(*torch.randn(2, 2, 1, 5, 16), 0)
    with pytest.raises(ValueError, match="batch"):
        cache.update(*torch.randn(2, 3, 1, 1, 16), 0)


def test_without_torch_one_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from kvquant.errors import BackendMissingError\n"
        "try:\n    from kvquant import AdaptiveCache\n"
        "except BackendMissingError as e:\n    print(e.code, e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(
        "hf.missing AdaptiveCache needs torch and transformers, and torch"
    )
    assert "pip install '.[train]'" in done.stdout
