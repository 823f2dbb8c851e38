"""Every link of the chain from text to tokens is known, or refused by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kvquant.errors import ModelFileError
from kvquant.hf_tokenizer import tokenizer_metadata
from tests.kvquant.hf_model import HfModel, added
from tests.kvquant.tiny_model import CONTROL, vocabulary

N = len(vocabulary())
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
DIGITS = {"type": "Digits", "individual_digits": True}


def piece(token: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": token, "type_id": 0}}


TEXT = {"Sequence": {"id": "A", "type_id": 0}}


def metadata(change: Callable[[HfModel], Any] | None = None, n_vocab: int = N) -> dict[str, Any]:
    model = HfModel()
    if change is not None:
        change(model)
    ids = {**model.config, **(model.generation or {})}
    found = tokenizer_metadata(model.tokenizer, model.settings or {}, ids, n_vocab)
    return {key.removeprefix("tokenizer.ggml."): value for key, value in found.items()}


def refused(change: Callable[[HfModel], Any], n_vocab: int = N) -> str:
    with pytest.raises(ModelFileError) as caught:
        metadata(change, n_vocab)
    assert caught.value.code == "model.tokenizer"
    assert len(caught.value.message) < 200
    return caught.value.message


def test_of_the_smollm_family() -> None:
    found = metadata()
    assert (found["model"], found["pre"]) == ("gpt2", "smollm")
    assert found["tokens"] == vocabulary()
    assert found["token_type"].tolist() == [3] * len(CONTROL) + [1] * (N - len(CONTROL))
    assert (found["bos_token_id"], found["eos_token_id"], found["eot_token_id"]) == (1, 2, 2)
    assert not found["add_bos_token"]
    assert "padding_token_id" not in found


def test_gpt2_words_without_digits() -> None:
    assert metadata(lambda m: m.tokenizer.update(pre_tokenizer=BYTE_LEVEL))["pre"] == "gpt-2"


def test_merges_as_pairs() -> None:
    def pairs(model: HfModel) -> None:
        model.tokenizer["model"]["merges"] = [["h", "e"], ["l", "l"]]

    assert metadata(pairs)["merges"] == ["h e", "l l"]


def test_types() -> None:
    def change(model: HfModel) -> None:
        entries = model.tokenizer["added_tokens"]
        entries[3]["special"] = False
        entries += [added(N, "<think>", special=False), added(N + 2, "<image>", special=False)]
        entries += [added(N + 3, "[PAD271]", special=True)]
        model.settings |= {"additional_special_tokens": ["<image>"], "pad_token": "<|endoftext|>"}

    found = metadata(change, N + 6)
    assert found["token_type"].tolist()[:4] == [3, 3, 3, 4]
    assert found["token_type"].tolist()[N:] == [4, 5, 3, 3, 5, 5]
    assert len(set(found["tokens"])) == N + 6
    assert found["padding_token_id"] == 0


def test_what_settings_name_is_special() -> None:
    """A turn's end that the tokenizer itself calls plain must not be written by a user."""

    def change(model: HfModel) -> None:
        model.tokenizer["added_tokens"][2]["special"] = False

    assert metadata(change)["token_type"][2] == 3

    def listed(model: HfModel) -> None:
        model.tokenizer["added_tokens"][3]["special"] = False
        model.settings["added_tokens_decoder"] = {"3": {"content": "<tool>", "special": True}}

    assert metadata(listed)["token_type"][3] == 3


@pytest.mark.parametrize(
    ("settings", "generation", "ids"),
    [
        ({}, {}, (1, 2, 2)),
        ({"eos_token": {"content": "<|endoftext|>"}}, {"eos_token_id": 0}, (1, 0, 2)),
        ({"bos_token": None, "eos_token": None}, {}, (1, 2, 2)),
        ({"eos_token": None}, {"eos_token_id": [3, 2]}, (1, 3, 2)),
        ({"eos_token": None}, {"eos_token_id": [2, 0, 3]}, (1, 2, 3)),
        ({"bos_token": None}, {"bos_token_id": -1}, (None, 2, 2)),
        ({"bos_token": None, "eos_token": None}, {"bos_token_id": 0, "eos_token_id": 5}, (0, 5, 2)),
    ],
)
def test_ends(settings: Any, generation: Any, ids: tuple[int | None, ...]) -> None:
    def change(model: HfModel) -> None:
        model.settings |= settings
        model.generation |= generation

    found = metadata(change)
    assert tuple(found.get(f"{name}_token_id") for name in ("bos", "eos", "eot")) == ids


@pytest.mark.parametrize(
    ("pieces", "settings", "frame"),
    [
        ([TEXT], {}, (False, False)),
        ([piece("<|im_start|>"), TEXT], {}, (True, False)),
        ([piece("<|im_start|>"), TEXT, piece("<|im_end|>")], {}, (True, True)),
        ([piece("<|im_start|>"), TEXT], {"add_bos_token": False}, (False, False)),
        ([TEXT], {"add_bos_token": True}, (True, False)),
        ([TEXT], {"add_eos_token": True, "add_bos_token": None}, (False, True)),
    ],
)
def test_frame(pieces: Any, settings: Any, frame: tuple[bool, bool]) -> None:
    def change(model: HfModel) -> None:
        template = {"type": "TemplateProcessing", "single": pieces}
        both = {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template]}
        model.tokenizer["post_processor"] = both
        model.settings |= settings

    found = metadata(change)
    assert (found["add_bos_token"], found["add_eos_token"]) == frame


def pre(*parts: Any) -> Callable[[HfModel], Any]:
    value = {"type": "Sequence", "pretokenizers": list(parts)}
    return lambda m: m.tokenizer.update(pre_tokenizer=value)


def link(**changes: Any) -> Callable[[HfModel], Any]:
    return lambda m: m.tokenizer.update(changes)


def bpe(**changes: Any) -> Callable[[HfModel], Any]:
    return lambda m: m.tokenizer["model"].update(changes)


def more(*entries: Any) -> Callable[[HfModel], Any]:
    return lambda m: m.tokenizer["added_tokens"].extend(entries)


def said(**changes: Any) -> Callable[[HfModel], Any]:
    return lambda m: m.settings.update(changes)


def template(*pieces: Any) -> Callable[[HfModel], Any]:
    return link(post_processor={"type": "TemplateProcessing", "single": list(pieces)})


def without(byte: str) -> Callable[[HfModel], Any]:
    def change(model: HfModel) -> None:
        vocab = model.tokenizer["model"]["vocab"]
        model.tokenizer["model"]["unk_token"] = "<|endoftext|>"
        del vocab[byte]

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (link(pre_tokenizer=None), "pre_tokenizer none"),
        (link(pre_tokenizer={"type": "Metaspace"}), "pre_tokenizer Metaspace"),
        (link(pre_tokenizer={"type": ["x"]}), "pre_tokenizer ['x']"),
        (link(pre_tokenizer={"type": "Sequence"}), "without pretokenizers"),
        (pre(), "pre_tokenizers ;"),
        (pre({"type": "Split", "pattern": {"Regex": "x"}}, BYTE_LEVEL), "pre_tokenizer Split"),
        (pre(DIGITS), "pre_tokenizers Digits;"),
        (pre(BYTE_LEVEL, DIGITS), "pre_tokenizers ByteLevel, Digits;"),
        (pre({"type": "Digits"}, BYTE_LEVEL), "individual_digits"),
        (pre(DIGITS, BYTE_LEVEL | {"add_prefix_space": True}), "add_prefix_space"),
        (pre(DIGITS, {"type": "ByteLevel"}), "add_prefix_space"),
        (pre(DIGITS, BYTE_LEVEL | {"use_regex": False}), "use_regex"),
        (link(normalizer={"type": "NFC"}), "normalizer NFC"),
        (link(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}]}), "Sequence"),
        (link(decoder={"type": "Metaspace"}), "decoder Metaspace"),
        (link(decoder=None), "decoder none"),
        (link(post_processor={"type": "RobertaProcessing"}), "'RobertaProcessing'"),
        (template(piece("<|im_end|>"), TEXT), "more than bos"),
        (template(piece("<nothing>"), TEXT), "more than bos"),
        (template(TEXT, TEXT), "more than bos"),
        (template(), "more than bos"),
        (template("A"), "more than bos"),
        (said(add_prefix_space=True), "tokenizer_config.json has add_prefix_space"),
        (said(add_bos_token="yes"), "add_bos_token 'yes'"),
        (said(bos_token="<s>"), "special token '<s>'"),
        (said(bos_token=7), "special token 7"),
        (said(additional_special_tokens=["<other>"]), "special token '<other>'"),
        (said(additional_special_tokens="x"), "no list"),
        (said(added_tokens_decoder={"9": {"content": "<new>"}}), "added token 9 '<new>'"),
        (said(added_tokens_decoder={"1": {"content": "<new>"}}), "added token 1 '<new>'"),
        (said(added_tokens_decoder={"x": 3}), "added token x None"),
        (said(added_tokens_decoder=[]), "added_tokens_decoder"),
        (link(model=None), "no model"),
        (bpe(type="Unigram"), "type 'Unigram'; only byte-level BPE"),
        (bpe(type="WordPiece"), "type 'WordPiece'"),
        (bpe(byte_fallback=True), "byte_fallback True"),
        (bpe(ignore_merges=True), "ignore_merges True"),
        (bpe(dropout=0.1), "dropout 0.1"),
        (bpe(continuing_subword_prefix="##"), "continuing_subword_prefix '##'"),
        (bpe(end_of_word_suffix="</w>"), "end_of_word_suffix '</w>'"),
        (bpe(vocab=[]), "no vocab"),
        (bpe(vocab={}), "no vocab"),
        (bpe(vocab={"a": 1.0}), "no vocab"),
        (bpe(vocab={"ab": 1}), "none of the byte tokens"),
        (bpe(vocab={**{t: i for i, t in enumerate(vocabulary())}, "zz": 9}), "two tokens with"),
        (bpe(vocab={**{t: i for i, t in enumerate(vocabulary())}, "zz": -1}), "number -1"),
        (bpe(vocab={**{t: i for i, t in enumerate(vocabulary())}, "zz": N + 2}), f"number {N + 2}"),
        (without("z"), "lacks 1 byte tokens"),
        (bpe(merges=None), "no merges"),
        (bpe(merges=["h"]), "'h', which is no pair"),
        (bpe(merges=["h e l"]), "no pair"),
        (bpe(merges=[["h"]]), "no pair"),
        (bpe(merges=[["h", 3]]), "no pair"),
        (bpe(merges=[["h e", "l"]]), "no pair"),
        (bpe(merges=["h "]), "no pair"),
        (bpe(merges=["h e", "q q"]), "'q q' of tokens that its vocab"),
        (more(3), "without a number"),
        (more({"content": "<a>"}), "without a number"),
        (more(added(N, "")), "without its text"),
        (more(added(N, "<a>", special="no")), "without its text"),
        (more(added(N, "<a>", lstrip=True)), "'<a>' with lstrip"),
        (more(added(N, "<a>", rstrip=True)), "'<a>' with rstrip"),
        (more(added(N, "<a>", single_word=True)), "'<a>' with single_word"),
        (more(added(3, "<a>")), "two added tokens with the number 3"),
        (more(added(9, "<a>")), "number of another token"),
        (more(added(N, "hello")), "number of another token"),
        (more(added(N, "<a>"), added(N + 1, "<a>")), "same added token twice"),
        (more(added(N + 2, "<a>")), f"number {N + 2}, and the vocab_size of config.json is"),
        (link(added_tokens="x"), "no list"),
    ],
)  # fmt: skip
def test_refused(change: Callable[[HfModel], Any], words: str) -> None:
    assert words in refused(change, N + 2)


@pytest.mark.parametrize("value", ["2", 2.0, True, N, -2, [2, None], [1, 2, 3]])
def test_ends_that_are_no_tokens(value: Any) -> None:
    def change(model: HfModel) -> None:
        model.settings["eos_token"] = None
        model.generation["eos_token_id"] = value

    assert "eos_token_id" in refused(change)
