"""The file of benchmarks: sections are replaced one by one, the tables hold what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import run_all
from tests.bench.engine_tables import engine, quality

TEXT = "# Benchmarks\n\nWords.\n\n## A\n\none\n\n## B\n\ntwo\n"


def test_sections_that_were_not_run_stay() -> None:
    assert run_all.merged(TEXT, {}) == TEXT
    assert run_all.merged(TEXT, {"A": "new"}) == TEXT.replace("one", "new")
    assert run_all.merged(TEXT, {"C": "| x |"}).endswith("## B\n\ntwo\n\n## C\n\n| x |\n")
    assert run_all.merged(run_all.HEAD, {"A": "one"}).startswith("# Benchmarks\n\nEvery figure")


def row(kv: str, decode: float, **changes: object) -> dict[str, object]:
    return {
        "engine": "smolllm", "kv": kv, "depth": 4096, "batch": 1, "prompt": 0,
        "prefill_tok_s": None, "decode_ms_per_token": decode, "spread": 0.1, "features": None,
        "bits_mean": 16.0, "kv_bytes": 94_000_000, "metadata_share": 0.0,
        "controller_ms_per_token": None,
    } | changes  # fmt: skip


def test_speed_and_bytes_of_every_kind() -> None:
    adaptive = row("adaptive", 3.8, features="table", bits_mean=3.41, kv_bytes=20_100_000,
                   metadata_share=0.0059, controller_ms_per_token=0.02)  # fmt: skip
    text = engine({
        "isa": "avx512", "threads": 2, "rows": [row("fp16", 6.8), adaptive],
        "ratios": {"adaptive decode depth 4096 batch 1": 5.5},
        "gains": {"adaptive decode depth 4096 batch 1": 1.79},
    })  # fmt: skip
    assert "| adaptive decode depth 4096 batch 1 | 5.50 | 4 |" in text
    assert "| adaptive decode depth 4096 batch 1 | 1.79 | 1.4 |" in text
    assert "| adaptive | 4096 | 3.41 | 20.1 | 0.59% | 0.02 |" in text


def test_quality_with_and_without_figures() -> None:
    keys = ("bits_mean", "kld", "kld_low", "kld_high", "ppl_ratio", "top1_agree", "hellaswag",
            "needle")  # fmt: skip
    of = {"kv": "adaptive", "policy": "rule", "budget": 3.5, **dict.fromkeys(keys)}
    text = quality({
        "windows": 2, "context": 512, "mode": "decode", "comparisons": [],
        "rows": [of | {"bits_mean": 3.49, "kld": 0.006, "kld_low": 0.005, "kld_high": 0.007}],
    })  # fmt: skip
    assert "| adaptive 3.5, rule | 3.49 | 0.00600 | 0.00500 to 0.00700 |  |" in text


def test_every_benchmark_has_its_table() -> None:
    titles = [bench.title for bench in run_all.BENCHES]
    assert len(set(titles)) == len(titles)
    assert set(run_all.PEERED) <= set(titles)


def test_what_needs_data_is_left_out_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.md"
    monkeypatch.setattr("sys.argv", ["run_all", "--only", "values", "--out", str(out)])
    assert run_all.main() == 0
    assert not out.exists()
