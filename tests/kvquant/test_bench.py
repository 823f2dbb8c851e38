"""The benchmark command, with small programs in the place of llama.cpp's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kvquant.bench import parser, stages, turns
from kvquant.bench_cases import Case, Samples, Stage, gains, promising, ratios
from kvquant.bench_peer import SETTINGS, Peer, PeerSetting
from kvquant.cli import main
from kvquant.errors import BackendError, SettingError

pytest.importorskip("kvquant._native", reason="the native engine is not built")

ANSWER = """
import json, sys
a = sys.argv
value = lambda name: a[a.index(name) + 1]
if value("-ctk") == FAILING:
    print("ldtilecfg", file=sys.stderr)
    sys.exit(139)
ns = [4_800_000_000] * int(value("-r"))
prompts = [int(p) for p in value("-p").split(",") if p != "0"]
found = [{"n_prompt": p, "n_gen": 0, "samples_ns": ns} for p in prompts]
if value("-n") != "0":
    found.append({"n_prompt": 0, "n_gen": int(value("-n")), "samples_ns": ns})
with open(LOG, "a") as log:
    print(value("-ctk"), value("-fa"), value("-d"), file=log)
print(json.dumps(found))
"""


def peer_program(folder: Path, failing: str = "") -> Path:
    path = folder / "llama-bench"
    body = ANSWER.replace("FAILING", repr(failing)).replace("LOG", repr(str(folder / "calls")))
    path.write_text(f"#!{sys.executable}\n" + body)
    path.chmod(0o755)
    return path


def samples(engine: str, kv: str, case: Case, *seconds: float) -> Samples:
    return Samples(engine, kv, case, list(seconds))


def test_rows_are_medians_per_token() -> None:
    row = samples("smolllm", "fp16", Case(1024, batch=5), 0.004, 0.005, 0.9).row()
    assert row["decode_ms_per_token"] == 1.0
    assert row["prefill_tok_s"] is None
    row = samples("smolllm", "fp16", Case(0, prompt=100), 0.5).row()
    assert row["prefill_tok_s"] == 200.0
    assert row["decode_ms_per_token"] is None
    assert row["spread"] == 0.0


def test_the_controllers_time_is_per_judged_token() -> None:
    of = samples("smolllm", "adaptive", Case(64), 0.1)
    of.judging_ns, of.judged = 60_000, 3
    assert of.row()["controller_ms_per_token"] == 0.02
    assert samples("smolllm", "static4", Case(64), 0.1).row()["controller_ms_per_token"] is None


def test_the_peers_best_setting_counts() -> None:
    case, prompt = Case(0), Case(0, prompt=10)
    found = [
        samples("smolllm", "fp16", case, 0.002),
        samples("llama.cpp", "f16 fa=0", case, 0.01),
        samples("llama.cpp", "q8_0 fa=1", case, 0.006),
        samples("smolllm", "fp16", prompt, 1.0),
        samples("llama.cpp", "f16 fa=0", prompt, 2.0),
        samples("llama.cpp", "q8_0 fa=1", prompt, 4.0),
    ]
    assert ratios(found) == {"fp16 decode depth 0 batch 1": 3.0, "fp16 prefill 10": 2.0}
    assert ratios(found[:1]) == {}


def test_a_prompt_behind_a_depth_is_also_held_against_its_8_bit_cache() -> None:
    case = Case(4096, prompt=128)
    found = [
        samples("smolllm", "adaptive", case, 0.1),
        samples("llama.cpp", "f16 fa=1", case, 0.3),
        samples("llama.cpp", "q8_0 fa=1", case, 0.9),
    ]
    assert ratios(found) == {
        "adaptive prefill 128 depth 4096": 3.0,
        "adaptive prefill 128 depth 4096 against q8_0": 9.0,
    }


def test_our_kinds_are_held_against_our_halves() -> None:
    case = Case(4096)
    found = [samples("smolllm", "fp16", case, 0.006), samples("smolllm", "static4", case, 0.004),
             samples("llama.cpp", "f16 fa=1", case, 0.06)]  # fmt: skip
    assert gains(found, "fp16") == {"static4 decode depth 4096 batch 1": 1.5}
    assert gains(found[1:], "fp16") == {}


def test_what_was_far_off_is_not_tried_at_great_depth() -> None:
    names = ["a", "b", "c"]
    before = [
        samples("llama.cpp", name, case, seconds)
        for case, times in (
            (Case(0), (1.0, 1.0, 9.0)),
            (Case(1024), (1.0, 2.0, 1.4)),
            (Case(0, prompt=512), (4.0, 1.0, 4.0)),
        )
        for name, seconds in zip(names, times, strict=True)
    ]
    assert promising(names, Stage(1024, decode=True), before) == names
    # The deepest stage decides, each kind of case for itself.
    assert promising(names, Stage(4096, decode=True), before) == ["a", "c"]
    assert promising(names, Stage(4096, (128,), decode=True), before) == names
    assert promising(names, Stage(4096, (128,)), before) == ["b"]
    assert promising(names, Stage(4096, decode=True), before[3:6]) == ["a", "c"]
    assert promising(names, Stage(4096, decode=True), []) == names


def test_stages_share_the_tokens_of_a_depth() -> None:
    def found(*argv: str) -> list[Stage]:
        return stages(parser().parse_args(argv))

    assert found("--depths", "4096,0", "--batch_depths", "0,4096") == [
        Stage(0, (32, 128, 512), decode=True),
        Stage(0, decode=True, batch=4),
        Stage(4096, (128,), decode=True),
        Stage(4096, decode=True, batch=4),
    ]
    assert found("--depths", "64", "--batch", "1", "--prompts", "", "--prefill_depths", "") == [
        Stage(64, decode=True)
    ]
    with pytest.raises(SettingError, match="nothing"):
        found("--depths", "", "--prompts", "", "--prefill_depths", "", "--batch", "1")


def test_deep_turns_are_few() -> None:
    assert turns(0, 5) == (5, 1)
    assert turns(1024, 5) == (2, 2)
    assert turns(8000, 5) == (1, 5)


def test_a_peer_that_crashes_is_no_fast_peer(tmp_path: Path, tiny_path: Path) -> None:
    peer = Peer(str(peer_program(tmp_path, "q8_0")), str(tiny_path), 1)
    found = peer.run(PeerSetting("f16", True), Stage(16, (8,), decode=True), 2)
    assert found[Case(16)] == pytest.approx([0.2, 0.2])
    assert found[Case(16, prompt=8)] == pytest.approx([4.8, 4.8])
    with pytest.raises(BackendError, match=r"139.*ldtilecfg"):
        peer.run(PeerSetting("q8_0", True), Stage(0, decode=True), 1)
    # There is no program for batches beside it.
    assert peer.settings(Stage(0, decode=True, batch=4)) == []
    with pytest.raises(SettingError):
        Peer(str(tmp_path), str(tiny_path), 1)


def test_a_peer_that_measures_something_else_is_refused(tmp_path: Path, tiny_path: Path) -> None:
    program = tmp_path / "llama-bench"
    result = {"n_prompt": 7, "n_gen": 0, "samples_ns": [1]}
    program.write_text(f"#!{sys.executable}\nprint({json.dumps([result])!r})\n")
    program.chmod(0o755)
    with pytest.raises(BackendError, match="asked"):
        Peer(str(program), str(tiny_path), 1).run(SETTINGS[0], Stage(0, (8,)), 1)


def test_the_report_has_the_agreed_keys(
    tmp_path: Path, tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["bench", "--model", str(tiny_path), "--depths", "0,33", "--batch", "1,2",
               "--prompts", "5,6", "--prefill_depths", "33", "--rounds", "1", "--threads", "1",
               "--json"]  # fmt: skip
    assert main([*options, "--peer", str(peer_program(tmp_path))]) == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert {"machine", "isa", "threads", "rows", "ratios", "gains"} == set(report)
    assert "q8_0 fa=1, turn 1 of 1" in shown.err
    ours = [r for r in report["rows"] if r["engine"] == "smolllm"]
    assert [(r["depth"], r["batch"], r["prompt"]) for r in ours] == [
        (0, 1, 5), (0, 1, 6), (0, 1, 0), (0, 2, 0), (33, 1, 128), (33, 1, 0)
    ]  # fmt: skip
    assert ours[-1]["bits_mean"] == 16.0
    assert report["ratios"].keys() == {
        "fp16 prefill 5", "fp16 prefill 6", "fp16 decode depth 0 batch 1",
        "fp16 prefill 128 depth 33", "fp16 prefill 128 depth 33 against q8_0",
        "fp16 decode depth 33 batch 1",
    }  # fmt: skip
    assert all(value > 0 for value in report["ratios"].values())
    # One process for each setting and depth, whatever it measures there.
    calls = (tmp_path / "calls").read_text().splitlines()
    assert sorted(calls) == sorted(
        f"{s.kv} {int(s.flash)} {depth}" for s in SETTINGS for depth in (0, 33)
    )


@pytest.mark.parametrize(
    "wrong",
    [["--depths", "x"], ["--batch", "0"], ["--depths", "500"], ["--rounds", "0"],
     ["--kv", "fp16,static5"], ["--budget_bits", "3"], ["--peer", "/nowhere"]],
)  # fmt: skip
def test_wrong_use_is_one_line(
    tiny_path: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    fitting = ["--depths", "0", "--prefill_depths", "", "--prompts", "8"]
    assert main(["bench", "--model", str(tiny_path), *fitting, *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_interrupt(
    tiny_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kvquant.bench.Bench.measure", interrupted)
    options = ["--depths", "0", "--prefill_depths", "", "--prompts", "8"]
    assert main(["bench", "--model", str(tiny_path), *options]) == 130
    assert "Traceback" not in capsys.readouterr().err
