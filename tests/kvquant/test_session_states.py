"""States of a text behind what a session holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kvquant import Engine
from kvquant.errors import BackendError, ContextError, SettingError
from tests.kvquant.tiny_controller import write_controller, write_features
from tests.kvquant.tiny_model import write_wide

pytest.importorskip("kvquant._native", reason="the native engine is not built")


def ids(n: int, seed: int = 3) -> list[int]:
    return [int(i) for i in np.random.default_rng(seed).integers(4, 260, n)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("states")
    path = write_wide(folder / "wide.gguf")
    write_controller(folder / "ctrl-wide.bin", path)
    write_features(folder / "features-wide.bin", path)
    return path


@pytest.mark.parametrize("kv", ["fp16", "static4"])
def test_a_session_gives_the_states_behind_what_it_holds(wide: Path, kv: str) -> None:
    prompt, text = ids(40), ids(60)[40:]
    with Engine.load(wide, backend="native", n_ctx=80, kv=kv) as engine:
        session = engine.session()
        session.prefill(prompt)
        looked = session.states(text, [0, 1, 2], keep=False)
        assert session.tokens == prompt
        assert np.array_equal(session.states(text, [0, 1, 2], keep=False), looked)
        assert np.array_equal(session.states(text, [1], keep=False)[0], looked[1])
        kept = session.states(text, [0, 1, 2])
        assert session.tokens == [*prompt, *text]
        assert np.array_equal(kept, looked)
        if kv == "fp16":
            # A quantized cache has rounded what the last token, computed again, looks at.
            talked = list(session.generate(session.tokens, max_new_tokens=3))
            again = engine.session()
            wanted = list(again.generate([*prompt, *text], max_new_tokens=3))
            assert [t.id for t in talked] == [t.id for t in wanted]
        whole = engine.hidden_states([*prompt, *text], [2])[0, 40:]
        assert np.abs(kept[2] - whole).max() < (0.05 if kv == "fp16" else 1.0)
        for wrong in ([], [3], [-1]):
            with pytest.raises(SettingError):
                session.states(text[:2], wrong)
        with pytest.raises(ContextError):
            session.states(ids(40), [1])
    with Engine.load(wide, backend="reference", n_ctx=80) as engine:
        session = engine.session()
        session.prefill(prompt)
        with pytest.raises(BackendError):
            session.states(text, [1])
