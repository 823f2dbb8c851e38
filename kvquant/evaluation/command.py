"""``python -m kvquant eval``: quality of KV caches against the one in 16 bits.

The engine is fed held-out text token by token, as in decoding, and compared with itself over a
16-bit cache: KL divergence of the next token's distribution, perplexity, how often the likeliest
token agrees, HellaSwag, and facts hidden in a long text. Bits are those the caches really take,
scales, tags, sinks and window included.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kvquant import texts
from kvquant.cli import find_model
from kvquant.errors import KvquantError, SettingError
from kvquant.evaluation import choices, divergence, needle
from kvquant.evaluation.report import comparisons, empty_row, table
from kvquant.evaluation.windows import windows
from kvquant.kv_settings import KEY_LAYOUTS, KV_KINDS, ROTATED
from kvquant.scoring import Opener, Setting, opener

WHAT = ("kld", "ppl", "hellaswag", "needle")
MORE = ("layouts",)
"""Measured only when asked for: it says something about the design, not about a cache."""

_HAYSTACKS = 8
_INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m kvquant eval", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = p.add_argument
    add("--data", type=Path, help="folder of the data sets wikitext2, gutenberg, sgd-dialogues, "
        "hellaswag (those that are there); only their held-out parts are used")  # fmt: skip
    add("--what", default=",".join(WHAT), help="what to measure: kld, ppl, hellaswag, needle "
        "(default: these), and layouts: keys stored after their rotation by position or before "
        "it, in one table")  # fmt: skip
    add("--kv", default=",".join(KV_KINDS), help=f"kinds of cache, of {', '.join(KV_KINDS)}")
    add("--budgets", default="3.0,3.5,4.5", help="average bits of the adaptive cache (3.0,3.5,4.5)")
    add("--policies", default="adaptive", help="how the adaptive cache decides (adaptive); others "
        "are in the controller file: rule, static_table, random, entropy, …")  # fmt: skip
    add("--window", type=int, help="last tokens in 16 bits; default: the controller's")
    add("--sinks", type=int, help="first tokens in 16 bits; default: the controller's")
    add("--key_layout", choices=KEY_LAYOUTS, default=ROTATED,
        help="how the quantized caches store keys (rotated)")  # fmt: skip
    add("--context", type=int, default=2048, help="tokens of a window of text (2048)")
    add("--windows", type=int, default=8, metavar="N", help="windows of text (8)")
    add("--limit", type=int, default=100, metavar="N",
        help="questions of HellaSwag, spread over the set (100); 0: all")  # fmt: skip
    add("--mode", choices=("decode", "prefill"), default="decode",
        help="token by token (default), or in chunks as prompts are computed")  # fmt: skip
    add("--model", help="GGUF file; default as for smolllm")
    add("--controller", type=Path, help="controller file; default: the shipped one")
    add("--threads", type=int, default=min(4, os.cpu_count() or 1), help="default: up to 4")
    add("--json", action="store_true", help="print one JSON object")
    add("--plot", type=Path, metavar="FILE.png", help="draw quality against bits")
    return p


def settings_of(options: argparse.Namespace) -> list[Setting]:
    """The caches to measure, the 16-bit one first. Raises SettingError."""
    kinds = _names("kv", options.kv, KV_KINDS)
    budgets = _budgets(options.budgets)
    policies = [p.strip() for p in options.policies.split(",") if p.strip()]
    if "adaptive" in kinds and not policies:
        raise SettingError("eval.policies", "--policies needs at least one name.")
    found = [Setting("fp16")]
    places = options.window, options.sinks
    for kind in kinds:
        if kind == "adaptive":
            found += [
                Setting(kind, budget, policy, *places, options.key_layout)
                for policy in policies
                for budget in budgets
            ]
        elif kind != "fp16":
            found.append(Setting(kind, None, None, *places, options.key_layout))
    return found


def evaluate(options: argparse.Namespace, open_engine: Opener) -> dict[str, Any]:
    """Everything that was asked for, as it is printed with ``--json``. Raises KvquantError."""
    what = _names("what", options.what, WHAT + MORE)
    settings = settings_of(options)
    if options.windows < 1 or options.context < 16 or options.limit < 0:
        raise SettingError(
            "eval.size", "--windows must be at least 1, --context 16 and --limit 0."
        )  # fmt: skip
    data = _data(options.data, what)
    progress = _Progress()
    rows = [empty_row(s) for s in settings]
    started = time.monotonic()
    report: dict[str, Any] = {
        "model": "", "isa": "", "threads": options.threads, "context": options.context,
        "windows": options.windows, "mode": options.mode, "rows": rows, "comparisons": [],
    }  # fmt: skip
    with open_engine(settings[0], options.context) as engine:
        report["model"], report["isa"] = engine.info.name, engine.info.isa
        text = []
        if data is not None and {"kld", "ppl"} & set(what):
            text = windows(engine, data, options.context, options.windows)
        hay = needle.haystacks(engine, options.context, _HAYSTACKS) if "needle" in what else []
        asked: list[choices.Question] = []
        if data is not None and "hellaswag" in what:
            asked = choices.questions(engine, _spread(texts.hellaswag(data), options.limit))
    if text:
        found = divergence.measure(open_engine, settings, text, options.mode, progress.show)
        for row, one in zip(rows, found, strict=True):
            row.update(one.row())
        report["comparisons"] = comparisons(found)
    truth: choices.Answers | None = None
    for setting, row in zip(settings, rows, strict=True):
        if asked:
            with open_engine(setting, choices.room(asked)) as engine:
                answers = choices.answer(engine, setting, asked, options.mode, progress.show)
            truth = truth or answers
            row.update(choices.row(answers, truth, asked))
        if hay:
            with open_engine(setting, options.context) as engine:
                row.update(needle.row(needle.recall(engine, setting, hay, progress.show)))
    progress.end()
    report["seconds"] = round(time.monotonic() - started, 1)
    return report


def _layouts(options: argparse.Namespace, open_engine: Opener) -> list[dict[str, Any]]:
    from kvquant.evaluation import layouts

    with open_engine(Setting("fp16"), 1) as engine:
        text = windows(engine, options.data, options.context, options.windows)
    settings = [s for s in settings_of(options) if s.kv != "fp16"]
    progress = _Progress()
    rows = layouts.measure(open_engine, settings, text, options.mode, progress.show)
    progress.end()
    return rows


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    options = parser().parse_args(argv)
    try:
        path = find_model(options.model, os.environ)
        open_engine = opener(path, options.threads, options.controller)
        report = evaluate(options, open_engine)
        if "layouts" in options.what.split(","):
            report["layouts"] = _layouts(options, open_engine)
        _show(options, report)
        if options.plot is not None:
            _plot(options, report)
    except KvquantError as e:
        print(f"kvquant eval: {e}", file=sys.stderr)
        return e.exit_code
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return _INTERRUPTED
    return 0


def _show(options: argparse.Namespace, report: dict[str, Any]) -> None:
    if options.json:
        print(json.dumps(report, ensure_ascii=False, allow_nan=False))
    else:
        print(table(report["rows"], [s.name for s in settings_of(options)]))
        for row in report.get("layouts", []):
            print(
                f"{row['kv']} {row['budget'] or ''}".strip() + f", keys {row['key_layout']}: "
                f"KL {row['kld']:.5f} at {row['bits_mean']} bits, attention × "
                f"{row['attention_cost']}"
            )
        for pair in report["comparisons"]:
            print(
                f"{pair['other']} against {pair['adaptive']}: KL × {pair['factor']}, difference "
                f"{pair['difference_low']:+.5f} … {pair['difference_high']:+.5f}"
            )


def _plot(options: argparse.Namespace, report: dict[str, Any]) -> None:
    """After the report was shown: minutes of measuring must not be lost to a plot's bad path."""
    from kvquant import plots

    title = (
        f"{report['model']}: {options.windows} windows of {options.context} tokens, "
        f"held-out text, {options.mode}"
    )
    plots.quality(report["rows"], options.plot, title)


class _Progress:
    """One line on a terminal's stderr; elsewhere nothing."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._last = 0.0

    def show(self, name: str, part: float) -> None:
        now = time.monotonic()
        if self._shows and now - self._last > 0.2:
            self._last = now
            print(f"\r\x1b[K{part:4.0%}  {name[:70]}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _data(data: Path | None, what: Sequence[str]) -> Path | None:
    needing = [w for w in what if w != "needle"]
    if not needing:
        return None
    if data is None:
        raise SettingError(
            "eval.data",
            f"{', '.join(needing)}: these are measured on public texts.",
            "Name the folder that holds wikitext2, gutenberg, sgd-dialogues or hellaswag with "
            "--data, or measure --what needle.",
        )
    if not data.is_dir():
        raise SettingError("eval.data", f"--data: there is no folder {data}.")
    return data


def _spread(found: list[texts.Choice], limit: int) -> list[texts.Choice]:
    if not limit or limit >= len(found):
        return found
    return [found[i * len(found) // limit] for i in range(limit)]


def _names(option: str, text: str, known: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names or not set(names) <= set(known):
        wrong = next((n for n in names if n not in known), text)
        raise SettingError(
            f"eval.{option}", f"--{option}: {wrong!r} is none of {', '.join(known)}."
        )  # fmt: skip
    return names


def _budgets(text: str) -> list[float]:
    try:
        values = list(dict.fromkeys(float(part) for part in text.split(",") if part.strip()))
    except ValueError:
        values = []
    if not values or not all(1 <= v <= 16 for v in values):
        raise SettingError(
            "eval.budgets", f"--budgets takes numbers of bits from 1 to 16, not {text!r}."
        )
    return values
