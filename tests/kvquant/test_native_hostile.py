"""The native engine against files, texts, threads and systems that mean it ill.

Whole processes where a crash would take the tests along: an exit code is told, never a signal.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvquant import Engine
from kvquant.errors import ModelFileError
from kvquant.gguf import ModelFile
from kvquant.token_text import TextStream
from tests.kvquant.tiny_model import F32, gguf_bytes, tiny_metadata, tiny_tensors, write_tiny

_native = pytest.importorskip("kvquant._native", reason="the native engine is not built")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Files.


def refusal(path: Path) -> str:
    """The one sentence that a file is refused with; fails the test when it is not refused."""
    with pytest.raises(ModelFileError) as caught:
        Engine.load(path, backend="native", n_ctx=16).close()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    return str(caught.value)


def test_cut_at_every_tensor_and_at_random_places(tiny_path: Path, tmp_path: Path) -> None:
    whole = tiny_path.read_bytes()
    starts = [whole.index(raw) for _, _, raw in tiny_tensors().values()]
    rng = random.Random(3)
    places = {*starts, *(at + 1 for at in starts), *(rng.randrange(len(whole)) for _ in range(100))}
    cut = tmp_path / "cut.gguf"
    for n in sorted(places):
        cut.write_bytes(whole[:n])
        refusal(cut)


def test_a_cut_file_ends_the_command_with_a_code(tiny_path: Path, tmp_path: Path) -> None:
    whole = tiny_path.read_bytes()
    cut = tmp_path / "cut.gguf"
    for n in (100, len(whole) - 4096):
        cut.write_bytes(whole[:n])
        done = command("--model", str(cut), "--prompt", "hello")
        assert done.returncode == 3, done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("key", ["", " ", "\0", "a" * 70_000])
def test_odd_keys_are_read_over_or_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "key.gguf"
    path.write_bytes(gguf_bytes({key: 1, **tiny_metadata()}, tiny_tensors()))
    with contextlib.suppress(ModelFileError):
        Engine.load(path, backend="native", n_ctx=16).close()
    # An empty name of a tensor is one that no model has.
    path.write_bytes(gguf_bytes(tiny_metadata(), {**tiny_tensors(), key: ((32,), F32, bytes(128))}))
    refusal(path)


def test_layers_that_the_file_does_not_have(tmp_path: Path) -> None:
    for layers in (1, 3, 256):
        said = refusal(write_tiny(tmp_path / "layers.gguf", llama__block_count=layers))
        assert "tensor" in said
    assert "1 to 256" in refusal(write_tiny(tmp_path / "layers.gguf", llama__block_count=257))


@pytest.mark.parametrize(
    "changes",
    [
        {"llama__attention.key_length": 32},
        {"llama__attention.key_length": 24, "llama__attention.value_length": 24},
        {"llama__attention.value_length": 32},
        {"llama__rope.dimension_count": 8},
        {"llama__attention.head_count": 8},
        {"llama__attention.head_count_kv": 4},
        {"llama__embedding_length": 128},
        {"llama__feed_forward_length": 64},
    ],
    ids=str,
)
def test_sizes_that_contradict_each_other(tmp_path: Path, changes: dict[str, int]) -> None:
    refusal(write_tiny(tmp_path / "odd.gguf", **changes))


# Texts.

STREAMED = (
    "👩‍👩‍👧‍👦 and 🇰🇷, 日本語の文字, 한국어, żółć, e\u0301 and n\u0303\u0323, العربية, "
    "हिन्दी 𝔘𝔫𝔦 \u200b\u2028\U0010ffff end"
)


@pytest.fixture(params=["tiny", "shipped"])
def tokenizer(request: pytest.FixtureRequest) -> Iterator[object]:
    path = request.getfixturevalue("tiny_path" if request.param == "tiny" else "model_path")
    with Engine.load(path, backend="native", n_ctx=16, threads=1) as engine:
        yield engine.tokenizer


def test_streamed_pieces_are_whole_characters_and_make_the_text(tokenizer: object) -> None:
    encode, decode = tokenizer.encode, tokenizer.decode  # type: ignore[attr-defined]
    tokens = encode(STREAMED)
    stream = TextStream(tokenizer)  # type: ignore[arg-type]
    pieces = [stream.push(token) for token in tokens]
    assert "".join(pieces) == decode(tokens) == STREAMED
    assert "" in pieces, "no character was split over tokens, so this shows nothing"
    for piece in pieces:
        piece.encode("utf-8")  # no half of a surrogate pair
        assert "\ufffd" not in piece


# Threads and processors.


def command(*options: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """smolllm in a process of its own, after the Python code ``before``."""
    code = f"{before}\nimport sys\nfrom kvquant.cli import main\nsys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, "--max_seq_len", "256", "--n", "8", "--json", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )


@pytest.mark.parametrize("factor", [2, 4])
def test_more_threads_than_cores_do_not_spin_against_each_other(
    tiny_path: Path, factor: int
) -> None:
    """Threads beyond the cores would wait for each other at every barrier; none are made."""
    backend = _native.load(str(tiny_path), threads=factor * CORES)
    assert backend.threads == CORES
    one = {"--model": str(tiny_path), "--prompt": "hello the hello", "--threads": "1"}
    many = {**one, "--threads": str(factor * CORES)}
    texts = [
        json.loads(command(*(part for pair in options.items() for part in pair)).stdout)["text"]
        for options in (one, many)
    ]
    assert texts[0] == texts[1]


REFUSE_ARCH_PRCTL = """
import ctypes, errno, struct
libc = ctypes.CDLL(None, use_errno=True)
# Load the number of the system call; arch_prctl (158) fails with EPERM, all others pass.
program = b"".join(struct.pack("<HBBI", *line) for line in (
    (0x20, 0, 0, 0), (0x15, 0, 1, 158), (0x06, 0, 0, 0x00050000 | errno.EPERM),
    (0x06, 0, 0, 0x7FFF0000)))
code = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(
        22, 2, ctypes.byref(Filter(4, ctypes.addressof(code))), 0, 0):
    raise SystemExit(77)
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="of x86 Linux"
)
def test_a_system_that_refuses_the_matrix_unit(tiny_path: Path) -> None:
    """Without the permission its instructions would end the process with SIGILL."""
    options = ("--model", str(tiny_path), "--prompt", "hello the " * 50, "--threads", "2")
    refused = command(*options, before=REFUSE_ARCH_PRCTL)
    if refused.returncode == 77:
        pytest.skip("this system takes no filter of system calls")
    assert refused.returncode == 0, refused.stderr
    os_default = command(*options)
    assert os_default.returncode == 0, os_default.stderr
    assert json.loads(refused.stdout)["prompt_tokens"] > 64


def test_prompts_by_the_matrix_unit_in_several_threads(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np

    tokens = (np.arange(200) % 250 + 4).astype(np.int32)

    def logits(threads: int) -> np.ndarray:
        cache = _native.load(str(tiny_path), threads=threads).cache(256)
        for at in range(0, 200, 64):
            last = cache.forward(tokens[at : at + 64], at, 1)
        return np.asarray(last[0])

    if not _native.load(str(tiny_path)).matrix_unit:
        pytest.skip("this processor or system has no matrix unit")
    by_tiles = logits(2)
    assert np.array_equal(by_tiles, logits(1))
    monkeypatch.setenv("KVQ_AMX", "0")
    assert np.abs(by_tiles - logits(2)).max() < 0.05 * np.abs(by_tiles).max()


def test_the_file_may_shrink_while_it_is_in_use(tmp_path: Path) -> None:
    """Weights are read, not mapped, so that nobody's `cp` over the file ends the service."""
    path = write_tiny(tmp_path / "tiny.gguf")
    with Engine.load(path, backend="native", n_ctx=64, threads=1) as engine:
        os.truncate(path, 100)
        tokens = list(engine.session().generate([5, 6, 7], max_new_tokens=4, stop_tokens=()))
    assert len(tokens) == 4
    with pytest.raises(ModelFileError):
        ModelFile.open(path)
