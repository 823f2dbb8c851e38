"""What the engine's benchmarks say, as tables of Markdown."""

from __future__ import annotations

from typing import Any

Result = dict[str, Any]

# What the project asks of each case, against llama.cpp's best cache setting.
_RATIO_TARGETS = {
    "fp16 prefill 32": "1.0",
    "fp16 prefill 128": "1.0",
    "fp16 prefill 512": "1.0",
    "fp16 decode depth 0 batch 1": "1.4",
    "fp16 decode depth 0 batch 4": "1.5",
    "fp16 decode depth 1024 batch 1": "2.3",
    "fp16 decode depth 4096 batch 1": "2.5",
    "fp16 decode depth 8000 batch 1": "3.0",
    "adaptive decode depth 4096 batch 1": "4",
    "adaptive decode depth 8000 batch 1": "5",
    "adaptive prefill 128 depth 4096 against q8_0": "8",
}
# And against our own 16-bit cache.
_GAIN_TARGETS = {
    "adaptive decode depth 4096 batch 1": "1.4",
    "adaptive decode depth 4096 batch 4": "1.8",
}


def rows(header: str, *lines: str) -> str:
    """A table; cells are separated by bars."""
    columns = header.count("|") + 1
    return "\n".join([f"| {header} |", "|" + " --- |" * columns, *(f"| {x} |" for x in lines)])


def engine(r: Result) -> str:
    """Of ``smolllm bench``."""
    parts = [f"Instruction set {r['isa']}, {r['threads']} threads.", _speeds(r["rows"])]
    if r["ratios"]:
        parts += ["More is better; llama.cpp's best cache setting counts in each case."]
        parts += [_factors("times as fast as llama.cpp", r["ratios"], _RATIO_TARGETS)]
    if r["gains"]:
        parts += [_factors("times as fast as our fp16 cache", r["gains"], _GAIN_TARGETS)]
    if storage := _storage(r["rows"]):
        parts += [storage]
    ours = [x for x in r["rows"] if x["engine"] == "smolllm" and x["kv"] == "fp16"]
    alone = {x["batch"]: x["decode_ms_per_token"] for x in ours if not x["depth"] | x["prompt"]}
    if {1, 4} <= alone.keys():
        parts += [
            f"Batch 4 makes {alone[1] / alone[4]:.2f} × the tokens of batch 1 (at least 2.2)."
        ]
    return "\n\n".join(parts)


def _speeds(found: list[Result]) -> str:
    lines = []
    for row in found:
        speed, prefill = row["decode_ms_per_token"], row["prefill_tok_s"]
        cache = row["kv"] + (", exact features" if row["features"] == "exact" else "")
        lines.append(
            f"{row['engine']} | {cache} | {row['depth']} | {row['batch']} | {row['prompt'] or ''} "
            f"| {f'{speed:.2f}' if speed else ''} | {f'{prefill:.0f}' if prefill else ''} | "
            f"{row['spread']:.2f}"
        )
    return rows(
        "engine | cache | depth | batch | prompt | decode ms/token | prefill tokens/s | spread",
        *lines,
    )


def _factors(name: str, found: dict[str, float], targets: dict[str, str]) -> str:
    lines = [f"{case} | {x:.2f} | {targets.get(case, '')}" for case, x in found.items()]
    return rows(f"case | {name} | at least", *lines)


def _storage(found: list[Result]) -> str:
    """What the tokens of each kind take, behind every depth that was decoded alone."""
    lines = []
    for row in found:
        if row["bits_mean"] is None or row["prompt"] or row["batch"] > 1:
            continue
        share, controller = row["metadata_share"], row["controller_ms_per_token"]
        lines.append(
            f"{row['kv']} | {row['depth']} | {row['bits_mean']:.2f} | {row['kv_bytes'] / 1e6:.1f} "
            f"| {f'{share:.2%}' if share is not None else ''} | {controller or ''}"
        )
    if not lines:
        return ""
    head = "cache | depth | bits, all in | MB | metadata, of 16 bits | controller, ms a token"
    return (
        "Targets at 8,000 tokens: metadata at most 0.8 %, the controller at most 0.03 ms.\n\n"
        + rows(head, *lines)
    )


def process(r: Result) -> str:
    """Of ``bench_engine.py``."""
    lines = [
        f"{c['case']} | {c['smolllm']:.2f} | {'' if c['peer'] is None else c['peer']} | "
        f"{'' if c['ratio'] is None else c['ratio']} | {c['target']}"
        for c in r["cases"]
    ]
    return rows("case | smolllm | llama.cpp | ratio | target", *lines)


def quality(r: Result) -> str:
    """Of ``python -m kvquant eval``."""
    lines = []
    for row in r["rows"]:
        name = row["kv"]
        if row["budget"] is not None:
            name += f" {row['budget']}" + (
                f", {row['policy']}" if row["policy"] != "adaptive" else ""
            )
        interval = (
            "" if row["kld_low"] is None else f"{row['kld_low']:.5f} to {row['kld_high']:.5f}"
        )
        cells = [
            _number(row["bits_mean"], ".2f"), _number(row["kld"], ".5f"), interval,
            _number(row["ppl_ratio"], ".4f"), _number(row["top1_agree"], ".1%"),
            _number(row["hellaswag"], ".1%"), _number(row["needle"], ".0%"),
        ]  # fmt: skip
        lines.append(" | ".join([name, *cells]))
    text = (
        f"{r['windows']} windows of {r['context']} tokens, {r['mode']}; targets: KL at most 0.002 "
        "at 4.5 bits, 0.006 at 3.5, 0.015 at 3.0.\n\n"
    )
    text += rows(
        "cache | bits, all in | mean KL | 95 % interval | perplexity, ratio | same likeliest token "
        "| HellaSwag | hidden facts",
        *lines,
    )
    pairs = [
        f"{p['adaptive']} | {p['other']} | {p['factor']} | {p['difference_low']:+.5f} to "
        f"{p['difference_high']:+.5f}"
        for p in r["comparisons"]
    ]
    if pairs:
        text += "\n\nAt nearly the same bits, text by text:\n\n"
        text += rows("adaptive | against | KL, times ours | difference of KL, 95 %", *pairs)
    return text


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
