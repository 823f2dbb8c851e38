"""What a benchmark printed, as tables and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assistant.bench.report import html

Row = Mapping[str, Any]
_NUMBER = "number"


def of(name: str, row: Any) -> list[str]:
    """The tables of one part; name: of the part."""
    if name == "latency":
        return _stages(row)
    if name == "phrasing":
        return _phrasing(row)
    if name == "values":
        return _values(row)
    if name == "engine":
        return _engine(row)
    if name == "quality":
        return _quality(row)
    if name in ("wake", "false-wakes", "noise-wakes"):
        return _wake(row)
    found = [_shares(row)]
    if row.get("by_intent"):
        found.append(_by_intent(row["by_intent"]))
    return found


_SHARES = (
    ("accuracy", "right"),
    ("frame_accuracy", "right with all values"),
    ("oos_recall", "no command, and left alone"),
    ("oos_rejected_in_scope", "a command, and left alone"),
    ("slot_f1", "values, F1"),
    ("wrong_action", "another command done"),
    ("slot_recall", "values found"),
    ("slot_precision", "found values right"),
    ("wer", "word errors"),
    ("right", "answered right"),
    ("not_sure", "not sure"),
    ("invented", "invented"),
)


def _shares(row: Row) -> str:
    lines: list[list[html.Cell]] = [["rows", (f"{row['n']:,}", _NUMBER)]]
    for key, label in _SHARES:
        value = row.get(key)
        if isinstance(value, int | float):
            lines.append([label, (f"{100 * value:.1f} %", _NUMBER)])
    if isinstance(ms := row.get("ms"), dict):
        lines += [[f"{p}, ms", (f"{ms[p]:,.1f}", _NUMBER)] for p in ("p50", "p95", "p99")]
    return html.table("In figures", ["what", ("value", _NUMBER)], lines)


def _by_intent(counts: Mapping[str, Sequence[int]]) -> str:
    ranked = sorted(counts.items(), key=lambda item: (item[1][0] / max(1, item[1][1]), item[0]))
    rows = [(name, k / max(1, n), f"{k} of {n}") for name, (k, n) in ranked]
    return html.bars("Right by intent, the weakest first", ("intent", "right"), rows, 1.0)


def _stages(row: Row) -> list[str]:
    text = f"<p>{row['understood']} of {row['n']} commands were understood.</p>"
    stages = row["stages"]
    if not stages:
        return [text]
    most = max(ms["p95"] for ms in stages.values())
    rows = [
        (f"{name}, {p}", ms[p], f"{ms[p]:,.0f} ms")
        for name, ms in stages.items()
        for p in ("p50", "p95")
    ]
    return [text, html.bars("Time of each stage", ("stage", "time"), rows, most)]


def _phrasing(sets: Sequence[Row]) -> list[str]:
    keys = ("in_scope", "right", "wrong", "left", "talk", "talk_taken")
    head: list[html.Cell] = [
        "sentences", *((k, _NUMBER) for k in ("commands", "right", "wrong", "left to talk",
                                              "talk", "taken for a command"))
    ]  # fmt: skip
    rows: list[list[html.Cell]] = [
        [str(s["set"]), *((f"{s[key]:,}", _NUMBER) for key in keys)] for s in sets
    ]
    return [html.table("By the set they are from", head, rows)]


def _values(row: Row) -> list[str]:
    rows = [
        (name, v["accuracy"], f"{100 * v['accuracy']:.1f} % of {v['n']}")
        for name, v in row["models"].items()
    ]
    caption = "Right by kind of the specification"
    return [_shares(row), html.bars(caption, ("kind", "right"), rows, 1.0)]


def _wake(row: Row) -> list[str]:
    head: list[html.Cell] = [
        "wake word", *((k, _NUMBER) for k in ("said", "missed", "missed in noise",
                                              "other phrases", "woke", "hours", "false"))
    ]  # fmt: skip
    rows: list[list[html.Cell]] = [
        [
            name,
            (str(t["said"]), _NUMBER),
            (str(t["missed"]), _NUMBER),
            ("" if t["noisy_missed"] is None else str(t["noisy_missed"]), _NUMBER),
            (str(t["others"]), _NUMBER),
            (str(t["others_woke"]), _NUMBER),
            (f"{t['hours']:.2f}", _NUMBER),
            (str(t["false"]), _NUMBER),
        ]
        for name, t in row["words"].items()
    ]
    return [html.table("Recordings by wake word", head, rows)]


def _engine(row: Row) -> list[str]:
    def mb(r: Row) -> float:
        return float(r["kv_bytes"]) / 1e6

    own = [r for r in row["rows"] if r["engine"] == "smolllm" and r.get("features") != "exact"]
    decode = [r for r in own if r["decode_ms_per_token"] is not None]
    found = [f"<p>Instruction set {html.text(row['isa'])}, {row['threads']} threads.</p>"]
    if decode:
        lines = [
            (
                f"{r['kv']}, behind {r['depth']:,}"
                + (f", {r['batch']} at once" * (r["batch"] > 1)),
                r["decode_ms_per_token"],
                f"{r['decode_ms_per_token']:.2f} ms",
            )
            for r in decode
        ]
        most = max(r["decode_ms_per_token"] for r in decode)
        found.append(html.bars("Time of a token", ("cache", "time"), lines, most))
    stored = [r for r in decode if r["kv_bytes"] and r["batch"] == 1]
    if stored:
        deepest = max(r["depth"] for r in stored)
        stored = [r for r in stored if r["depth"] == deepest]
        lines = [
            (f"{r['kv']}, {r['bits_mean']:.2f} bits", mb(r), f"{mb(r):.1f} MB") for r in stored
        ]
        most = max(mb(r) for r in stored)
        caption = f"Memory of {deepest:,} tokens"
        found.append(html.bars(caption, ("cache", "memory"), lines, most))
    return found


def _quality(row: Row) -> list[str]:
    named = [
        (r["kv"] if r["budget"] is None else f"{r['kv']} {r['budget']:g}", r)
        for r in row["rows"]
        if r["kld"] is not None and r["kv"] != "fp16"
    ]
    marks = [(name, r["bits_mean"], r["kld"]) for name, r in named if r["kld"] > 0]
    found = []
    if marks:
        told = "; ".join(f"{name} {bits:.2f} bits, {kld:.4f}" for name, bits, kld in marks)
        alt = f"Divergence from the 16-bit cache by bits a number: {told}"
        up = "Upwards: mean divergence (KL, in nats) from the 16-bit cache; lower is better."
        found.append(html.points(alt, ("bits a number, everything included", up), marks))
    rows: list[list[html.Cell]] = [
        [
            name,
            (f"{r['bits_mean']:.2f}", _NUMBER),
            (f"{r['kld']:.5f}", _NUMBER),
            ("" if r["ppl_ratio"] is None else f"{r['ppl_ratio']:.4f}", _NUMBER),
            ("" if r["top1_agree"] is None else f"{100 * r['top1_agree']:.1f} %", _NUMBER),
        ]
        for name, r in named
    ]
    names = ("bits", "divergence", "perplexity, ratio", "same next word")
    head: list[html.Cell] = ["cache", *((name, _NUMBER) for name in names)]
    found.append(html.table("Quality by kind of cache", head, rows))
    return found
