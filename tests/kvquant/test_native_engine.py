"""Engine and sessions over the compiled backend: what it adds, and what must hold for both."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import Engine, Sampling, Session
from kvquant.errors import (
    BackendError,
    ContextError,
    ModelFileError,
    SettingError,
    SnapshotError,
)
from kvquant.gguf import ModelFile
from tests.kvquant.tiny_model import gguf_bytes, tiny_metadata, tiny_tensors, write_tiny

pytest.importorskip("kvquant._native", reason="the native engine is not built")

OPEN: dict[str, Any] = {"stop_tokens": ()}


@pytest.fixture(scope="module")
def native(tiny_path: Path) -> Iterator[Engine]:
    with Engine.load(tiny_path, backend="native", n_ctx=512, threads=2) as engine:
        yield engine


def ids(n: int, seed: int = 1) -> list[int]:
    return [int(i) for i in np.random.default_rng(seed).integers(4, 260, n)]


def chosen(session: Session, prompt: list[int], n: int = 10, **options: Any) -> list[int]:
    run = session.generate(prompt, max_new_tokens=n, **OPEN, **options)
    return [token.id for token in run]


def test_it_says_the_same_of_its_model(native: Engine, tiny: Engine) -> None:
    ours, theirs = native.info, tiny.info
    assert (ours.backend, theirs.backend) == ("native", "reference")
    for name in ("name", "n_layer", "n_embd", "n_head", "n_kv_head", "head_dim", "n_ff",
                 "n_vocab", "n_ctx_train", "bos_id", "eos_id", "eot_id", "stop_ids"):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name), name
    assert np.array_equal(native.text_mask(), tiny.text_mask())
    messages = [("system", "Be brief."), ("user", "What is <|im_end|> for? \ud800")]
    assert native.chat_prompt(messages) == tiny.chat_prompt(messages)
    for text in ("", "Grüße, 12 a\u0301 🦉", "\ud83d half"):
        tokens = native.tokenizer.encode(text)
        assert tokens == tiny.tokenizer.encode(text)
        assert native.tokenizer.decode(tokens) == tiny.tokenizer.decode(tokens)
    for wrong in (-1, 10**6):
        with pytest.raises(SettingError, match="not a token"):
            native.tokenizer.token_bytes(wrong)


def test_no_numpy_until_arrays_are_wanted(tiny_path: Path) -> None:
    code = (
        "import sys\nfrom kvquant.cli import main\n"
        f"main(['--model', {str(tiny_path)!r}, '--max_seq_len', '64', '--prompt', 'abc',"
        " '--n', '3', '--temperature', '0.5', '--json'])\n"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_files_that_cannot_be_used(tmp_path: Path, tiny_path: Path) -> None:
    def refused(path: Path, word: str = ".") -> None:
        with pytest.raises(ModelFileError, match=word):
            Engine.load(path, backend="native", n_ctx=32)

    refused(tmp_path / "none.gguf", "no model file")
    refused(tmp_path)
    whole = tiny_path.read_bytes()
    cut = tmp_path / "cut.gguf"
    for size in (0, 3, 23, 500, len(whole) // 2, len(whole) - 1):
        cut.write_bytes(whole[:size])
        refused(cut)
    for key, value in (("eos_token_id", 10**6), ("eot_token_id", "x")):
        path = write_tiny(tmp_path / "ids.gguf", **{f"tokenizer__ggml.{key}": value})
        refused(path, f"{key[:3]} token")
    refused(write_tiny(tmp_path / "words.gguf", **{"tokenizer__ggml.pre": "mine"}), "mine")
    with pytest.raises(SettingError, match="from 1 to 512"):
        Engine.load(tiny_path, backend="native", n_ctx=513)


HYPERPARAMETERS = [
    "block_count", "embedding_length", "attention.head_count", "attention.head_count_kv",
    "feed_forward_length", "context_length",
]  # fmt: skip


@pytest.mark.parametrize("key", HYPERPARAMETERS)
@pytest.mark.parametrize("value", [0, -1, 3, 513, 2**31, 2**42 + 1])
def test_sizes_that_cannot_be(tmp_path: Path, key: str, value: int) -> None:
    path = write_tiny(tmp_path / "odd.gguf", **{f"llama__{key}": value})
    if key == "context_length" and value in (3, 513):
        Engine.load(path, backend="native", n_ctx=3).close()
        return
    with pytest.raises(ModelFileError) as caught:
        Engine.load(path, backend="native", n_ctx=3)
    assert len(str(caught.value)) < 300


# Snapshots.


def test_a_restored_session_goes_on_as_if_it_had_computed(native: Engine, tmp_path: Path) -> None:
    prompt = ids(70)
    cold = chosen(native.session(), prompt)
    first = native.session()
    first.prefill(prompt[:50])
    first.save(tmp_path / "half.kv")
    second = native.session()
    assert second.load(tmp_path / "half.kv") == prompt[:50]
    assert second.prefill(prompt) == 20
    assert chosen(second, prompt) == cold

    # The whole prompt: only the last token is computed again, for its logits.
    second.prefill(prompt)
    data = second.snapshot()
    third = native.session()
    third.prefill(ids(90, 4))
    third.restore(data)
    assert third.prefill(prompt) == 1
    assert chosen(third, prompt) == cold
    assert third.logits().argmax() == native_logits(native, third.tokens).argmax()
    assert [p.name for p in tmp_path.iterdir()] == ["half.kv"]


def native_logits(engine: Engine, tokens: list[int]) -> Any:
    session = engine.session()
    session.prefill(tokens)
    return session.logits()


@pytest.mark.parametrize(("heads", "kv_heads"), [(9, 3), (9, 1), (9, 9), (4, 2)])
def test_snapshots_with_every_grouping_of_heads(tmp_path: Path, heads: int, kv_heads: int) -> None:
    sizes = {"head_count": heads, "head_count_kv": kv_heads}
    metadata = tiny_metadata(
        llama__embedding_length=32 * heads,
        **{f"llama__attention.{name}": size for name, size in sizes.items()},
    )
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes(metadata, tiny_tensors(0, 32 * heads, 32 * kv_heads)))
    with Engine.load(path, backend="native", n_ctx=128) as engine:
        prompt = ids(60)
        cold = chosen(engine.session(), prompt)
        one, two = engine.session(), engine.session()
        one.prefill(prompt[:41])
        two.restore(one.snapshot())
        assert chosen(two, prompt) == cold


def test_foreign_and_damaged_snapshots_change_nothing(native: Engine, tmp_path: Path) -> None:
    maker = native.session()
    maker.prefill(ids(33))
    good = maker.snapshot()
    session = native.session()
    held = ids(20, 5)
    session.prefill(held)
    before = session.logits()

    def refused(data: bytes, word: str = "saved cache") -> None:
        with pytest.raises(SnapshotError, match=word) as caught:
            session.restore(data)
        assert caught.value.exit_code == 4
        assert session.tokens == held
        assert session.prefill(held) == 0
        assert np.array_equal(session.logits(), before)

    for size in (0, 1, 31, 32, 40, len(good) // 2, len(good) - 1):
        refused(good[:size])
    refused(good + b"\0")
    for at in (*range(40), *range(40, len(good), len(good) // 37)):
        changed = bytearray(good)
        changed[at] ^= 0x10
        refused(bytes(changed))
    other = write_tiny(tmp_path / "other.gguf", seed=9)
    with Engine.load(other, backend="native", n_ctx=128) as engine:
        foreign = engine.session()
        foreign.prefill(ids(33))
        refused(foreign.snapshot(), "another model")
    same = write_tiny(tmp_path / "same.gguf")
    with Engine.load(same, backend="native", n_ctx=32) as small:
        short = small.session()
        with pytest.raises(SnapshotError, match="33 tokens"):
            short.restore(good)
    for path in (tmp_path / "none.kv", tmp_path):
        with pytest.raises(SnapshotError, match="cannot be read"):
            session.load(path)
    with pytest.raises(SnapshotError, match="cannot be saved"):
        session.save(tmp_path / "no" / "folder.kv")
    assert session.tokens == held


def test_the_reference_has_no_snapshots(session: Session) -> None:
    session.prefill([5, 6])
    with pytest.raises(BackendError, match="Only the native"):
        session.snapshot()
    with pytest.raises(BackendError, match="Only the native"):
        session.restore(b"")


# Masks.


@pytest.mark.parametrize("allowed", [[7], [7, 8, 100, 259], list(range(4, 200))])
def test_a_mask_leaves_the_best_of_the_allowed(native: Engine, allowed: list[int]) -> None:
    mask = np.zeros(native.info.n_vocab, np.bool_)
    mask[allowed] = True
    session = native.session()
    prompt = ids(12)
    got = chosen(session, prompt, 6, allowed=mask)
    check = native.session()
    for i, token in enumerate(got):
        check.prefill(prompt + got[:i])
        assert token == allowed[int(check.logits()[allowed].argmax())]
    # What a restricted head left behind is not taken for whole logits.
    assert np.allclose(session.logits(), native_logits(native, session.tokens), atol=1e-3)
    assert chosen(session, prompt, 6) == chosen(native.session(), prompt, 6)
    assert set(chosen(session, prompt, 40, allowed=mask, sampling=Sampling(30.0, seed=1))) <= set(
        allowed
    )


def test_masks_that_cannot_be(native: Engine) -> None:
    for mask in (np.zeros(native.info.n_vocab, np.bool_), np.ones(3, np.bool_)):
        with pytest.raises(SettingError, match="mask"):
            chosen(native.session(), [5], allowed=mask)


# Choosing.


def test_settings_beyond_single_precision(native: Engine) -> None:
    for sampling in (
        Sampling(temperature=1e300, top_k=2**62, seed=2**63 - 1),
        Sampling(temperature=1.0, top_p=1e-300, seed=0),
        Sampling(temperature=1e-30),
        Sampling(repetition_penalty=1e300),
        Sampling(repetition_penalty=1e-300, repetition_window=0),
    ):
        got = chosen(native.session(), ids(5), 4, sampling=sampling)
        assert len(got) == 4
    greedy = chosen(native.session(), ids(5), 4)
    for cold in (Sampling(temperature=1e-8), Sampling(temperature=1.0, top_p=1e-300)):
        assert chosen(native.session(), ids(5), 4, sampling=cold) == greedy


def test_a_seed_is_a_text(native: Engine) -> None:
    def run(seed: int | None) -> list[int]:
        return chosen(native.session(), ids(9), 30, sampling=Sampling(1.0, seed=seed))

    assert run(3) == run(3)
    assert run(3) != run(4)
    assert run(None) != run(None)


def test_damaged_weights_are_refused_or_noticed(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "bad.gguf")
    info = ModelFile.open(path).tensors["blk.1.ffn_up.weight"]
    raw = bytearray(path.read_bytes())
    raw[info.offset : info.offset + 4] = b"\x00\x00\xc0\x7f"
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match="not finite"):
        Engine.load(path, backend="native", n_ctx=32)


# The context.


@pytest.mark.parametrize("over", [1, 512 * 9])
def test_more_than_the_context_holds(native: Engine, over: int) -> None:
    session = native.session()
    session.prefill(ids(9))
    with pytest.raises(ContextError, match="the context holds 512"):
        session.prefill(ids(512 + over))
    assert session.tokens == ids(9)


def test_up_to_the_last_place(native: Engine) -> None:
    session = native.session()
    assert len(chosen(session, ids(512), 9)) == 1
    assert session.finish == "context"
    assert len(chosen(session, ids(511), 9)) == 2
    assert session.finish == "context"
    assert chosen(session, ids(20), 4) == chosen(native.session(), ids(20), 4)


# Several at once.


def test_a_batch_says_what_each_says_alone(native: Engine, tiny: Engine) -> None:
    prompts = [ids(n, n) for n in (1, 5, 40, 65, 130, 3, 9, 17, 33, 2)]
    for engine in (native, tiny):
        alone = [chosen(engine.session(), prompt, 7) for prompt in prompts]
        together: list[list[int]] = [[] for _ in prompts]
        sessions = [engine.session() for _ in prompts]
        for i, token in engine.generate_batch(prompts, max_new_tokens=7, sessions=sessions, **OPEN):
            together[i].append(token.id)
        assert together == alone
        assert {s.finish for s in sessions} == {"length"}
        for session, prompt, said in zip(sessions, prompts, alone, strict=True):
            assert session.tokens == prompt + said[:-1]
            assert chosen(session, prompt + said, 3) == chosen(engine.session(), prompt + said, 3)


def test_texts_of_a_batch_end_each_on_its_own(native: Engine) -> None:
    prompts = [ids(8), ids(508), ids(30, 2)]
    stop = chosen(native.session(), prompts[2], 3)[2]
    sessions = [native.session() for _ in prompts]
    found = list(
        native.generate_batch(prompts, max_new_tokens=9, stop_tokens=[stop], sessions=sessions)
    )
    assert sessions[1].finish in ("context", "stop")
    assert sessions[2].finish == "stop"
    assert [t.id for i, t in found if i == 2] == chosen(native.session(), prompts[2], 2)


def test_a_batch_can_be_cancelled_or_left(native: Engine) -> None:
    cancel = threading.Event()
    sessions = [native.session() for _ in range(3)]
    run = native.generate_batch(
        [ids(4, i) for i in range(3)], max_new_tokens=50, sessions=sessions, cancel=cancel, **OPEN
    )
    list(itertools.islice(run, 7))
    cancel.set()
    assert len(list(run)) <= 3
    assert {s.finish for s in sessions} == {"cancelled"}
    for i, session in enumerate(sessions):
        assert chosen(session, ids(4, i), 5) == chosen(native.session(), ids(4, i), 5)


def test_batches_that_cannot_be(native: Engine, tiny: Engine) -> None:
    one = native.session()
    assert list(native.generate_batch([], max_new_tokens=3)) == []
    for sessions in ([one], [one, one], [one, tiny.session()]):
        with pytest.raises(SettingError, match="session"):
            native.generate_batch([[5], [6]], max_new_tokens=3, sessions=sessions)
    with pytest.raises(ContextError):
        native.generate_batch([[5], []], max_new_tokens=3)


# Giving up.


class After(threading.Event):
    """Is set when it has been asked for the n-th time."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self._left = n

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


def test_a_wrong_instruction_set_is_not_the_files_fault(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVQ_ISA", "mmx")
    with pytest.raises(SettingError, match=r"KVQ_ISA=mmx.* scalar"):
        Engine.load(model_path, backend="native", n_ctx=512, threads=1)


def test_cancel_acts_within_a_chunk(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVQ_ISA", "scalar")
    with Engine.load(model_path, backend="native", n_ctx=512, threads=1) as engine:
        session = engine.session()
        session.prefill(ids(3))
        # Once before the chunk; the second time is in its middle.
        prompt = ids(3) + ids(400, 2)
        assert session.prefill(prompt, After(2)) == 0
        assert session.tokens == ids(3)
        assert list(session.generate(prompt, max_new_tokens=3, cancel=After(2))) == []
        assert session.finish == "cancelled"


def test_ctrl_c_leaves_a_session_that_can_go_on(model_path: Path) -> None:
    code = (
        "from kvquant import Engine\n"
        f"engine = Engine.load({str(model_path)!r}, backend='native', n_ctx=2048, threads=2)\n"
        "session = engine.session()\nsession.prefill([5, 6, 7])\n"
        "try:\n    print('working', flush=True)\n"
        "    list(session.generate([5, 6, *range(8, 1900)], max_new_tokens=1))\n"
        "except KeyboardInterrupt:\n    print(session.tokens, session.finish)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "KVQ_ISA": "scalar"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    # It may come just before the work begins.
    assert out in ("[5, 6] cancelled\n", "[5, 6, 7] None\n")


def test_closed(tiny_path: Path) -> None:
    engine = Engine.load(tiny_path, backend="native", n_ctx=32)
    session = engine.session()
    session.prefill([5])
    engine.close()
    engine.close()
    uses: list[Callable[[], object]] = [
        session.snapshot, engine.session, lambda: session.restore(b""),
        lambda: session.prefill([6]),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(BackendError, match="closed"):
            use()


def test_more_threads_than_cores(tiny_path: Path) -> None:
    texts = []
    for threads in (1, 2, 16, 256):
        with Engine.load(tiny_path, backend="native", n_ctx=128, threads=threads) as engine:
            texts.append(chosen(engine.session(), ids(40), 12))
    assert all(text == texts[0] for text in texts)
