"""Loading: what is refused, and what an engine says about its model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvquant import Engine, Sampling
from kvquant.errors import ModelFileError, SettingError
from tests.kvquant.tiny_model import write_tiny


def test_info(tiny: Engine) -> None:
    info = tiny.info
    assert (info.name, info.n_layer, info.n_embd, info.n_head, info.n_kv_head) == (
        "tiny", 2, 64, 4, 2,
    )  # fmt: skip
    assert (info.bos_id, info.eos_id, info.eot_id, info.n_ctx_train) == (1, 2, 2, 512)
    assert (info.backend, info.isa) == ("reference", "numpy")
    assert info.n_vocab == tiny.tokenizer.n_vocab


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"backend": "gpu"}, "none of auto, native, reference"),
        ({"n_ctx": 0}, "from 1 to 512"),
        ({"n_ctx": 513}, "from 1 to 512"),
        ({"n_ctx": 5.0}, "from 1 to 512"),
        ({"threads": 0}, "threads"),
        ({"threads": 10_000}, "threads"),
        ({"kv": "adaptive", "budget_bits": 17}, "budget_bits"),
        ({"kv": "nonsense"}, "not available"),
    ],
)
def test_wrong_settings(tiny_path: Path, options: dict[str, Any], word: str) -> None:
    with pytest.raises(SettingError, match=word) as caught:
        Engine.load(tiny_path, **options)
    assert caught.value.exit_code == 2


def test_wrong_files(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no model file"):
        Engine.load(tmp_path / "none.gguf")
    (tmp_path / "text.gguf").write_text("this is no model")
    with pytest.raises(ModelFileError, match=r"text\.gguf .*not a GGUF") as caught:
        Engine.load(tmp_path / "text.gguf")
    assert caught.value.hint
    for key, value in (("eos_token_id", 10**6), ("bos_token_id", "x"), ("eot_token_id", -1)):
        path = write_tiny(tmp_path / "m.gguf", **{f"tokenizer__ggml.{key}": value})
        with pytest.raises(ModelFileError, match=f"{key[:3]} token"):
            Engine.load(path, backend="reference", n_ctx=64)


def test_a_model_without_special_ids(tmp_path: Path) -> None:
    path = write_tiny(
        tmp_path / "m.gguf",
        general__name=None,
        **{"tokenizer__ggml.bos_token_id": None, "tokenizer__ggml.eos_token_id": None},
    )
    with Engine.load(path, backend="reference", n_ctx=32) as engine:
        info = engine.info
    assert (info.name, info.bos_id, info.eos_id, info.eot_id) == ("m", None, None, 2)
    assert info.stop_ids == (2, 0)


def test_two_engines_at_once(tiny: Engine, tmp_path: Path) -> None:
    def text(engine: Engine) -> list[int]:
        run = engine.session().generate([70, 71, 72], max_new_tokens=8, stop_tokens=())
        return [t.id for t in run]

    alone = text(tiny)
    with Engine.load(write_tiny(tmp_path / "b.gguf", seed=1), backend="reference", n_ctx=64) as b:
        other = text(b)
        assert text(tiny) == alone
    assert other != alone
    assert text(tiny) == alone


def test_text_mask(tiny: Engine) -> None:
    mask = tiny.text_mask()
    assert [i for i in range(tiny.info.n_vocab) if not mask[i]] == [1, 3]
    sampling = Sampling(temperature=50.0, seed=2)
    run = tiny.session().generate(
        [70], max_new_tokens=300, sampling=sampling, stop_tokens=(), allowed=mask
    )
    assert not {t.id for t in run} & {1, 3}


def test_the_shipped_model_answers(model_path: Path) -> None:
    with Engine.load(model_path, backend="reference", n_ctx=256, threads=1) as engine:
        assert engine.info.n_layer == 30
        prompt = engine.chat_prompt([("user", "What is the capital of France?")])
        session = engine.session()
        answer = "".join(t.text for t in session.generate(prompt, max_new_tokens=20))
    assert "Paris" in answer
    assert session.finish == "stop"
    assert np.isclose(session.kv_bytes / len(session.tokens), 2 * 30 * 3 * 64 * 2)
