"""The benchmark command, with small programs in the place of llama.cpp's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kvquant.bench import Case, Samples, ratio
from kvquant.bench_peer import Peer, PeerSetting
from kvquant.cli import main
from kvquant.errors import BackendError, SettingError

pytest.importorskip("kvquant._native", reason="the native engine is not built")

ANSWER = """
import json, sys
a = sys.argv
n = int(a[a.index("-n") + 1])
p = int(a[a.index("-p") + 1])
if a[a.index("-ctk") + 1] == "q8_0":
    print("ldtilecfg", file=sys.stderr)
    sys.exit(CODE)
print(json.dumps([{"samples_ns": [4_800_000_000]}]))
"""


def peer_program(folder: Path, code: int) -> Path:
    path = folder / "llama-bench"
    path.write_text(f"#!{sys.executable}\n" + ANSWER.replace("CODE", str(code)))
    path.chmod(0o755)
    return path


def test_rows_are_medians_per_token() -> None:
    row = Samples("smolllm", "fp16", [0.004, 0.005, 0.9]).row(Case(1024, batch=5))
    assert row["decode_ms_per_token"] == 1.0
    assert row["prefill_tok_s"] is None
    row = Samples("smolllm", "fp16", [0.5]).row(Case(0, prompt=100))
    assert row["prefill_tok_s"] == 200.0
    assert row["decode_ms_per_token"] is None


def test_the_peers_best_setting_counts() -> None:
    case, prompt = Case(0), Case(0, prompt=10)
    measured = [("smolllm", 0.002), ("llama.cpp", 0.01), ("llama.cpp", 0.006)]
    rows = [Samples(engine, "x", [s]).row(case) for engine, s in measured]
    assert ratio(rows) == 3.0
    measured = [("smolllm", 1.0), ("llama.cpp", 4.0), ("llama.cpp", 2.0)]
    rows = [Samples(engine, "x", [s]).row(prompt) for engine, s in measured]
    assert ratio(rows) == 2.0
    assert ratio(rows[:1]) is None


def test_a_peer_that_crashes_is_no_fast_peer(tmp_path: Path, tiny_path: Path) -> None:
    peer = Peer(str(peer_program(tmp_path, 139)), str(tiny_path), 1)
    assert peer.run(PeerSetting("f16", True), 0, 1, 0) == pytest.approx([0.2])
    assert peer.run(PeerSetting("f16", True), 0, 1, 8) == pytest.approx([4.8])
    with pytest.raises(BackendError, match=r"139.*ldtilecfg"):
        peer.run(PeerSetting("q8_0", True), 0, 1, 0)
    # There is no program for batches beside it.
    assert peer.settings(4) == []
    with pytest.raises(SettingError):
        Peer(str(tmp_path), str(tiny_path), 1)


def test_the_report_has_the_agreed_keys(
    tmp_path: Path, tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "llama-bench"
    program.write_text(
        f"#!{sys.executable}\nimport json\nprint(json.dumps([{{'samples_ns': [10**9]}}]))\n"
    )
    program.chmod(0o755)
    options = ["bench", "--model", str(tiny_path), "--depths", "0,33", "--batch", "1,2",
               "--prompts", "5", "--rounds", "1", "--threads", "1", "--json"]  # fmt: skip
    assert main([*options, "--peer", str(program)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"machine", "isa", "threads", "rows", "ratios"}
    ours = [r for r in report["rows"] if r["engine"] == "smolllm"]
    assert [(r["depth"], r["batch"], r["prompt"]) for r in ours] == [
        (0, 1, 5), (0, 1, 0), (0, 2, 0), (33, 1, 0)
    ]  # fmt: skip
    assert len(report["ratios"]) == 3
    assert all(value > 0 for value in report["ratios"].values())


@pytest.mark.parametrize(
    "wrong",
    [["--depths", "x"], ["--batch", "0"], ["--depths", "500"], ["--rounds", "0"],
     ["--kv", "fp16,static3"], ["--peer", "/nowhere"]],
)  # fmt: skip
def test_wrong_use_is_one_line(
    tiny_path: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--model", str(tiny_path), *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 1
