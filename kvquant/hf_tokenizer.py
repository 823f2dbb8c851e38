"""A Hugging Face byte-level BPE tokenizer as the metadata of a GGUF file.

``tokenizer.json`` describes the whole chain from text to tokens. Every link is compared with what
``kvquant.tokenizer`` does; a link that is not known is refused by its name, because a tokenizer
that is nearly right spoils a model without any sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kvquant.gguf_writer import Value
from kvquant.hf_special_tokens import read_frame, read_special_ids
from kvquant.hf_vocabulary import SETTINGS_FILE, read_vocabulary, tokenizer_error


def tokenizer_metadata(
    tokenizer: Mapping[str, Any],
    settings: Mapping[str, Any],
    ids: Mapping[str, Any],
    n_vocab: int,
) -> dict[str, Value]:
    """Keys and values of ``tokenizer.ggml.*`` for a model with n_vocab rows of embedding.

    tokenizer: tokenizer.json; settings: tokenizer_config.json; ids: bos_token_id, eos_token_id and
    pad_token_id of generation_config.json or config.json.

    Raises ModelFileError for a tokenizer that is not known, damaged, or not this model's.
    """
    digits_split = _splits_digits(tokenizer.get("pre_tokenizer"))
    _refuse_other_links(tokenizer, settings)
    vocabulary = read_vocabulary(tokenizer, settings, n_vocab)
    special = read_special_ids(vocabulary, settings, ids)
    add_bos, add_eos = read_frame(tokenizer.get("post_processor"), settings, vocabulary, special)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm" if digits_split else "gpt-2",
        "tokenizer.ggml.tokens": vocabulary.tokens,
        "tokenizer.ggml.token_type": np.array(vocabulary.types, np.int32),
        "tokenizer.ggml.merges": vocabulary.merges,
        **{f"tokenizer.ggml.{name}_token_id": token for name, token in special.items()},
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.ggml.add_bos_token": add_bos,
        "tokenizer.ggml.add_eos_token": add_eos,
    }


def _splits_digits(value: Any) -> bool:
    """Whether each digit is a word of its own before GPT-2's splitter, as in SmolLM."""
    parts = value.get("pretokenizers") if _kind(value) == "Sequence" else [value]
    if not isinstance(parts, list):
        raise tokenizer_error("has a pre_tokenizer Sequence without pretokenizers")
    names = [_kind(part) for part in parts]
    for name, part in zip(names, parts, strict=True):
        if name not in ("Digits", "ByteLevel"):
            raise tokenizer_error(
                f"has the pre_tokenizer {name}; known are ByteLevel, and Digits before it"
            )
        if name == "Digits" and part.get("individual_digits") is not True:
            raise tokenizer_error("has the pre_tokenizer Digits without individual_digits")
        if name == "ByteLevel" and (
            part.get("add_prefix_space") is not False or part.get("use_regex", True) is not True
        ):
            raise tokenizer_error(
                "has the pre_tokenizer ByteLevel with add_prefix_space or without use_regex"
            )
    if names not in (["ByteLevel"], ["Digits", "ByteLevel"]):
        raise tokenizer_error(
            f"has the pre_tokenizers {', '.join(names)[:80]}; known are ByteLevel, and Digits "
            "before it"
        )
    return names[0] == "Digits"


def _refuse_other_links(tokenizer: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    normalizer = tokenizer.get("normalizer")
    if normalizer is not None and not (
        _kind(normalizer) == "Sequence" and normalizer.get("normalizers") == []
    ):
        raise tokenizer_error(f"has the normalizer {_kind(normalizer)}, which is not known")
    decoder = _kind(tokenizer.get("decoder"))
    if decoder != "ByteLevel":
        raise tokenizer_error(f"has the decoder {decoder}; only ByteLevel is known")
    if settings.get("add_prefix_space") not in (None, False):
        raise tokenizer_error("has add_prefix_space, which is not supported", SETTINGS_FILE)


def _kind(value: Any) -> str:
    """The type of a link of the chain, for comparisons and messages."""
    kind = value.get("type") if isinstance(value, dict) else value
    return kind if isinstance(kind, str) else "none" if kind is None else repr(kind)[:40]
