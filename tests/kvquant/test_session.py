"""One cache over many prompts: reuse, limits, stopping and cancelling."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import Engine, Sampling, Session, Token
from kvquant.errors import BackendError, ContextError, SettingError
from kvquant.gguf import ModelFile
from tests.kvquant.scripted import scripted_engine
from tests.kvquant.tiny_model import write_tiny

# The random model would stop at any token; the tests of length want it to go on.
ON = {"stop_tokens": ()}


def ids(n: int, seed: int = 1) -> list[int]:
    return [int(i) for i in np.random.default_rng(seed).integers(4, 260, n)]


def greedy(session: Session, prompt: list[int], n: int = 12) -> list[int]:
    return [t.id for t in session.generate(prompt, max_new_tokens=n, **ON)]


def test_reused_prefix_gives_the_same_as_a_cold_start(tiny: Engine) -> None:
    first, second = ids(150, 1), ids(40, 2)
    prompts = [first, first + second, first[:80] + second, first[:80], second, first + second]
    warm = tiny.session()
    for prompt in prompts:
        assert greedy(warm, prompt) == greedy(tiny.session(), prompt)


def test_prefill_computes_only_what_is_new(session: Session) -> None:
    prompt = ids(150)
    assert session.prefill(prompt) == 150
    assert session.prefill(prompt) == 0
    assert session.prefill(prompt + ids(5, 2)) == 5
    assert session.prefill(prompt[:100]) == 1
    assert session.prefill(prompt[:60] + ids(10, 3)) == 10
    assert session.tokens == prompt[:60] + ids(10, 3)


def test_logits_after_every_way_to_a_prefix(tiny: Engine) -> None:
    prompt = ids(70)
    cold = tiny.session()
    cold.prefill(prompt)
    longer = tiny.session()
    longer.prefill(prompt + ids(30, 2))
    longer.truncate(70)
    shorter = tiny.session()
    shorter.prefill(prompt[:50])
    shorter.prefill(prompt)
    assert np.allclose(longer.logits(), cold.logits(), atol=1e-4)
    assert np.allclose(shorter.logits(), cold.logits(), atol=1e-4)
    assert cold.logits().dtype == np.float32
    assert cold.logits().shape == (tiny.info.n_vocab,)


def test_logits_are_a_copy(session: Session) -> None:
    session.prefill(ids(4))
    session.logits()[:] = 0
    assert session.logits().any()


def test_truncate(session: Session) -> None:
    session.prefill(ids(20))
    session.truncate(30)
    assert len(session.tokens) == 20
    session.truncate(0)
    assert session.tokens == []
    assert session.kv_bytes == 0
    with pytest.raises(ContextError):
        session.logits()
    with pytest.raises(SettingError):
        session.truncate(-1)


def test_several_sessions_do_not_mix(tiny: Engine) -> None:
    alone = [greedy(tiny.session(), ids(30, seed)) for seed in (1, 2)]
    sessions = [tiny.session(), tiny.session()]
    runs = [s.generate(ids(30, seed), max_new_tokens=12, **ON)
            for s, seed in zip(sessions, (1, 2), strict=True)]  # fmt: skip
    mixed = list(zip(*runs, strict=True))
    assert [[t.id for t in run] for run in zip(*mixed, strict=True)] == alone


@pytest.mark.parametrize("over", [1, 2, 512 * 9])
def test_prompt_longer_than_the_context(session: Session, over: int) -> None:
    with pytest.raises(ContextError, match="context holds 512"):
        session.generate(ids(512 + over), max_new_tokens=5)
    assert session.tokens == []


def test_context_almost_full_and_full(session: Session) -> None:
    assert len(greedy(session, ids(511), 5)) == 2
    assert session.finish == "context"
    assert len(session.tokens) == 512
    assert len(greedy(session, ids(512), 5)) == 1
    assert session.finish == "context"
    assert len(greedy(session, ids(500), 5)) == 5
    assert session.finish == "length"


def test_empty_and_wrong_prompts(session: Session) -> None:
    with pytest.raises(ContextError, match="empty"):
        session.generate([], max_new_tokens=5)
    wrong: list[Any] = [[-1], [10**6], [2**70], [1.5], ["a"], [[1, 2]]]
    for prompt in wrong:
        with pytest.raises(SettingError):
            session.prefill(prompt)
    for n in (-1, 1.5, None):
        with pytest.raises(SettingError, match="max_new_tokens"):
            session.generate([5], max_new_tokens=n)  # type: ignore[arg-type]


def test_only_control_tokens(session: Session) -> None:
    assert len(greedy(session, [1, 2, 0, 1], 3)) == 3


def test_no_new_tokens(session: Session) -> None:
    assert list(session.generate(ids(5), max_new_tokens=0)) == []
    assert session.tokens == ids(5)
    assert session.finish == "length"


def test_stop_tokens_end_the_text_and_are_not_in_it(session: Session) -> None:
    free = greedy(session, ids(20), 12)
    stop = free[5]
    cut = list(session.generate(ids(20), max_new_tokens=12, stop_tokens=[stop]))
    assert [t.id for t in cut] == free[: free.index(stop)]
    assert session.finish == "stop"


def test_default_stops_are_the_models(tiny: Engine) -> None:
    assert tiny.info.stop_ids == (2, 0)
    only_end = np.zeros(tiny.info.n_vocab, bool)
    only_end[2] = True
    session = tiny.session()
    assert list(session.generate(ids(5), max_new_tokens=9, allowed=only_end)) == []
    assert session.finish == "stop"


def saying(tiny_path: Path, text: str) -> Engine:
    """An engine that answers with this text and ends its turn."""
    engine, script = scripted_engine(tiny_path)
    script.say(engine.tokenizer.encode(text))
    return engine


def said(engine: Engine, **options: Any) -> list[Token]:
    return list(engine.session().generate([5], **{"max_new_tokens": 60, **options}))


def test_characters_come_out_whole(tiny_path: Path) -> None:
    text = "né 🙂日本 e\u0301!"
    tokens = said(saying(tiny_path, text))
    assert "".join(t.text for t in tokens) == text
    assert len(tokens) > len(text)
    assert all("\ufffd" not in t.text for t in tokens)


def test_a_character_that_is_unfinished_at_the_end_does_not_come_out(tiny_path: Path) -> None:
    tokens = said(saying(tiny_path, "a日"), max_new_tokens=2)
    assert "".join(t.text for t in tokens) == "a"


def test_stop_texts(tiny_path: Path) -> None:
    engine = saying(tiny_path, "yes\nUser: no")
    session = engine.session()
    text = [t.text for t in session.generate([5], max_new_tokens=60, stop_texts=["\nUser:"])]
    assert "".join(text) == "yes"
    assert session.finish == "stop_text"


def test_held_back_text_is_not_lost(tiny_path: Path) -> None:
    stops = {"stop_texts": ["\nUser:"]}
    ended = said(saying(tiny_path, "yes\nUs"), **stops)
    assert "".join(t.text for t in ended) == "yes\nUs"
    cut = said(saying(tiny_path, "yes\nUser: no"), **stops, max_new_tokens=6)
    assert "".join(t.text for t in cut) == "yes\nUs"


def test_cancel_before_during_and_by_leaving(tiny: Engine) -> None:
    session, cancel = tiny.session(), threading.Event()
    run = session.generate(ids(20), max_new_tokens=50, cancel=cancel, **ON)
    next(run)
    cancel.set()
    assert list(run) == []
    assert session.finish == "cancelled"
    assert session.prefill(ids(300), cancel) == 0
    assert greedy(session, ids(20)) == greedy(tiny.session(), ids(20))
    left = session.generate(ids(20), max_new_tokens=50, **ON)
    next(left)
    left.close()
    assert session.finish == "cancelled"
    assert greedy(session, ids(21)) == greedy(tiny.session(), ids(21))


def test_an_overtaken_text_does_not_go_on_over_the_other_ones_tokens(session: Session) -> None:
    older = session.generate(ids(20), max_new_tokens=9, **ON)
    next(older)
    assert len(greedy(session, ids(30, 2), 4)) == 4
    with pytest.raises(SettingError, match="Another text was begun"):
        next(older)
    assert session.finish == "length"
    third = session.generate(ids(20), max_new_tokens=9, **ON)
    next(third)
    greedy(session, ids(30, 2), 4)
    del third
    assert session.finish == "length"


def test_cancel_between_the_chunks_of_a_prompt(tiny: Engine) -> None:
    class AfterTwo(threading.Event):
        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            return self.looks > 2

    session = tiny.session()
    assert session.prefill(ids(400), AfterTwo()) == 256
    assert session.tokens == ids(400)[:256]
    assert session.prefill(ids(400)) == 144


def test_interrupt_in_mid_computation_leaves_a_right_cache(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tiny.session()
    session.prefill(ids(40))
    whole = cache_of(session).forward
    monkeypatch.setattr(cache_of(session), "forward", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.prefill(ids(20) + ids(30, 2))
    monkeypatch.setattr(cache_of(session), "forward", whole)
    assert session.tokens == ids(20)
    assert greedy(session, ids(40)) == greedy(tiny.session(), ids(40))


def cache_of(session: Session) -> Any:
    """The reference's cache below a session."""
    return session.steps._cache  # type: ignore[attr-defined]


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_failing_backend(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no more memory")

    monkeypatch.setattr(cache_of(session), "forward", fails)
    with pytest.raises(BackendError, match="no more memory"):
        session.prefill(ids(3))


def test_damaged_weights_are_noticed(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "bad.gguf")
    info = ModelFile.open(path).tensors["blk.1.ffn_up.weight"]
    raw = bytearray(path.read_bytes())
    raw[info.offset : info.offset + 4] = b"\x00\x00\xc0\x7f"
    path.write_bytes(raw)
    with Engine.load(path, backend="reference", n_ctx=64, threads=1) as engine:
        run = engine.session().generate(ids(4), max_new_tokens=3)
        with pytest.raises(BackendError, match="no usable numbers"):
            next(run)


def test_same_seed_same_text(tiny: Engine) -> None:
    def run(seed: int) -> list[int]:
        sampling = Sampling(temperature=1.0, seed=seed)
        run = tiny.session().generate(ids(9), max_new_tokens=30, sampling=sampling, **ON)
        return [t.id for t in run]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_repetition_penalty_looks_at_the_new_text_only(tiny: Engine) -> None:
    prompt = ids(30)
    first = greedy(tiny.session(), prompt, 1)[0]
    strong = Sampling(repetition_penalty=1e6, repetition_window=64)
    for before in (prompt, [first, *prompt[1:]]):
        plain = greedy(tiny.session(), before, 1)
        run = tiny.session().generate(before, max_new_tokens=8, sampling=strong, **ON)
        new = [t.id for t in run]
        assert new[:1] == plain
        assert len(set(new)) == len(new)


def test_memory_of_the_cache(tiny: Engine, session: Session) -> None:
    session.prefill(ids(10))
    i = tiny.info
    assert (
        session.kv_bytes
        == session.kv_bytes_fp16
        == (10 * 2 * i.n_layer * i.n_kv_head * i.head_dim * 2)
    )


def test_closed(tiny_path: Path) -> None:
    engine = Engine.load(tiny_path, backend="reference", n_ctx=64, threads=1)
    session = engine.session()
    session.prefill(ids(5))
    engine.close()
    engine.close()
    for use in (engine.session, lambda: session.prefill([5]), lambda: session.truncate(1)):
        with pytest.raises(BackendError, match="closed"):
            use()
