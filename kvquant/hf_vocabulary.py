"""The vocabulary, the added tokens and the merges of a Hugging Face byte-level BPE, by number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvquant.errors import ModelFileError
from kvquant.tokenizer import BYTE_CHARS

FILE = "tokenizer.json"
SETTINGS_FILE = "tokenizer_config.json"
NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
"""Token types of GGUF. Its byte tokens (6) belong to tokenizers with byte fallback; in a
byte-level one bytes are plain tokens."""

_MAX_ADDED = 100_000


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """tokens, types: by id, one for each row of the embedding; merges: "left right"."""

    tokens: list[str]
    types: list[int]
    merges: list[str]

    def spelled(self) -> dict[str, int]:
        """Every token that there is by its text."""
        return {
            token: i for i, token in enumerate(self.tokens) if self.types[i] != UNUSED
        }  # fmt: skip


def read_vocabulary(
    tokenizer: Mapping[str, Any], settings: Mapping[str, Any], n_vocab: int
) -> Vocabulary:
    """From tokenizer.json and tokenizer_config.json; rows of the embedding without a token get
    one that no text gives.

    Raises ModelFileError for another kind than byte-level BPE, and for numbers that do not fit.
    """
    model = tokenizer.get("model")
    if not isinstance(model, dict):
        raise tokenizer_error("has no model")
    vocabulary = _vocabulary(model)
    _refuse_other_bpe(model, vocabulary)
    added = _added_tokens(tokenizer, settings)
    tokens, types = _by_id(vocabulary, added, n_vocab)
    numbers = {token: i for i, token in enumerate(tokens) if types[i] != UNUSED}
    for text in _named_special(settings, numbers):
        types[numbers[text]] = CONTROL
    plain = {token for token, kind in zip(tokens, types, strict=True) if kind == NORMAL}
    return Vocabulary(tokens, types, _merges(model, plain))


def spelling(value: Any) -> Any:
    """The text of a token that a settings file gives as a text or as an object."""
    return value.get("content") if isinstance(value, dict) else value


def tokenizer_error(message: str, file: str = FILE) -> ModelFileError:
    return ModelFileError("model.tokenizer", f"{file} {message}.")


def _named_special(settings: Mapping[str, Any], numbers: Mapping[str, int]) -> list[str]:
    """Tokens that transformers makes special because the settings name them."""
    found: list[str] = []
    names = [f"{key}_token" for key in ("bos", "eos", "unk", "pad", "sep", "cls", "mask")]
    for name in names:
        if settings.get(name) is not None:
            found.append(spelling(settings[name]))
    for name in ("additional_special_tokens", "extra_special_tokens"):
        more = settings.get(name) or []
        if not isinstance(more, (list, dict)):
            raise tokenizer_error(f"has {name} that are no list of tokens", SETTINGS_FILE)
        found += map(spelling, more.values() if isinstance(more, dict) else more)
    for text in found:
        if not isinstance(text, str) or text not in numbers:
            raise tokenizer_error(
                f"names the special token {text!r:.40}, which {FILE} does not have", SETTINGS_FILE
            )
    return found


def _vocabulary(model: Mapping[str, Any]) -> dict[str, int]:
    kind = model.get("type", "missing")
    if kind != "BPE":
        raise tokenizer_error(f"has a model of the type {kind!r:.40}; only byte-level BPE is known")
    vocabulary = model.get("vocab")
    if (
        not isinstance(vocabulary, dict)
        or not vocabulary
        or not all(type(token) is int for token in vocabulary.values())
    ):
        raise tokenizer_error("has no vocab of tokens and their numbers")
    return vocabulary


def _refuse_other_bpe(model: Mapping[str, Any], vocabulary: Mapping[str, int]) -> None:
    for name in (
        "dropout",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "byte_fallback",
        "ignore_merges",
    ):
        if model.get(name):
            raise tokenizer_error(
                f"has {name} {model[name]!r:.40} in its model, which is not supported"
            )
    missing = [char for char in BYTE_CHARS if char not in vocabulary]
    if len(missing) == len(BYTE_CHARS):
        raise tokenizer_error("has none of the byte tokens of a byte-level BPE")
    if missing and model.get("unk_token") is not None:
        # Such bytes would become this token; here they are left out.
        raise tokenizer_error(f"lacks {len(missing)} byte tokens and has an unk_token for them")


def _added_tokens(
    tokenizer: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[int, tuple[str, bool]]:
    """Added tokens by id, each with its text and whether it is special."""
    entries = tokenizer.get("added_tokens") or []
    if not isinstance(entries, list) or len(entries) > _MAX_ADDED:
        raise tokenizer_error("has added_tokens that are no list of tokens")
    added: dict[int, tuple[str, bool]] = {}
    for entry in entries:
        if not isinstance(entry, dict) or type(entry.get("id")) is not int:
            raise tokenizer_error("has an added token without a number")
        text, special = entry.get("content"), entry.get("special", False)
        if not isinstance(text, str) or not text or type(special) is not bool:
            raise tokenizer_error(f"has the added token {entry['id']} without its text")
        for name in ("single_word", "lstrip", "rstrip"):
            if entry.get(name):
                raise tokenizer_error(
                    f"has the added token {text[:40]!r} with {name}, which is not known"
                )
        if entry["id"] in added:
            raise tokenizer_error(f"has two added tokens with the number {entry['id']}")
        added[entry["id"]] = (text, special)
    _check_added_again(settings.get("added_tokens_decoder"), added)
    return added


def _check_added_again(value: Any, added: dict[int, tuple[str, bool]]) -> None:
    """``tokenizer_config.json`` of older versions lists the added tokens once more."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise tokenizer_error("has an added_tokens_decoder that is no object", SETTINGS_FILE)
    for key, entry in value.items():
        text = entry.get("content") if isinstance(entry, dict) else None
        token = int(key) if key.isascii() and key.isdigit() and len(key) < 10 else -1
        if token not in added or added[token][0] != text:
            raise tokenizer_error(
                f"has the added token {key[:20]} {text!r:.40}, and {FILE} has another one",
                SETTINGS_FILE,
            )
        if entry.get("special") is True:
            added[token] = (added[token][0], True)


def _by_id(
    vocabulary: Mapping[str, int], added: Mapping[int, tuple[str, bool]], n_vocab: int
) -> tuple[list[str], list[int]]:
    """Tokens and their types; numbers without a token get an unused one."""
    tokens: list[str | None] = [None] * n_vocab
    types = [UNUSED] * n_vocab
    for text, token in vocabulary.items():
        _check_number(token, text, n_vocab)
        if tokens[token] is not None:
            raise tokenizer_error(f"has two tokens with the number {token}")
        tokens[token], types[token] = text, NORMAL
    for token, (text, special) in added.items():
        _check_number(token, text, n_vocab)
        if vocabulary.get(text, token) != token or tokens[token] not in (None, text):
            raise tokenizer_error(
                f"has the added token {text[:40]!r} with the number of another token"
            )
        tokens[token], types[token] = text, CONTROL if special else USER_DEFINED
    taken = {text for text in tokens if text is not None}
    if len(taken) + types.count(UNUSED) != n_vocab:
        raise tokenizer_error("has the same added token twice")
    filled: list[str] = []
    for token, known in enumerate(tokens):
        text = f"[PAD{token}]" if known is None else known
        while known is None and text in taken:
            text = f"[{text}]"
        filled.append(text)
    return filled, types


def _check_number(token: int, text: str, n_vocab: int) -> None:
    if not 0 <= token < n_vocab:
        raise tokenizer_error(
            f"has the token {text[:40]!r} with the number {token}, and the vocab_size of "
            f"config.json is {n_vocab}"
        )


def _merges(model: Mapping[str, Any], plain: set[str]) -> list[str]:
    """As "left right"; newer files have pairs."""
    value = model.get("merges")
    if not isinstance(value, list):
        raise tokenizer_error("has no merges")
    merges: list[str] = []
    for entry in value:
        pair = entry.split(" ") if isinstance(entry, str) else entry
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(isinstance(part, str) and part and " " not in part for part in pair)
        ):
            raise tokenizer_error(f"has the merge {entry!r:.60}, which is no pair of tokens")
        left, right = pair
        if left not in plain or right not in plain or left + right not in plain:
            raise tokenizer_error(
                f"has the merge {entry!r:.60} of tokens that its vocab does not have"
            )
        merges.append(f"{left} {right}")
    return merges
