"""The compiled engine against the numpy reference, through the same protocol."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import kvquant
from kvquant import Engine, reference
from kvquant.errors import KvquantError, ModelFileError

_native = pytest.importorskip("kvquant._native", reason="the native engine is not built")

LENGTHS = [1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129, 300]
PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "Water boils at 100 degrees",
    "Once upon a time there was a small robot who",
    "The three primary colours are",
    "To make bread you need flour,",
]


def ids(n: int, seed: int = 3, vocab: int = 270) -> NDArray[np.int32]:
    return np.random.default_rng(seed).integers(0, vocab, n).astype(np.int32)


def divergence(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> NDArray[np.float64]:
    """KL(wanted || got) of each row's next-token distribution."""

    def log_softmax(x: NDArray[np.float32]) -> NDArray[np.float64]:
        shifted = x.astype(np.float64) - x.max(-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))

    a, b = log_softmax(wanted), log_softmax(got)
    return (np.exp(a) * (a - b)).sum(-1)


@pytest.fixture(scope="module", params=_native.available_isas())
def native(request: pytest.FixtureRequest, tiny_path: Path) -> _native.Backend:
    return _native.load(str(tiny_path), threads=2, isa=request.param)


@pytest.mark.parametrize("n", LENGTHS)
def test_logits_equal_the_reference(native: _native.Backend, tiny_path: Path, n: int) -> None:
    tokens = ids(n)
    wanted = reference.load(str(tiny_path), threads=1, kv="fp32").cache(512).forward(tokens, 0, n)
    got = native.cache(512).forward(tokens, 0, n)
    assert got.shape == wanted.shape
    assert divergence(wanted, got).max() < 1e-3
    # Logits of size 10; F32 weights, keys and values are rounded to halves.
    assert np.abs(wanted - got).max() < (0.3 if native.matrix_unit else 0.06)


@pytest.mark.parametrize("n_past", [0, 5, 31])
def test_going_back_forgets_what_came_after(native: _native.Backend, n_past: int) -> None:
    cache, fresh = native.cache(128), native.cache(128)
    tokens, other = ids(60), ids(20, seed=4)
    cache.forward(tokens, 0, 0)
    after = cache.forward(other, n_past, 1)
    assert cache.length == n_past + 20
    if n_past:
        fresh.forward(tokens[:n_past], 0, 0)
    assert np.allclose(fresh.forward(other, n_past, 1), after, atol=0.02)


def test_rows_and_bytes(native: _native.Backend) -> None:
    cache = native.cache(64)
    assert cache.length == cache.kv_bytes == cache.page_bytes == 0
    assert cache.forward(ids(9), 0, 0).shape == (0, 271)
    # 2 layers, keys and values, 2 heads of 16, two bytes each.
    assert cache.kv_bytes == 9 * 2 * 2 * 2 * 16 * 2
    assert cache.page_bytes == 4 * 65536
    cache.truncate(0)
    assert cache.page_bytes == 0


def test_wrong_arguments_are_value_errors(native: _native.Backend) -> None:
    cache = native.cache(16)
    cache.forward(ids(10), 0, 0)
    for tokens, n_past, rows in [
        (ids(0), 10, 0), (ids(7), 10, 0), (ids(1), 11, 0), (ids(1), -1, 0),
        (ids(2), 10, 3), (ids(2), 10, -1),
        (np.array([271], np.int32), 10, 0), (np.array([-1], np.int32), 10, 0),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=r"\w"):
            cache.forward(tokens, n_past, rows)
        assert cache.length == 10
    for n in (0, -1, 513):
        with pytest.raises(ValueError):
            native.cache(n)


def test_a_batch_is_each_sequence_alone(native: _native.Backend) -> None:
    batch = [native.cache(128) for _ in range(_native.MAX_BATCH)]
    alone = [native.cache(128) for _ in range(_native.MAX_BATCH)]
    for i, (a, b) in enumerate(zip(batch, alone, strict=True)):
        a.forward(ids(4 + 13 * i, seed=i), 0, 0)
        b.forward(ids(4 + 13 * i, seed=i), 0, 0)
    tokens = ids(len(batch), seed=9)
    got = _native.step(batch, tokens)
    for i, cache in enumerate(alone):
        assert np.allclose(cache.forward(tokens[i : i + 1], cache.length, 1)[0], got[i], atol=5e-3)
    assert [c.length for c in batch] == [c.length for c in alone]
    with pytest.raises(ValueError, match="twice"):
        _native.step([batch[0], batch[0]], tokens[:2])
    with pytest.raises(ValueError):
        _native.step([*batch, native.cache(8)], ids(9))


def test_only_allowed_tokens_get_logits(native: _native.Backend) -> None:
    every = native.cache(32).forward(ids(5), 0, 1)[0]
    some, _ = native.cache(32).compute(ids(5), 0, 1, allowed=[270, 3, 100, 3])
    finite = np.flatnonzero(np.isfinite(some[0]))
    assert finite.tolist() == [3, 100, 270]
    assert np.array_equal(some[0][finite], every[finite])
    for bad in ([], [-1], [271]):
        with pytest.raises(ValueError, match="allowed"):
            native.cache(32).compute(ids(5), 0, 1, allowed=bad)


def test_hidden_states(native: _native.Backend) -> None:
    logits, hidden = native.cache(32).compute(ids(20), 0, 0, hidden=True)
    assert logits.shape == (0, 271)
    assert hidden is not None
    assert hidden.shape == (20, 64)
    assert np.isfinite(hidden).all()


def test_a_snapshot_goes_on_as_the_cache_does(native: _native.Backend) -> None:
    cache, other, small = native.cache(128), native.cache(128), native.cache(40)
    tokens = ids(77)
    cache.forward(tokens, 0, 0)
    saved = cache.snapshot()
    assert other.restore(saved) == tokens.tolist()
    assert np.array_equal(other.forward(ids(1), 77, 1), cache.forward(ids(1), 77, 1))
    before = other.length
    flipped = bytearray(saved)
    flipped[len(saved) // 2] ^= 1
    for bad in (b"", saved[:-1], saved + b"x", bytes(flipped), b"KVQS" + bytes(60)):
        with pytest.raises(ValueError, match="saved cache"):
            other.restore(bad)
        assert other.length == before
    with pytest.raises(ValueError, match="77 tokens"):
        small.restore(saved)


def test_threads_do_not_change_the_result(tiny_path: Path) -> None:
    results = []
    for threads in (1, 2, 4, 16):
        cache = _native.load(str(tiny_path), threads=threads).cache(256)
        cache.forward(ids(100), 0, 0)
        results.append(cache.forward(ids(1), 100, 1))
    assert all(np.array_equal(r, results[0]) for r in results)


def test_two_models_work_at_once(tiny_path: Path) -> None:
    backends = [_native.load(str(tiny_path), threads=2) for _ in range(2)]
    # Two caches of each model, every one in a thread of its own.
    caches = [b.cache(512) for b in backends for _ in range(2)]

    def work(seed: int) -> NDArray[np.float32]:
        tokens = ids(120, seed=seed)
        for i, token in enumerate(tokens):
            logits = caches[seed].forward(np.array([token], np.int32), i, 1)
        return logits

    with ThreadPoolExecutor(len(caches)) as pool:
        together = list(pool.map(work, range(len(caches))))
    for cache in caches:
        cache.truncate(0)
    for seed, logits in enumerate(together):
        assert np.array_equal(work(seed), logits)


def test_damaged_files_are_one_sentence(tiny_path: Path, tmp_path: Path) -> None:
    whole = tiny_path.read_bytes()
    damaged = tmp_path / "damaged.gguf"
    step = max(1, len(whole) // 150)
    for n in range(0, len(whole) - 32, step):
        damaged.write_bytes(whole[:n])
        with pytest.raises(ValueError, match=r"\w") as e:
            _native.load(str(damaged))
        assert "\n" not in str(e.value)
    for path in (tmp_path / "absent.gguf", tmp_path):
        with pytest.raises(ValueError):
            _native.load(str(path))


def test_settings_are_checked(tiny_path: Path) -> None:
    for threads in (0, -1, 257):
        with pytest.raises(ValueError, match="threads"):
            _native.load(str(tiny_path), threads=threads)
    with pytest.raises(ValueError, match="static4"):
        _native.load(str(tiny_path), kv="static4")
    with pytest.raises(ValueError, match="not available"):
        _native.load(str(tiny_path), isa="mmx")


def test_the_environment_forces_an_instruction_set(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for isa in _native.available_isas():
        monkeypatch.setenv("KVQ_ISA", isa)
        assert _native.load(str(tiny_path)).isa == isa
    monkeypatch.setenv("KVQ_ISA", "sse2")
    with pytest.raises(KvquantError, match="sse2"):
        Engine.load(tiny_path, backend="native", n_ctx=64)


def test_a_closed_model_is_an_error(tiny_path: Path) -> None:
    backend = _native.load(str(tiny_path))
    cache = backend.cache(16)
    backend.close()
    with pytest.raises(RuntimeError, match="closed"):
        backend.cache(16)
    assert cache.forward(ids(3), 0, 1).shape == (1, 271)


def test_the_stub_names_what_there_is() -> None:
    # Beside the package's sources; the compiled module may lie elsewhere.
    stub = ast.parse((Path(kvquant.__file__).parent / "_native.pyi").read_text())
    for node in stub.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert hasattr(_native, node.name)
        if isinstance(node, ast.ClassDef):
            functions = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
            members = {name for name in functions if not name.startswith("_")}
            there = {m for m in dir(getattr(_native, node.name)) if not m.startswith("_")}
            assert members == there


def test_ctrl_c_stops_a_long_prompt(model_path: Path) -> None:
    code = (
        "import numpy as np\nfrom kvquant import _native\n"
        f"cache = _native.load({str(model_path)!r}, isa='scalar').cache(2048)\n"
        "cache.forward(np.arange(3, dtype=np.int32), 0, 0)\n"
        "try:\n    print('working', flush=True)\n"
        "    cache.forward(np.arange(2000, dtype=np.int32), 3, 0)\n"
        "except KeyboardInterrupt:\n    print('stopped at', cache.length)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(signal.SIGINT)
    # The scalar code would need minutes for the prompt.
    out, _ = process.communicate(timeout=600)
    assert out == "stopped at 3\n"


def test_greedy_texts_equal_the_reference(model_path: Path) -> None:
    plain = reference.load(str(model_path), threads=2, kv="fp32").cache(128)
    with Engine.load(model_path, backend="native", n_ctx=128) as engine:
        for prompt in PROMPTS:
            ids_in = engine.tokenizer.encode(prompt)
            new = [t.id for t in engine.session().generate(ids_in, max_new_tokens=16)]
            # One pass over prompt and answer: each new token must be the likeliest one there.
            tokens = np.array(ids_in + new[:-1], np.int32)
            logits = plain.forward(tokens, 0, len(new))
            assert logits.argmax(-1).tolist() == new, prompt


def test_divergence_from_the_reference(model_path: Path) -> None:
    text = (Path(__file__).parents[2] / "LICENSE").read_text()[:900]
    with Engine.load(model_path, backend="native", n_ctx=8) as engine:
        tokens = np.array(engine.tokenizer.encode(text), np.int32)
    wanted = reference.load(str(model_path), threads=2, kv="fp32").cache(512)
    logits = wanted.forward(tokens, 0, len(tokens))
    for isa in _native.available_isas()[1:]:
        cache = _native.load(str(model_path), threads=2, isa=isa).cache(512)
        got = divergence(logits, cache.forward(tokens, 0, len(tokens)))
        assert got.mean() < 1e-3, isa


def test_an_unusable_file_is_a_model_error(tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelFileError):
        Engine.load(bad, backend="native")
