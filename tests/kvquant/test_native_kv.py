"""Quantized caches of the compiled engine, through the engine's Python face."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kvquant import Engine, Sampling, Session, reference
from kvquant.errors import BackendError, ControllerFileError, SettingError, SnapshotError
from kvquant.kv_settings import KV_KINDS, body_bits, class_bits
from tests.kvquant.test_native import divergence
from tests.kvquant.tiny_controller import write_controller, write_features
from tests.kvquant.tiny_model import write_tiny, write_wide

pytest.importorskip("kvquant._native", reason="the native engine is not built")

BETTER_KINDS = ("static8", "static4")


def ids(n: int, seed: int = 3) -> list[int]:
    return [int(i) for i in np.random.default_rng(seed).integers(4, 260, n)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that quantized caches accept, with its controller and token features."""
    folder = tmp_path_factory.mktemp("kv")
    path = write_wide(folder / "wide.gguf")
    write_controller(folder / "ctrl-wide.bin", path)
    write_features(folder / "features-wide.bin", path)
    return path


def controller(wide: Path) -> Path:
    return wide.with_name("ctrl-wide.bin")


@pytest.fixture(scope="module")
def engine(wide: Path) -> Iterator[Engine]:
    with Engine.load(
        wide, backend="native", n_ctx=400, kv="adaptive", controller=controller(wide), budget_bits=4
    ) as engine:
        yield engine


def logits_of(session: Session, tokens: list[int]) -> NDArray[np.float32]:
    session.prefill(tokens)
    return session.logits()[None]


@pytest.mark.parametrize("kind", KV_KINDS)
def test_every_kind_generates(wide: Path, kind: str) -> None:
    path = controller(wide) if kind == "adaptive" else None
    with Engine.load(wide, backend="native", n_ctx=300, kv=kind, controller=path) as engine:
        session = engine.session()
        out = list(session.generate(ids(150), max_new_tokens=40, stop_tokens=()))
        # The last token is chosen and not computed.
        assert (len(out), session.finish, session.held) == (40, "length", 189)
        assert session.bits_mean == pytest.approx(16 * session.kv_bytes / session.kv_bytes_fp16)
        assert (session.bits_mean == 16) == (kind == "fp16")
        assert session.page_bytes >= session.kv_bytes > 0
        assert 0 <= session.fragmentation < 1
        classes = session.classes()
        quantized = 0 if kind == "fp16" else 189 - 32 - 4
        assert classes.shape == (quantized, 2, engine.info.n_kv_head)
        assert session.class_tokens == np.bincount(classes.ravel(), minlength=16).tolist()
        assert session.judged[1] == (quantized if kind == "adaptive" else 0)


@pytest.mark.parametrize("kind", BETTER_KINDS)
def test_more_bits_are_closer_to_halves(wide: Path, kind: str) -> None:
    tokens = ids(250)
    with (
        Engine.load(wide, backend="native", n_ctx=300) as halves,
        Engine.load(wide, backend="native", n_ctx=300, kv=kind) as codes,
    ):
        wanted = logits_of(halves.session(), tokens)
        assert (
            divergence(wanted, logits_of(codes.session(), tokens))[0]
            < {
                "static8": 1e-3,
                "static4": 0.1,
            }[kind]
        )


def test_a_fork_goes_its_own_way(engine: Engine) -> None:
    session = engine.session()
    session.prefill(ids(200))
    fork = session.fork()
    assert fork.tokens == session.tokens
    a, b = ids(60, seed=5), ids(60, seed=6)
    plain = engine.session()
    plain.prefill(ids(200))
    for token in a:
        session.prefill([*session.tokens, token])
    for token in b:
        fork.prefill([*fork.tokens, token])
        plain.prefill([*plain.tokens, token])
    assert np.array_equal(fork.logits(), plain.logits())
    assert not np.array_equal(fork.logits(), session.logits())
    assert np.array_equal(fork.classes(), plain.classes())


def test_snapshots_are_for_the_same_cache_only(engine: Engine, wide: Path) -> None:
    session, other = engine.session(), engine.session()
    session.prefill(ids(150))
    data = session.snapshot()
    assert other.restore(data) == session.tokens
    more = [*ids(150), *ids(40, seed=7)]
    assert np.array_equal(logits_of(session, more), logits_of(other, more))
    with Engine.load(wide, backend="native", n_ctx=400, kv="static4") as static:
        target = static.session()
        target.prefill(ids(30))
        for wrong in (data, data[:-1], data[:40], bytes(len(data))):
            with pytest.raises(SnapshotError):
                target.restore(wrong)
        assert target.tokens == ids(30)


def test_snapshots_of_the_other_kind_of_cache_are_named(engine: Engine, wide: Path) -> None:
    quantized = engine.session()
    quantized.prefill(ids(30))
    with Engine.load(wide, backend="native", n_ctx=400) as halves:
        plain = halves.session()
        plain.prefill(ids(30))
        with pytest.raises(SnapshotError, match="of a quantized cache"):
            plain.restore(quantized.snapshot())
        with pytest.raises(SnapshotError, match="of a cache in 16 bits"):
            quantized.restore(plain.snapshot())
        assert plain.tokens == quantized.tokens == ids(30)


def test_going_back_and_a_new_end(engine: Engine) -> None:
    session = engine.session()
    tokens = ids(200)
    session.prefill(tokens)
    session.truncate(180)
    assert session.held == 180
    session.prefill([*tokens[:90], *ids(50, seed=8)])
    assert session.held == 140
    assert np.isfinite(session.logits()).all()


def test_a_cancelled_prompt_keeps_what_was_done(engine: Engine) -> None:
    session = engine.session()
    session.prefill(ids(100))
    cancel = threading.Event()
    cancel.set()
    assert session.prefill(ids(300), cancel) == 0
    assert session.held == 100


def test_requantize_makes_it_smaller(engine: Engine) -> None:
    session = engine.session()
    session.prefill(ids(250))
    before, classes = session.kv_bytes, session.classes()
    with pytest.raises(SettingError):
        session.requantize(-1)
    session.requantize(1)
    assert session.kv_bytes < before
    lower = session.classes()
    assert np.array_equal(lower & 3, np.maximum(classes & 3, 1) - 1)
    assert np.array_equal(lower >> 2, np.maximum(classes >> 2, 1) - 1)
    assert np.isfinite(session.logits()).all()
    session.requantize(3)
    assert not session.classes().any()


def test_a_full_context_slides_where_it_may(wide: Path) -> None:
    with Engine.load(wide, backend="native", n_ctx=100, kv="static4", slide=True) as engine:
        session = engine.session()
        out = list(session.generate(ids(90), max_new_tokens=150, stop_tokens=()))
        assert (len(out), session.finish) == (150, "length")
        assert session.held <= 100
        assert session.tokens[:4] == ids(90)[:4]
        assert session.tokens[-1] == out[-2].id
        with pytest.raises(SettingError):
            session.slide(session.held)
    with Engine.load(wide, backend="native", n_ctx=100, kv="static4") as engine:
        session = engine.session()
        assert len(list(session.generate(ids(90), max_new_tokens=150, stop_tokens=()))) < 20
        assert session.finish == "context"
    with pytest.raises(SettingError, match="slide"):
        Engine.load(wide, backend="native", n_ctx=100, slide=True)


def test_a_batch_gives_each_text_what_it_gets_alone(engine: Engine) -> None:
    prompts = [ids(20 + 40 * i, seed=i) for i in range(4)]
    alone = []
    for prompt in prompts:
        session = engine.session()
        alone.append([t.id for t in session.generate(prompt, max_new_tokens=12, stop_tokens=())])
    together: list[list[int]] = [[] for _ in prompts]
    for i, token in engine.generate_batch(prompts, max_new_tokens=12, stop_tokens=()):
        together[i].append(token.id)
    same = sum(a == b for a, b in zip(alone, together, strict=True))
    # Sums over a batch are rounded otherwise, which may turn a close choice of a random model.
    assert same >= 3


def test_a_seed_gives_the_same_text(engine: Engine) -> None:
    def text() -> list[int]:
        session = engine.session()
        sampling = Sampling(temperature=1.0, seed=4)
        found = session.generate(ids(80), max_new_tokens=30, sampling=sampling, stop_tokens=())
        return [t.id for t in found]

    assert text() == text()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"kv": "static4", "window": 1}, "window"),
        ({"kv": "static4", "window": 400, "sinks": 200}, "at most"),
        ({"kv": "static4", "sinks": -1}, "sinks"),
        ({"kv": "adaptive", "budget_bits": float("nan")}, "budget_bits"),
        ({"kv": "adaptive", "budget_bits": 1.5}, "out of reach"),
        ({"kv": "adaptive", "policy": "best"}, "no policy 'best'"),
        ({"kv": "adaptive", "features": "guess"}, "table or exact"),
    ],
)
def test_settings_that_cannot_be(wide: Path, options: dict[str, object], word: str) -> None:
    with pytest.raises(SettingError, match=word):
        Engine.load(wide, backend="native", n_ctx=64, controller=controller(wide), **options)  # type: ignore[arg-type]


def test_files_and_models_that_do_not_fit(wide: Path, tiny_path: Path, tmp_path: Path) -> None:
    for backend in ("native", "reference"):
        with pytest.raises(SettingError, match="multiple of 32"):
            Engine.load(tiny_path, backend=backend, n_ctx=64, kv="static4")  # type: ignore[arg-type]
    other = write_tiny(tmp_path / "other.gguf", seed=9)
    foreign = write_controller(tmp_path / "ctrl-other.bin", other)
    with pytest.raises(ControllerFileError):
        Engine.load(wide, backend="native", n_ctx=64, kv="adaptive", controller=foreign)
    with pytest.raises(ControllerFileError, match="no controller file"):
        Engine.load(wide, backend="native", n_ctx=64, kv="adaptive", controller=tmp_path / "none")


def test_the_budget_of_the_body() -> None:
    ladder = (2, 3, 4, 8)
    assert class_bits(ladder, 0, 64) == pytest.approx(2 + 0.125 + 4 / 128)
    assert class_bits(ladder, 15, 64) == pytest.approx(8 + 0.25 + 4 / 128)
    assert class_bits((2, 4, 8, 16), 15, 64) == pytest.approx(16 + 4 / 128)
    body = body_bits(3.5, ladder, 64, 32, 4, 2048)
    assert (body * (2048 - 36) + 16 * 36) / 2048 == pytest.approx(3.5)
    assert body_bits(3.5, ladder, 64, 32, 4, 8192) == body
    assert body_bits(3.5, ladder, 64, 32, 4, 40) == pytest.approx(class_bits(ladder, 0, 64))
    assert body_bits(3.5, ladder, 64, 32, 4, 30) == 16


def test_hidden_states_lead_to_the_reference_logits(wide: Path) -> None:
    tokens = ids(100)
    with Engine.load(wide, backend="native", n_ctx=300, kv="static4") as engine:
        states = engine.hidden_states(tokens, [0, 1, 2])
        early = engine.hidden_states(tokens, [1], stop_after=1)
        with pytest.raises(SettingError):
            engine.hidden_states(tokens, [3])
        with pytest.raises(SettingError):
            engine.hidden_states(tokens, [2], stop_after=1)
    assert states.shape == (3, 100, engine.info.n_embd)
    assert np.array_equal(early[0], states[1])
    model = reference.load(str(wide), threads=1, kv="fp32")
    assert np.allclose(states[0], model.embedding[tokens], atol=1e-3)
    for depth in (2, 1):
        # Fewer layers give the logits of the state after them.
        model.layers = model.layers[:depth]
        wanted = model.cache(300).forward(np.array(tokens, np.int32), 0, 100)
        x = states[depth]
        x = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * model.output_norm
        assert np.abs(x @ model.head.T - wanted).max() < 0.1
    with (
        Engine.load(wide, backend="reference", n_ctx=300) as engine,
        pytest.raises(BackendError),
    ):
        engine.hidden_states(tokens, [1])


FACT = "The code of the garden gate is 4817."


@pytest.mark.parametrize(("kind", "limit"), [("static8", 1e-3), ("static4", 0.02)])
def test_the_real_model_keeps_its_mind(model_path: Path, kind: str, limit: float) -> None:
    """A fact from far back is found, and the predictions stay close to those of halves."""
    license_text = (Path(__file__).parents[2] / "LICENSE").read_text()
    with (
        Engine.load(model_path, backend="native", n_ctx=700) as halves,
        Engine.load(model_path, backend="native", n_ctx=700, kv=kind) as codes,
    ):
        start = halves.tokenizer.encode(f"Remember this. {FACT}\n\n{license_text}")[:300]
        tokens = [*start, *halves.tokenizer.encode("\n\nThe code of the garden gate is ")]
        both = []
        for engine in (halves, codes):
            session = engine.session()
            rows = [
                session.append_rows(tokens[at : at + 50]) for at in range(0, len(tokens) - 1, 50)
            ]
            both.append(np.concatenate(rows))
            found = session.generate(tokens, max_new_tokens=5, stop_tokens=())
            assert "4817" in "".join(t.text for t in found)
        assert divergence(both[0], both[1]).mean() < limit


def before_rope(wide: Path, kind: str = "static8", **more: Any) -> Engine:
    return Engine.load(
        wide, backend="native", n_ctx=300, kv=kind, controller=controller(wide),
        key_layout="pre_rope", **more,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["static8", "static4", "adaptive"])
def test_keys_from_before_rope_answer_as_the_reference_does(wide: Path, kind: str) -> None:
    tokens = ids(200)
    with (
        before_rope(wide, kind, budget_bits=5) as engine,
        Engine.load(
            wide, backend="reference", n_ctx=300, kv=kind, controller=controller(wide),
            key_layout="pre_rope", budget_bits=5,
        ) as plain,
    ):  # fmt: skip
        native, other = engine.session(), plain.session()
        assert divergence(logits_of(native, tokens), logits_of(other, tokens)) < 0.02


def test_keys_from_before_rope_are_cut_forked_moved_and_kept(wide: Path) -> None:
    with before_rope(wide, slide=True) as engine:
        tokens = ids(250)
        session, other = engine.session(), engine.session()
        session.prefill(tokens[:180])
        copy = session.fork()
        restored = engine.session()
        restored.restore(session.snapshot())
        for one in (session, copy, restored):
            one.prefill(tokens)
        assert session.logits().tolist() == copy.logits().tolist() == restored.logits().tolist()
        session.prefill([*tokens[:100], 7, 8])
        other.prefill([*tokens[:100], 7, 8])
        assert divergence(session.logits()[None], other.logits()[None]) < 0.01
        # Longer than the context: the oldest go, and it goes on.
        text = list(copy.generate(tokens, max_new_tokens=120, sampling=Sampling(seed=1),
                                  stop_tokens=()))  # fmt: skip
        assert len(text) == 120


def test_a_snapshot_of_the_other_layout_is_named(wide: Path) -> None:
    with (
        before_rope(wide) as engine,
        Engine.load(wide, backend="native", n_ctx=300, kv="static8",
                    controller=controller(wide)) as usual,
    ):  # fmt: skip
        one, other = engine.session(), usual.session()
        one.prefill(ids(100))
        other.prefill(ids(100))
        with pytest.raises(
            SnapshotError, match=r"before their rotation \(pre_rope\), this one after it"
        ):
            other.restore(one.snapshot())
        with pytest.raises(
            SnapshotError, match=r"after their rotation \(rotated\), this one before it"
        ):
            one.restore(other.snapshot())


@pytest.mark.parametrize(
    ("kind", "layout", "words"),
    [
        ("static4", "sideways", "one of rotated, pre_rope, not 'sideways'"),
        ("static4", None, "one of rotated, pre_rope, not None"),
        ("fp16", "pre_rope", "fp16 stores its keys rotated"),
    ],
)
def test_layouts_that_cannot_be(wide: Path, kind: str, layout: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        Engine.load(wide, backend="native", kv=kind, key_layout=layout)
