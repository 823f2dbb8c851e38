"""What controller and token feature files may say, and what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvquant import bundle
from kvquant.controller_file import ControllerFile, FeatureFile
from kvquant.errors import ControllerFileError, SettingError
from tests.kvquant.tiny_controller import (
    linear,
    tiny_arrays,
    tiny_header,
    write_controller,
    write_features,
)


@dataclass
class Shape:
    n_layer: int = 2
    n_kv_head: int = 2
    head_dim: int = 32
    n_vocab: int = 50


def made(arrays: dict[str, Any] | None = None, **header: Any) -> ControllerFile:
    all_arrays = tiny_arrays(2, 2, 32) | (arrays or {})
    kept = {name: values for name, values in all_arrays.items() if values is not None}
    data = bundle.pack(bundle.CONTROLLER, tiny_header(5, **header), kept)
    return ControllerFile.from_bundle(bundle.parse(data, bundle.CONTROLLER, "c.bin", 5), Shape())


def test_all_of_it_is_there() -> None:
    file = made()
    assert file.ladder == (2, 3, 4, 8)
    assert (file.window, file.sinks, file.fingerprint) == (32, 4, 5)
    assert file.thresholds == (-2.0, 0.0, 2.5)
    assert file.policy("adaptive").mlp == "mlp"
    assert file.policy("random").noise == 3.0
    assert file.policy("rule").weights[0] == 1.4
    assert file.policy("article").per_token
    assert file.policy("static_table").budget[1] == (3.0, -1.0)
    assert np.array_equal(file.arrays["mlp.w1"].numpy(), tiny_arrays(2, 2, 32)["mlp.w1"])


def test_from_files(tiny_path: Path, tmp_path: Path) -> None:
    controller = ControllerFile.open(write_controller(tmp_path / "c", tiny_path))
    features = FeatureFile.open(write_features(tmp_path / "f", tiny_path))
    assert controller.fingerprint == features.fingerprint
    assert features.rarity.numpy().dtype == np.float16
    assert (features.count, features.observed) == (1000, 200)
    with pytest.raises(ControllerFileError, match="another model"):
        ControllerFile.open(tmp_path / "c", fingerprint=controller.fingerprint ^ 1)
    with pytest.raises(ControllerFileError, match="token feature file"):
        ControllerFile.open(tmp_path / "f")
    with pytest.raises(ControllerFileError, match="rarity"):
        FeatureFile.open(tmp_path / "f", shape=Shape())


def test_no_such_policy() -> None:
    with pytest.raises(SettingError, match="adaptive, rule, static_table"):
        made().policy("best")


@pytest.mark.parametrize("ladder", [
    None, 4, [2, 4, 8], [2, 4, 8, 16, 16], [4, 3, 2, 8], [2, 2, 4, 8], [2, 5, 8, 16],
    [2.0, 3, 4, 8], [True, 3, 4, 8], ["2", 3, 4, 8], [0, 2, 4, 8], [2, 4, 8, 32],
])  # fmt: skip
def test_ladders(ladder: Any) -> None:
    with pytest.raises(ControllerFileError, match="ladder"):
        made(ladder=ladder)


@pytest.mark.parametrize(("key", "value"), [
    ("window", 0), ("window", 1), ("window", 2**40), ("window", 32.0), ("window", None),
    ("sinks", -1), ("sinks", True), ("sinks", 5000),
    ("thresholds", [1.0, 0.0, 2.0]), ("thresholds", [0.0, 1.0]), ("thresholds", "012"),
    ("thresholds", [0.0, 1.0, None]), ("thresholds", [0.0, 1.0, 10**400]),
    ("policies", {}), ("policies", []), ("made_by", "me"),
    ("policies", {str(i): linear() for i in range(65)}),
])  # fmt: skip
def test_headers(key: str, value: Any) -> None:
    with pytest.raises(ControllerFileError, match=key if key != "policies" else "polic"):
        made(**{key: value})


@pytest.mark.parametrize("change", [
    {"kind": "magic"}, {"kind": None}, {"kind": "mlp"}, {"kind": "linear", "mlp": "mlp"},
    {"kind": "mlp", "mlp": "absent"}, {"weights": [0.0] * 12}, {"weights": None},
    {"weights": ["a"] * 13}, {"use_static": 1}, {"per_token": None}, {"noise": None},
    {"budget": []}, {"budget": None}, {"budget": [[3.0]]}, {"budget": [[3.0, 0.0], [3.0, 1.0]]},
    {"budget": [[4.0, 0.0], [3.0, 1.0]]}, {"budget": [3.0, 4.0]},
])  # fmt: skip
def test_policies(change: dict[str, Any]) -> None:
    with pytest.raises(ControllerFileError):
        made(policies={"rule": linear(**change)})
    with pytest.raises(ControllerFileError):
        made(policies={"rule": 3})
    with pytest.raises(ControllerFileError, match="letters"):
        made(policies={"r" * 61: linear()})


PLACES: list[tuple[str, ...]] = [
    ("ladder",), ("window",), ("sinks",), ("thresholds",), ("policies",), ("made_by",),
    ("policies", "rule"), *[("policies", "adaptive", key) for key in linear()],
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=14) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=14,
)  # fmt: skip


@settings(deadline=None)
@given(st.sampled_from(PLACES), JSON)
def test_any_value_anywhere(place: tuple[str, ...], value: Any) -> None:
    """A controller is read or refused, whatever its header says."""
    header = json.loads(json.dumps(tiny_header(5)))
    target = header
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    try:
        file = made(**header)
    except ControllerFileError:
        return
    assert len(file.ladder) == 4
    assert all(len(policy.weights) == 13 for policy in file.policies.values())


@pytest.mark.parametrize(("name", "values"), [
    ("k_mean", None), ("v_mean", np.zeros((2, 2, 16), np.float32)),
    ("static", np.zeros((2, 2, 3), np.float32)), ("static", np.zeros((2, 2, 2), np.float16)),
    ("k_exponent", np.full((2, 2), 127, np.int8)), ("v_exponent", np.full((2, 2), -128, np.int8)),
    ("f_scale", np.full((2, 2, 13), np.nan, np.float32)),
    ("embedding", np.full((2, 2, 8), -np.inf, np.float32)),
    ("mlp.w1", np.zeros((128, 31), np.int8)), ("mlp.s2", None), ("article.b3", None),
])  # fmt: skip
def test_arrays(name: str, values: Any) -> None:
    with pytest.raises(ControllerFileError, match=name):
        made({name: values})


@pytest.mark.parametrize("change", [
    {"rarity": np.full(50, np.inf, np.float16)}, {"entropy": np.zeros(49, np.float16)},
    {"variance": np.full(50, np.nan, np.float16)}, {"rarity": np.zeros(50, np.float32)},
])  # fmt: skip
def test_token_features(change: dict[str, Any]) -> None:
    arrays = {name: np.ones(50, np.float16) for name in ("rarity", "entropy", "variance")}
    header = {"model": {"fingerprint": 5}, "N": 9, "V_obs": 3}

    def opened(header: dict[str, Any], arrays: dict[str, Any]) -> FeatureFile:
        data = bundle.pack(bundle.FEATURES, header, arrays)
        return FeatureFile.from_bundle(bundle.parse(data, bundle.FEATURES, "f.bin"), Shape())

    assert opened(header, arrays).observed == 3
    with pytest.raises(ControllerFileError):
        opened(header, arrays | change)
    with pytest.raises(ControllerFileError, match="V_obs"):
        opened(header | {"V_obs": 51}, arrays)
