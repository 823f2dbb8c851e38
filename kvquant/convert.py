"""A Hugging Face model folder of the llama architecture to a GGUF file.

Everything is read and checked before the first weight is written; what is not known is refused.
Tensors go through one at a time. The file gets its name only when it is complete and has been read
back by the engine's own reader.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvquant.checkpoint import read_checkpoint
from kvquant.convert_tensors import DEFAULT_TYPE, WEIGHT_TYPES, Step, encode, plan_tensors
from kvquant.errors import KvquantError, ModelFileError, SettingError
from kvquant.gguf import ModelFile
from kvquant.gguf_writer import Value, write_head, write_tensor
from kvquant.hf_config import ModelShape, read_shape
from kvquant.hf_tokenizer import tokenizer_metadata
from kvquant.hyperparams import Hyperparams
from kvquant.json_file import cannot_read, read_object
from kvquant.tokenizer import Tokenizer

Progress = Callable[[int, int, str], None]
"""Called with weights done, weights in all, and the tensor at hand."""


@dataclass(frozen=True, slots=True)
class Converted:
    """weights: numbers in all tensors; nbytes: of the file."""

    path: Path
    tensors: int
    weights: int
    nbytes: int


def convert(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    weights: str = DEFAULT_TYPE,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Converted:
    """Writes the model in ``folder`` to the GGUF file ``out``.

    folder: config.json, model.safetensors (or several files with an index), tokenizer.json and,
        if there, tokenizer_config.json, generation_config.json, chat_template.jinja.
    weights: one of WEIGHT_TYPES.
    overwrite: replace ``out`` if it exists.

    Raises SettingError (weights, out), ModelFileError (the model is not complete, is damaged or of
    a kind that is not known) and KvquantError (the file cannot be written). Then ``out`` is as
    before.
    """
    folder, out = Path(folder), Path(out)
    if weights not in WEIGHT_TYPES:
        raise SettingError("convert.type", f"{weights!r:.40} is none of {', '.join(WEIGHT_TYPES)}.")
    if out.suffix != ".gguf" or out.is_dir():
        raise SettingError("convert.output", f"{out} is no file name that ends in .gguf.")
    if out.exists() and not overwrite:
        raise SettingError(
            "convert.exists", f"{out} is there already.", "Use --force to replace it."
        )
    if not folder.is_dir():
        raise ModelFileError("model.absent", f"There is no model folder {folder}.")
    config = read_object(folder / "config.json")
    shape = read_shape(config)
    metadata = _metadata(folder, config, shape, weights)
    steps = plan_tensors(read_checkpoint(folder), shape, weights)
    _write(out, metadata, steps, shape, progress)
    return Converted(
        path=out,
        tensors=len(steps),
        weights=sum(step.weights for step in steps),
        nbytes=out.stat().st_size,
    )


def model_name(folder: Path) -> str:
    """What to call a model: its folder, or its repository where the folder is of a download cache.

    Such a cache has models--OWNER--NAME/snapshots/REVISION.
    """
    folder = folder.resolve()
    parts = folder.parts
    name = folder.name
    if len(parts) >= 3 and parts[-2] == "snapshots" and parts[-3].startswith("models--"):
        name = parts[-3].rpartition("--")[2]
    return name.encode("utf-8", "replace").decode("utf-8") or "model"


def _metadata(
    folder: Path, config: Mapping[str, Any], shape: ModelShape, weights: str
) -> dict[str, Value]:
    settings = _read_if_there(folder / "tokenizer_config.json")
    ids = {**config, **_read_if_there(folder / "generation_config.json")}
    metadata: dict[str, Value] = {
        "general.architecture": "llama",
        "general.type": "model",
        "general.name": model_name(folder),
        "general.file_type": WEIGHT_TYPES[weights][2],
        "general.quantization_version": 2,
        "llama.block_count": shape.n_layer,
        "llama.context_length": shape.n_ctx_train,
        "llama.embedding_length": shape.n_embd,
        "llama.feed_forward_length": shape.n_ff,
        "llama.attention.head_count": shape.n_head,
        "llama.attention.head_count_kv": shape.n_kv_head,
        "llama.rope.freq_base": shape.rope_base,
        "llama.rope.dimension_count": shape.head_dim,
        "llama.attention.layer_norm_rms_epsilon": shape.norm_eps,
        "llama.vocab_size": shape.n_vocab,
    }
    tokenizer = read_object(folder / "tokenizer.json")
    metadata |= tokenizer_metadata(tokenizer, settings, ids, shape.n_vocab)
    template = chat_template(folder, settings)
    if template is not None:
        metadata["tokenizer.chat_template"] = template
    return metadata


def _read_if_there(path: Path) -> dict[str, Any]:
    return read_object(path) if path.exists() else {}


def chat_template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    """From a file of its own, else from the settings, where it may be one of several."""
    path = folder / "chat_template.jinja"
    if path.exists():
        try:
            return path.read_text(encoding="utf-8")
        except OSError as e:
            raise cannot_read(path, e) from e
        except UnicodeDecodeError as e:
            raise ModelFileError("model.tokenizer", f"{path.name} is not UTF-8.") from e
    template = settings.get("chat_template")
    if isinstance(template, list):
        named = [t for t in template if isinstance(t, dict) and t.get("name") == "default"]
        template = named[0].get("template") if named else None
    if template is not None and not isinstance(template, str):
        raise ModelFileError(
            "model.tokenizer", "tokenizer_config.json has a chat_template that is no text."
        )
    return template


def _write(
    out: Path,
    metadata: Mapping[str, Value],
    steps: list[Step],
    shape: ModelShape,
    progress: Progress | None,
) -> None:
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    total, done = sum(step.weights for step in steps), 0
    try:
        try:
            with part.open("wb") as file:
                write_head(file, metadata, [step.plan for step in steps])
                for step in steps:
                    if progress is not None:
                        progress(done, total, step.plan.name)
                    write_tensor(file, step.plan, encode(step, shape.head_dim))
                    done += step.weights
                file.flush()
                os.fsync(file.fileno())
            _read_back(part)
            part.replace(out)
            _sync_folder(out.parent)
        finally:
            part.unlink(missing_ok=True)
    except OSError as e:
        raise KvquantError("convert.output", f"{out} cannot be written: {e.strerror or e}.") from e
    if progress is not None:
        progress(total, total, "")


def _sync_folder(folder: Path) -> None:
    """The new name is on the disk too, and not only the bytes."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_back(path: Path) -> None:
    """Raises ModelFileError when the engine would not take the file."""
    file = ModelFile.open(path)
    Hyperparams.from_file(file)
    Tokenizer.from_metadata(file.metadata)
