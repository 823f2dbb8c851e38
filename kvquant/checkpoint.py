"""The tensors of a Hugging Face model folder, in one safetensors file or in several."""

from __future__ import annotations

import re
from pathlib import Path

from kvquant.errors import ModelFileError
from kvquant.json_file import read_object
from kvquant.safetensors import StoredTensor, read_table

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
MAX_SHARDS = 1_000
_PLAIN_NAME = re.compile(r"[\w-][\w.-]*\.safetensors")


def read_checkpoint(folder: Path) -> dict[str, StoredTensor]:
    """Every tensor by name; ``model.safetensors`` is taken before an index of several files.

    Raises ModelFileError when there is none, or files, index and tensors do not agree.
    """
    if (folder / SINGLE).exists():
        return read_table(folder / SINGLE)
    if (folder / INDEX).exists():
        return _sharded(folder)
    others = sorted([*folder.glob("*.bin"), *folder.glob("*.pth"), *folder.glob("*.gguf")])
    also = f", only {others[0].name}, which is not read" if others else ""
    raise ModelFileError(
        "model.absent",
        f"There is neither {SINGLE} nor {INDEX} in {folder}{also}.",
        "Save the model with safetensors first." if others else "",
    )


def _sharded(folder: Path) -> dict[str, StoredTensor]:
    weight_map = read_object(folder / INDEX).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise _wrong("has no weight_map")
    for name, file in weight_map.items():
        if not isinstance(file, str) or not _PLAIN_NAME.fullmatch(file):
            raise _wrong(f"puts the tensor {name[:80]!r} in {file!r:.80}, not a file beside it")
    files = sorted(set(weight_map.values()))
    if len(files) > MAX_SHARDS:
        raise _wrong(f"names {len(files)} files, more than {MAX_SHARDS}")
    tensors: dict[str, StoredTensor] = {}
    for file in files:
        for name, tensor in read_table(folder / file).items():
            if weight_map.get(name) != file:
                raise _wrong(f"does not put the tensor {name[:80]!r} in {file}, where it is")
            tensors[name] = tensor
    lost = weight_map.keys() - tensors.keys()
    if lost:
        name = min(lost)
        raise _wrong(f"puts the tensor {name[:80]!r} in {weight_map[name]}, where it is not")
    return tensors


def _wrong(message: str) -> ModelFileError:
    return ModelFileError("model.index", f"{INDEX} {message}.", "Fetch or copy the model again.")
