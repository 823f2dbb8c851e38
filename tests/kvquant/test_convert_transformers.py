"""Models made and saved by transformers: the same logits, the same tokens, the same metadata."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import Engine, reference
from kvquant.convert import convert
from kvquant.convert_tensors import WEIGHT_TYPES
from kvquant.gguf import ModelFile
from tests.kvquant.hf_model import LAYER, halves_apart

torch = pytest.importorskip("torch", reason="compares with the extra train")
transformers = pytest.importorskip("transformers", reason="compares with the extra train")
tokenizers = pytest.importorskip("tokenizers", reason="compares with the extra train")

CORPUS = [
    "The quick brown fox jumps over the lazy dog; it's 12:45 and they've gone.",
    "def area(width, height):\n    return width * height  # 3.14 and 1,000\n",
    "Größe und Maß, señor, être — žluťoučký кот 猫 🙂",
]
TEXTS = [
    "",
    "Hello, world! It's 5 o'clock, isn't it?   Two  spaces\n\n\tand tabs \r\n",
    "12345 1,000.50 ² ٣ Ⅷ x1y2 v3.11.2",
    "naïve café Ελληνικά русский עברית العربية हिन्दी ไทย 中文 日本語 한국어",
    "👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 \u200b\ufeff \x00\x07 \u3000end",
    "for (int i = 0; i < 10; ++i) { printf(\"%d\\n\", i); } // <think>no</think>",
    "<think>plan</think><thinking> <|im_end",
    " " * 70 + "a" * 70,
]  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """heads of head_dim; extra: rows of the embedding above the tokenizer's; shard: size limit."""

    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    n_ff: int = 96
    tied: bool = True
    extra: int = 0
    dtype: str = "float32"
    shard: str | None = None
    rope_base: float = 10_000.0


SHAPES = {
    "grouped, tied": Shape(),
    "one KV head for each, own head": Shape(kv_heads=4, tied=False),
    "one KV head for all": Shape(kv_heads=1, rope_base=100_000.0),
    "three to one, as SmolLM2": Shape(heads=9, kv_heads=3, head_dim=64, n_ff=160),
    "more rows than tokens": Shape(extra=5, tied=False),
    "several files": Shape(shard="60KB", tied=False),
    "bfloat16": Shape(dtype="bfloat16"),
    "float16 in several files": Shape(dtype="float16", shard="40KB"),
}


def make_tokenizer() -> Any:
    pre = tokenizers.pre_tokenizers
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = pre.Sequence(
        [pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)]
    )
    model.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=421,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    model.train_from_iterator(CORPUS * 4, trainer)
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=model,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        unk_token="<|endoftext|>",
        pad_token="<|im_end|>",
    )
    made.add_tokens(["<think>", "</think>"])
    made.chat_template = (
        "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
        "message['content'] + '<|im_end|>\\n' }}{% endfor %}"
    )
    return made


@pytest.fixture(scope="module", autouse=True)
def quietly() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    yield
    transformers.utils.logging.enable_progress_bar()
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


def make_model(shape: Shape, n_tokens: int) -> Any:
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=n_tokens + shape.extra,
        hidden_size=shape.heads * shape.head_dim,
        intermediate_size=shape.n_ff,
        num_hidden_layers=2,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=128,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_base},
        tie_word_embeddings=shape.tied,
        initializer_range=0.06,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    for name, weight in model.named_parameters():
        if "norm" in name:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    return model.to(getattr(torch, shape.dtype))


def save(folder: Path, model: Any, tokenizer: Any, shard: str | None) -> Path:
    model.save_pretrained(folder, **({} if shard is None else {"max_shard_size": shard}))
    tokenizer.save_pretrained(folder)
    return folder


def logits(model: Any, ids: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        out: np.ndarray = model(torch.tensor([ids.tolist()])).logits[0].numpy()
    return out


def ours(path: Path, ids: np.ndarray) -> np.ndarray:
    model = reference.load(str(path), threads=1, kv="fp32")
    return model.cache(128).forward(ids.astype(np.int32), 0, len(ids))


def divergence(wanted: np.ndarray, got: np.ndarray) -> float:
    """Mean KL(wanted || got) of the next-token distributions."""

    def log_softmax(x: np.ndarray) -> np.ndarray:
        x = x.astype(np.float64) - x.max(-1, keepdims=True)
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    a, b = log_softmax(wanted), log_softmax(got)
    return float((np.exp(a) * (a - b)).sum(-1).mean())


@pytest.mark.parametrize("name", SHAPES)
def test_logits(tmp_path: Path, tokenizer: Any, name: str) -> None:
    shape = SHAPES[name]
    model = make_model(shape, len(tokenizer))
    folder = save(tmp_path / "m", model, tokenizer, shape.shard)
    assert (shape.shard is None) == (len(list(folder.glob("*.safetensors"))) == 1)
    path = convert(folder, tmp_path / "x.gguf", weights="f32").path
    ids = np.random.default_rng(2).integers(0, len(tokenizer) + shape.extra, 70)
    wanted = logits(transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32), ids)
    assert wanted.std() > 0.3
    assert np.abs(ours(path, ids) - wanted).max() < 1e-4
    file = ModelFile.open(path)
    assert ("output.weight" in file.tensors) == (not shape.tied)
    assert len(file.metadata["tokenizer.ggml.tokens"]) == len(tokenizer) + shape.extra


class Saved:
    def __init__(self, folder: Path, tokenizer: Any) -> None:
        self.folder = folder
        self.model = make_model(Shape(tied=False), len(tokenizer))
        save(folder, self.model, tokenizer, None)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, tokenizer: Any) -> Saved:
    return Saved(tmp_path_factory.mktemp("saved"), tokenizer)


KL = {
    "f32": 1e-9,
    "f16": 5e-7,
    "bf16": 3e-5,
    "q8_0": 3e-4,
    "q4_0": 0.03,
    "q4_1": 0.03,
    "q4_0+q8": 0.02,
    "q4_1+q8": 0.02,
}
"""Bounds five times what this random model shows."""


@pytest.mark.parametrize("weights", WEIGHT_TYPES)
def test_logits_of_each_type(tmp_path: Path, saved: Saved, tokenizer: Any, weights: str) -> None:
    """Near those of the model; equal to those of the model with the weights of the file."""
    path = convert(saved.folder, tmp_path / "x.gguf", weights=weights).path
    ids = np.random.default_rng(2).integers(0, len(tokenizer), 70)
    got = ours(path, ids)
    assert divergence(logits(saved.model, ids), got) < KL[weights]
    model = transformers.LlamaForCausalLM(saved.model.config).eval()
    model.load_state_dict(state_of(ModelFile.open(path), head_dim=16))
    assert np.abs(got - logits(model, ids)).max() < 1e-4


def state_of(file: ModelFile, head_dim: int) -> dict[str, Any]:
    state = {
        "model.embed_tokens.weight": file.read("token_embd.weight"),
        "model.norm.weight": file.read("output_norm.weight"),
        "lm_head.weight": file.read("output.weight"),
    }
    for i in range(2):
        for name, theirs in LAYER.items():
            weight = file.read(f"blk.{i}.{name}.weight")
            if name in ("attn_q", "attn_k"):
                weight = halves_apart(weight, head_dim)
            state[f"model.layers.{i}.{theirs}.weight"] = weight
    return {name: torch.from_numpy(weight) for name, weight in state.items()}


@pytest.mark.parametrize("weights", WEIGHT_TYPES)
def test_the_native_engine_takes_every_type(
    tmp_path: Path, saved: Saved, tokenizer: Any, weights: str
) -> None:
    native = pytest.importorskip("kvquant._native", reason="the native engine is not built")
    path = convert(saved.folder, tmp_path / "x.gguf", weights=weights).path
    ids = np.random.default_rng(2).integers(0, len(tokenizer), 70)
    got = native.load(str(path), threads=1).cache(128).forward(ids.astype(np.int32), 0, 70)
    assert divergence(ours(path, ids), got) < 1e-3


def mixed_text(rng: random.Random) -> str:
    spots = "'’ \t\n\r\x0b\x85\xa0\u3000 aZé1²Ⅷ一①٣🙂\u200d\u0301sStm.,!?<>|"
    words = ["<think>", "</think>", " the", "'ve", "99", "größe", "猫"]
    return "".join(
        rng.choice(words) if rng.random() < 0.3 else rng.choice(spots)
        for _ in range(rng.randrange(60))
    )


def test_tokens(saved: Saved, tokenizer: Any, tmp_path: Path) -> None:
    """User-defined tokens are found in texts, control tokens only where they are asked for."""
    path = convert(saved.folder, tmp_path / "x.gguf").path
    rng = random.Random(4)
    texts = [*TEXTS, *CORPUS, *(mixed_text(rng) for _ in range(300))]
    with Engine.load(path, backend="reference", n_ctx=64, threads=1) as engine:
        for text in texts:
            wanted = tokenizer.encode(text, add_special_tokens=False)
            assert engine.tokenizer.encode(text) == wanted, text
            assert engine.tokenizer.decode(wanted) == tokenizer.decode(
                wanted, clean_up_tokenization_spaces=False
            ), text
        marked = "<|im_start|>user\nHi <|im_end|>"
        assert engine.tokenizer.encode(marked, special=True) == tokenizer.encode(
            marked, add_special_tokens=False
        )
        assert not set(engine.tokenizer.encode(marked)) & engine.tokenizer.control_ids
        assert engine.tokenizer.control_ids == {0, 1, 2}
        messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
        pairs = [(m["role"], m["content"]) for m in messages]
        wanted = tokenizer.apply_chat_template(messages, tokenize=False)
        found = engine.tokenizer.decode(engine.chat_prompt(pairs), special=True)
        assert found.startswith(wanted)
        assert engine.info.stop_ids == (2, 0)


def test_bos_before_every_text(tmp_path: Path, saved: Saved) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(saved.folder, add_bos_token=True)
    assert tokenizer.encode("a")[0] == 1
    save(tmp_path / "m", saved.model, tokenizer, None)
    metadata = ModelFile.open(convert(tmp_path / "m", tmp_path / "x.gguf").path).metadata
    assert metadata["tokenizer.ggml.add_bos_token"] is True
    assert metadata["tokenizer.ggml.add_eos_token"] is False


def test_the_gguf_package_reads_the_same(tmp_path: Path, saved: Saved) -> None:
    gguf = pytest.importorskip("gguf", reason="compares with the extra train")
    path = convert(saved.folder, tmp_path / "x.gguf", weights="q4_1+q8").path
    file = ModelFile.open(path)
    reader = gguf.GGUFReader(path)
    fields = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    assert fields.keys() == file.metadata.keys()
    for key, value in file.metadata.items():
        theirs = fields[key]
        assert list(theirs) == value.tolist() if isinstance(value, np.ndarray) else theirs == value
    assert {t.name for t in reader.tensors} == set(file.tensors)
    for tensor in reader.tensors:
        info = file.tensors[tensor.name]
        assert tensor.tensor_type.name == info.format.name
        assert tensor.data_offset == info.offset
        numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        assert np.allclose(numbers, file.read(tensor.name), atol=1e-6)
