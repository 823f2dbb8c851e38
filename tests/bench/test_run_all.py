"""The file of benchmarks: sections are replaced one by one, the tables hold what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import bench_heads, run_all
from tests.bench.assistant_tables import facts, heads, latency, phrased, understood, wake, wer
from tests.bench.engine_tables import engine, quality

TEXT = "# Benchmarks\n\nWords.\n\n## A\n\none\n\n## B\n\ntwo\n"


def test_sections_that_were_not_run_stay() -> None:
    assert run_all.merged(TEXT, {}) == TEXT
    once = run_all.merged(TEXT, {"A": "new"})
    assert once.startswith("# Benchmarks\n\nWords.\n\n## A\n\none\n\n")
    assert "new" in once
    assert once.endswith("## B\n\ntwo\n")
    more = run_all.merged(TEXT, {"C": "| x |"})
    assert more.startswith(TEXT.strip() + "\n\n## C\n\n")
    assert run_all.merged(run_all.HEAD, {"A": "one"}).startswith("# Benchmarks\n\nEvery figure")


def test_what_was_written_by_hand_stays_around_what_is_measured() -> None:
    once = run_all.merged(TEXT, {"A": "first"})
    by_hand = once.replace(run_all.END, f"{run_all.END}\n\nA note.")
    again = run_all.merged(by_hand, {"A": "second"})
    assert again == by_hand.replace("first", "second")
    assert run_all.merged(again, {"A": "second"}) == again
    assert again.index("one") < again.index("second") < again.index("A note.")


def test_no_figure_of_the_page_is_lost_by_a_run_of_everything() -> None:
    page = (run_all.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    after = run_all.merged(page, {bench.title: "new" for bench in run_all.BENCHES})
    marks = (run_all.BEGIN, run_all.END)
    written: list[str] = []
    inside = False
    for line in page.splitlines():
        inside = line == marks[0] or (inside and line != marks[1])
        if not inside and line not in marks:
            written.append(line)
    kept = iter(after.splitlines())
    assert all(any(line == other for other in kept) for line in written if line.strip())


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


def test_results_are_the_last_line() -> None:
    assert run_all.last_line('words\n{"n": 1}\n') == {"n": 1}
    assert run_all.last_line('[{"n": 1}]') == {"rows": [{"n": 1}]}
    assert run_all.summary("dots\n==== 3 passed in 2 s ====\n") == {"summary": "3 passed in 2 s"}


def test_tables_of_the_assistant() -> None:
    ms = {"p50": 489.0, "p95": 912.0, "p99": 1337.0}
    spoken = {"understood": 19, "n": 20, "ms": ms, "stages": {"total": ms}}
    assert "| total | 489 | 912 | 1337 |" in latency(spoken)
    assert "ratio" not in latency(spoken | {"ms": None, "stages": {}})
    heard = {"wer": 0.137, "n": 60, "words": 1065, "untexted": 0, "untexted_heard": 0,
             "cpu_per_second_of_sound": 0.0641}  # fmt: skip
    assert "| word error rate (60 clips, 1065 words) | 13.7% | ≤ 15 % |" in wer(heard)
    orders = heard | {"wer": None, "untexted": 4, "untexted_heard": 3}
    assert "| clips that gave words (4) | 75.0% | ≥ 90 % |" in wer(orders)
    assert "word error rate" not in wer(orders)
    tally = {"said": 58, "missed": 1, "noisy_missed": None, "others": 214, "others_woke": 2,
             "hours": 0.25, "false": 0}  # fmt: skip
    assert "| alexa | 58 | 1 |  | 214 | 2 | 0.25 | 0 |" in wake({"words": {"alexa": tally}})
    counts = {"set": "talk.txt", "in_scope": 9, "right": 7, "wrong": 0, "left": 2, "talk": 5,
              "talk_taken": 1}  # fmt: skip
    assert "| talk.txt | 9 | 7 | 0 | 2 | 5 | 1 |" in phrased({"rows": [counts]})
    told = {"n": 50, "right": 0.18, "not_sure": 0.8, "invented": 0.02}
    assert "| 50 | 18.0% | 80.0% | 2.0% |" in facts(told)
    scored = {"set": "hwu64", "trained": 7925, "n": 885, "accuracy": 0.914, "oos_recall": None,
              "oos_rejected_in_scope": 0.01, "slot_f1": None}  # fmt: skip
    assert "| hwu64 | 7925 | 885 | 91.4% |  | 1.0% |  |" in heads({"rows": [scored]})
    assert "| 719 | 100.0% | 99.9% |" in understood(
        {"n": 719, "accuracy": 1.0, "frame_accuracy": 0.999, "ms": ms}
    )


def test_a_head_is_never_scored_on_what_it_learnt() -> None:
    plain = [{"text": f"sentence {i}", "intent": "a"} for i in range(1000)]
    train, scored = bench_heads.divided(plain)
    assert len(train) + len(scored) == 1000
    assert 60 < len(scored) < 150
    assert not {row["text"] for row in train} & {row["text"] for row in scored}
    parted = [{**row, "split": ("train", "val", "oos_val")[i % 3]} for i, row in enumerate(plain)]
    train, scored = bench_heads.divided(parted)
    assert {row["split"] for row in scored} == {"val", "oos_val"}
    assert 250 < len(scored) < 420
