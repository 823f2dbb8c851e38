"""What benchmarks printed, as tables: the bars are as long as the values beside them."""

from __future__ import annotations

from assistant.bench.report import details
from tests.assistant.bench.test_report_html import Checked


def engine_row(kv: str, depth: int, ms: float, size: int) -> dict[str, object]:
    return {
        "engine": "smolllm", "kv": kv, "depth": depth, "batch": 1, "prompt": 0,
        "decode_ms_per_token": ms, "kv_bytes": size, "bits_mean": 4.0, "features": None,
    }  # fmt: skip


def test_time_and_memory_of_the_caches() -> None:
    rows = [
        engine_row("fp16", 4096, 8.0, 94_000_000),
        engine_row("adaptive", 4096, 4.0, 23_500_000),
    ]
    found = Checked("\n".join(details.of("engine", {"isa": "neon", "threads": 2, "rows": rows})))
    widths = [div["style"] for div in found.all("div") if "style" in div]
    assert widths == ["width:100.0%", "width:50.0%", "width:100.0%", "width:25.0%"]
    assert "23.5 MB" in found.words


def test_weak_intents_come_first() -> None:
    row = {"n": 12, "accuracy": 0.9, "by_intent": {"good": [9, 9], "weak": [1, 3]}}
    found = Checked("\n".join(details.of("own", row)))
    assert found.words.index("1 of 3") < found.words.index("9 of 9")
    assert "90.0 %" in found.words


def test_quality_has_a_plot_only_where_there_are_points() -> None:
    of = {"budget": None, "ppl_ratio": None, "top1_agree": None, "bits_mean": 4.3}
    row = {"rows": [{"kv": "fp16", "kld": 0.0, **of}, {"kv": "static4", "kld": 0.004, **of}]}
    found = Checked("\n".join(details.of("quality", row)))
    assert "static4 4.30 bits, 0.0040" in str(found.all("svg")[0]["aria-label"])
    assert not Checked("\n".join(details.of("quality", {"rows": row["rows"][:1]}))).all("svg")
