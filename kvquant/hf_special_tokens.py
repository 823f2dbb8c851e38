"""Which tokens begin and end a text, from the settings files of a Hugging Face model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvquant.hf_vocabulary import CONTROL, SETTINGS_FILE, Vocabulary, spelling, tokenizer_error

GENERATION_FILE = "generation_config.json"
_END_OF_TURN = ("<|im_end|>", "<|eot_id|>")
_ENDS_ANYWAY = "<|endoftext|>"
"""The engine stops there whatever the file says."""

_TEXT = -1
"""Where the text stands among the pieces of a template."""
_UNKNOWN = -2


def read_special_ids(
    vocabulary: Vocabulary, settings: Mapping[str, Any], ids: Mapping[str, Any]
) -> dict[str, int]:
    """GGUF's names ("bos", "eos", "eot", "unknown", "padding") to tokens, as far as there are any.

    The names in tokenizer_config.json (settings) come before the numbers in config.json and
    generation_config.json (ids). Raises ModelFileError.
    """
    spelled = vocabulary.spelled()
    found: dict[str, int] = {}
    for name, key in (("bos", "bos"), ("eos", "eos"), ("unknown", "unk"), ("padding", "pad")):
        text = spelling(settings.get(f"{key}_token"))
        if text is not None:
            found[name] = spelled[text]
    n_vocab = len(vocabulary.tokens)
    for name, key in (("bos", "bos_token_id"), ("padding", "pad_token_id")):
        value = ids.get(key)
        # Some tools write -1 where there is none.
        if name not in found and value not in (None, -1):
            found[name] = _token_id(key, value, n_vocab)
    _add_ends(found, ids.get("eos_token_id"), vocabulary)
    for text in _END_OF_TURN:
        token = spelled.get(text)
        if token is not None and vocabulary.types[token] == CONTROL:
            found.setdefault("eot", token)
    return found


def read_frame(
    post_processor: Any,
    settings: Mapping[str, Any],
    vocabulary: Vocabulary,
    special: Mapping[str, int],
) -> tuple[bool, bool]:
    """Whether bos is put before and eos after every text. Raises ModelFileError."""
    frame = _frame(post_processor, vocabulary.spelled(), special.get("bos"), special.get("eos"))
    names = ("add_bos_token", "add_eos_token")
    if not any(name in settings for name in names):
        return frame
    # transformers builds the frame anew when the settings speak of either end.
    for name in names:
        if settings.get(name) not in (None, True, False):
            raise tokenizer_error(
                f"has {name} {settings[name]!r:.40}, neither true nor false", SETTINGS_FILE
            )
    first, last = (bool(settings.get(name)) for name in names)
    return first and "bos" in special, last and "eos" in special


def _add_ends(found: dict[str, int], value: Any, vocabulary: Vocabulary) -> None:
    """Adds eos, if the settings did not name it, and eot, if there is one end more."""
    numbers = value if isinstance(value, list) else [] if value in (None, -1) else [value]
    n_vocab = len(vocabulary.tokens)
    for number in numbers:
        token = _token_id("eos_token_id", number, n_vocab)
        if token in (found.setdefault("eos", token), found.get("eot")):
            continue
        if vocabulary.tokens[token] == _ENDS_ANYWAY:
            continue
        if "eot" in found:
            raise tokenizer_error(
                f"has eos_token_id {value!r:.60}, more ends than the two that are supported",
                GENERATION_FILE,
            )
        found["eot"] = token


def _token_id(key: str, value: Any, n_vocab: int) -> int:
    if type(value) is not int or not 0 <= value < n_vocab:
        raise tokenizer_error(f"has {key} {value!r:.40}, which is no token", GENERATION_FILE)
    return value


def _frame(
    post: Any, spelled: Mapping[str, int], bos: int | None, eos: int | None
) -> tuple[bool, bool]:
    kind = post.get("type") if isinstance(post, dict) else post
    if kind in (None, "ByteLevel"):
        return False, False
    if kind == "Sequence":
        parts = post.get("processors")
        if not isinstance(parts, list):
            raise tokenizer_error("has a post_processor Sequence without processors")
        frames = [_frame(part, spelled, bos, eos) for part in parts]
        return any(first for first, _ in frames), any(last for _, last in frames)
    single = post.get("single") if kind == "TemplateProcessing" else None
    if not isinstance(single, list):
        raise tokenizer_error(
            f"has the post_processor {kind!r:.40}; known are ByteLevel and TemplateProcessing"
        )
    pieces = [_piece(piece, spelled) for piece in single]
    frame = bool(pieces) and pieces[0] == bos, bool(pieces) and pieces[-1] == eos
    if pieces != [bos] * frame[0] + [_TEXT] + [eos] * frame[1]:
        raise tokenizer_error(
            "has a post_processor that adds more than bos before and eos after a text"
        )
    return frame


def _piece(piece: Any, spelled: Mapping[str, int]) -> int:
    if isinstance(piece, dict) and "Sequence" in piece:
        return _TEXT
    token = piece.get("SpecialToken") if isinstance(piece, dict) else None
    return spelled.get(str(token.get("id")), _UNKNOWN) if isinstance(token, dict) else _UNKNOWN
