"""Folders that are whole are converted; all others get a sentence and leave no file."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant.convert import chat_template, convert, model_name
from kvquant.convert_tensors import WEIGHT_TYPES
from kvquant.errors import KvquantError, ModelFileError, SettingError
from kvquant.gguf import ModelFile
from kvquant.hf_config import read_shape
from kvquant.hf_tokenizer import tokenizer_metadata
from tests.kvquant.hf_model import LAYER, HfModel, f32, halves_apart
from tests.kvquant.tiny_model import CONTROL, vocabulary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return HfModel().write(tmp_path_factory.mktemp("hf") / "small")


def test_metadata(folder: Path, tmp_path: Path) -> None:
    done = convert(folder, tmp_path / "x.gguf", weights="f32")
    metadata = ModelFile.open(done.path).metadata
    metadata["llama.attention.layer_norm_rms_epsilon"] = round(
        metadata["llama.attention.layer_norm_rms_epsilon"], 9
    )
    expected = {
        "general.architecture": "llama",
        "general.name": "small",
        "general.file_type": 0,
        "llama.block_count": 2,
        "llama.context_length": 512,
        "llama.embedding_length": 64,
        "llama.feed_forward_length": 96,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.rope.freq_base": 10000.0,
        "llama.rope.dimension_count": 16,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.vocab_size": len(vocabulary()),
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": vocabulary(),
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
    }
    assert {key: metadata[key] for key in expected} == expected
    assert metadata["tokenizer.ggml.token_type"].tolist()[: len(CONTROL)] == [3] * len(CONTROL)
    assert metadata["tokenizer.chat_template"].startswith("{% for message")
    assert done.nbytes == done.path.stat().st_size
    assert done.tensors == 2 + 2 * 9


def test_weights_come_out_as_they_went_in(folder: Path, tmp_path: Path) -> None:
    file = ModelFile.open(convert(folder, tmp_path / "x.gguf", weights="f32").path)
    model = HfModel()

    def theirs(name: str) -> np.ndarray:
        _, shape, raw = model.tensors[f"{name}.weight"]
        return np.frombuffer(raw, "<f4").reshape(shape)

    for layer in range(2):
        for ours, name in LAYER.items():
            got = file.read(f"blk.{layer}.{ours}.weight")
            if ours in ("attn_q", "attn_k"):
                assert not np.array_equal(got, theirs(f"model.layers.{layer}.{name}"))
                got = halves_apart(got, 16)
            assert np.array_equal(got, theirs(f"model.layers.{layer}.{name}"))
    assert np.array_equal(file.read("token_embd.weight"), theirs("model.embed_tokens"))
    assert "output.weight" not in file.tensors


@pytest.mark.parametrize("weights", WEIGHT_TYPES)
def test_formats(folder: Path, tmp_path: Path, weights: str) -> None:
    file = ModelFile.open(convert(folder, tmp_path / "x.gguf", weights=weights).path)
    layers, _, ends = weights.upper().partition("+")
    formats = {name: info.format.name for name, info in file.tensors.items()}
    assert formats["blk.1.ffn_down.weight"] == layers
    assert formats["token_embd.weight"] == ("Q8_0" if ends else layers)
    assert {f for name, f in formats.items() if "norm" in name} == {"F32"}
    exact = ModelFile.open(convert(folder, tmp_path / "y.gguf", weights="f32").path)
    allowed = {"F32": 0, "F16": 3e-4, "BF16": 3e-3, "Q8_0": 0.01, "Q4_0": 0.1, "Q4_1": 0.1}
    for name, format_ in formats.items():
        error = file.read(name) - exact.read(name)
        size = np.sqrt((exact.read(name) ** 2).mean())
        assert np.sqrt((error**2).mean()) <= allowed[format_] * size, name


def test_the_embedding_twice_is_written_once(tmp_path: Path) -> None:
    model = HfModel()
    model.tensors["lm_head.weight"] = model.tensors["model.embed_tokens.weight"]
    model.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = f32(np.ones(8))
    file = ModelFile.open(convert(model.write(tmp_path / "m"), tmp_path / "x.gguf").path)
    assert "output.weight" not in file.tensors
    assert len(file.tensors) == 2 + 2 * 9


def test_template_from_where_it_is(folder: Path, tmp_path: Path) -> None:
    def template(model: HfModel, file: str | None = None) -> Any:
        model.write(tmp_path / "m")
        if file is not None:
            (tmp_path / "m/chat_template.jinja").write_text(file, encoding="utf-8")
        done = convert(tmp_path / "m", tmp_path / "x.gguf", overwrite=True)
        return ModelFile.open(done.path).metadata.get("tokenizer.chat_template")

    model = HfModel()
    model.settings["chat_template"] = [
        {"name": "tool", "template": "a"},
        {"name": "default", "template": "b"},
    ]
    assert template(model) == "b"
    assert template(model, "grün {{ x }}") == "grün {{ x }}"
    (tmp_path / "m/chat_template.jinja").unlink()
    model.settings = None
    (tmp_path / "m/tokenizer_config.json").unlink()
    assert template(model) is None


def changed(name: str, shape: tuple[int, ...], fill: float = 0.5) -> Callable[[HfModel], Any]:
    return lambda m: m.tensors.update({name: f32(np.full(shape, fill))})


def field(**changes: Any) -> Callable[[HfModel], Any]:
    return lambda m: m.config.update(changes)


DOWN = "model.layers.1.mlp.down_proj.weight"
N = len(vocabulary())


def dtype(name: str, kind: str, itemsize: int) -> Callable[[HfModel], Any]:
    def change(model: HfModel) -> None:
        shape = model.tensors[name][1]
        model.tensors[name] = (kind, shape, bytes(itemsize * int(np.prod(shape))))

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (field(model_type="qwen2"), "model_type 'qwen2'"),
        (field(rope_scaling={"rope_type": "llama3"}), "rope_scaling"),
        (field(attention_bias=True), "attention_bias"),
        (field(hidden_act="gelu"), "hidden_act"),
        (field(quantization_config={"bits": 4}), "quantization_config"),
        (lambda m: m.tensors.pop(DOWN), f"lacks the tensor {DOWN}"),
        (lambda m: m.tensors.pop("model.norm.weight"), "lacks the tensor model.norm.weight"),
        (field(num_hidden_layers=3), "lacks the tensor model.layers.2."),
        (field(num_hidden_layers=1), "'model.layers.1.input_layernorm.weight', which is not"),
        (changed("model.layers.0.self_attn.q_proj.bias", (64,)), "q_proj.bias', which is not"),
        (changed("model.layers.0.self_attn.q_norm.weight", (16,)), "q_norm.weight', which"),
        (field(tie_word_embeddings=False), "lacks the tensor lm_head.weight"),
        (changed("lm_head.weight", (N, 64)), "lm_head.weight of its own"),
        (changed("lm_head.weight", (N, 32)), f"lm_head.weight of the shape [{N}, 32]"),
        (field(intermediate_size=128), "of the shape [96, 64], and config.json asks for [128, 64]"),
        (field(num_key_value_heads=1), "k_proj.weight of the shape [32, 64]"),
        (field(vocab_size=N + 1), f"embed_tokens.weight of the shape [{N}, 64]"),
        (changed("model.norm.weight", (64, 1)), "model.norm.weight of the shape [64, 1]"),
        (dtype(DOWN, "I8", 1), "of the dtype I8; known are F32, F16, BF16"),
        (dtype(DOWN, "F8_E4M3", 1), "of the dtype F8_E4M3"),
        (dtype(DOWN, "F64", 8), "of the dtype F64"),
        (changed(DOWN, (64, 96), np.nan), f"NaN or infinity in {DOWN}"),
        (changed("model.norm.weight", (64,), np.inf), "NaN or infinity in model.norm.weight"),
        (lambda m: m.tokenizer.update(normalizer={"type": "NFC"}), "normalizer NFC"),
        (lambda m: m.settings.update(chat_template={"a": 1}), "chat_template"),
        (lambda m: m.config.update(vocab_size=N - 1), f"number {N - 1}"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, change: Callable[[HfModel], Any], words: str) -> None:
    model = HfModel()
    change(model)
    model.write(tmp_path / "m")
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(ModelFileError) as caught:
        convert(tmp_path / "m", out / "x.gguf")
    assert words in caught.value.message
    assert caught.value.message.count("\n") == 0
    assert not list(out.iterdir())


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_files_that_are_not_there(tmp_path: Path, name: str) -> None:
    folder = HfModel().write(tmp_path / "m")
    (folder / name).unlink()
    with pytest.raises(ModelFileError, match=name):
        convert(folder, tmp_path / "x.gguf")


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"]
)
def test_files_cut_short(folder: Path, tmp_path: Path, name: str) -> None:
    copy = HfModel().write(tmp_path / "m")
    raw = (folder / name).read_bytes()
    rng = random.Random(3)
    for cut in [0, 1, len(raw) - 1, *(rng.randrange(len(raw)) for _ in range(20))]:
        (copy / name).write_bytes(raw[:cut])
        with pytest.raises(ModelFileError, match=f"{name} is truncated or damaged"):
            convert(copy, tmp_path / "x.gguf")


ODD = [None, 3, -1, 1.5, True, "x", [], [3], [[]], {}, {"type": "x"}, {"content": []}]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to every value inside; of long lists and objects to the first and last few."""
    yield path
    inside = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, part in inside if len(inside) < 30 else inside[:3] + inside[-2:]:
        if isinstance(part, (dict, list)):
            yield from places(part, (*path, key))
        else:
            yield (*path, key)


@pytest.mark.parametrize("part", ["config", "tokenizer", "settings", "generation"])
def test_any_value_may_be_odd(part: str) -> None:
    """Every value of every file in turn is of another type: an error, if any, is one of ours."""
    full = HfModel()
    template = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}]}
    full.tokenizer["post_processor"] = {"type": "Sequence", "processors": [template]}
    full.settings |= {
        "chat_template": [{"name": "default", "template": "x"}],
        "pad_token": {"content": "<|im_end|>"},
        "extra_special_tokens": {"a": "<tool>"},
        "additional_special_tokens": ["<tool>", {"content": "<tool>"}],
        "added_tokens_decoder": {"1": {"content": "<|im_start|>", "special": True}},
        "add_bos_token": False,
    }
    full.config["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000}
    messages: list[str] = []
    for path in places(getattr(full, part)):
        for odd in ODD:
            model = copy.deepcopy({name: getattr(full, name) for name in PARTS})
            place: Any = model
            for key in (part, *path)[:-1]:
                place = place[key]
            place[(part, *path)[-1]] = odd
            try:
                checked(model)
            except ModelFileError as e:
                messages.append(e.message)
    assert len(messages) > 5
    assert max(map(len, messages)) < 250


PARTS = ("config", "tokenizer", "settings", "generation")


def checked(model: dict[str, Any]) -> None:
    """What a conversion checks of the parts; reading the file sees to it that they are objects."""
    if all(isinstance(model[part], dict) for part in PARTS):
        shape = read_shape(model["config"])
        ids = {**model["config"], **model["generation"]}
        tokenizer_metadata(model["tokenizer"], model["settings"], ids, shape.n_vocab)
        chat_template(Path("none"), model["settings"])


def test_json_that_is_no_object(tmp_path: Path) -> None:
    copy = HfModel().write(tmp_path / "m")
    for text, words in [
        ("[]", "no JSON object"),
        ("\ufeff{}", "no JSON"),
        ('{"a":' * 9999, "deep"),
    ]:
        (copy / "config.json").write_text(text, encoding="utf-8")
        with pytest.raises(ModelFileError, match=words):
            convert(copy, tmp_path / "x.gguf")


def test_weights_cut_short(folder: Path, tmp_path: Path) -> None:
    copy = HfModel().write(tmp_path / "m")
    raw = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    for entry in json.loads(raw[8:start]).values():
        for cut in (start + end for end in entry.get("data_offsets", ())):
            (copy / "model.safetensors").write_bytes(raw[: min(cut, len(raw) - 1)])
            with pytest.raises(ModelFileError, match="truncated"):
                convert(copy, tmp_path / "x.gguf")


def test_rows_that_are_no_whole_blocks(tmp_path: Path) -> None:
    model = HfModel()
    model.config["intermediate_size"] = 80
    for i in range(2):
        for name, shape in [("gate", (80, 64)), ("up", (80, 64)), ("down", (64, 80))]:
            changed(f"model.layers.{i}.mlp.{name}_proj.weight", shape)(model)
    model.write(tmp_path / "m")
    with pytest.raises(SettingError, match=r"multiple of 32 .*down_proj\.weight have 80"):
        convert(tmp_path / "m", tmp_path / "x.gguf", weights="q8_0")
    assert convert(tmp_path / "m", tmp_path / "x.gguf", weights="f16").tensors == 20


def test_weights_too_large_for_a_half(tmp_path: Path) -> None:
    model = HfModel()
    changed(DOWN, (64, 96), 1e6)(model)
    model.write(tmp_path / "m")
    with pytest.raises(SettingError, match="too large for F16"):
        convert(tmp_path / "m", tmp_path / "x.gguf", weights="f16")
    file = ModelFile.open(convert(tmp_path / "m", tmp_path / "x.gguf", weights="bf16").path)
    assert np.allclose(file.read("blk.1.ffn_down.weight"), 1e6, rtol=4e-3)


def test_where_it_is_written(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.gguf"
    out.write_bytes(b"precious")
    with pytest.raises(SettingError, match="there already"):
        convert(folder, out)
    with pytest.raises(SettingError, match="none of f32"):
        convert(folder, out, weights="q5_k", overwrite=True)
    with pytest.raises(SettingError, match="ends in"):
        convert(folder, tmp_path / "model.safetensors", overwrite=True)
    with pytest.raises(SettingError, match="ends in"):
        convert(folder, tmp_path)
    with pytest.raises(ModelFileError, match="no model folder"):
        convert(tmp_path / "none", tmp_path / "y.gguf")
    with pytest.raises(KvquantError, match="cannot be written: No such file"):
        convert(folder, tmp_path / "none/y.gguf")
    assert out.read_bytes() == b"precious"
    convert(folder, out, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["x.gguf"]
    assert out.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_interrupted_leaves_what_was(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.gguf"
    out.write_bytes(b"precious")

    def stop(done: int, total: int, tensor: str) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(folder, out, overwrite=True, progress=stop)
    assert [p.name for p in tmp_path.iterdir()] == ["x.gguf"]
    assert out.read_bytes() == b"precious"


def test_progress(folder: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    done = convert(folder, tmp_path / "x.gguf", progress=lambda *now: seen.append(now))
    assert [now[0] for now in seen] == sorted(now[0] for now in seen)
    assert seen[0] == (0, done.weights, "token_embd.weight")
    assert seen[-1] == (done.weights, done.weights, "")


def test_name_of_the_model(tmp_path: Path) -> None:
    cached = tmp_path / "models--HuggingFaceTB--SmolLM2-135M/snapshots/0a1b"
    assert model_name(cached) == "SmolLM2-135M"
    assert model_name(tmp_path / "mine") == "mine"
    assert model_name(Path("/")) == "model"
    assert model_name(Path(os.fsdecode(b"/a/\xff"))) == "?"
