"""``python -m kvquant inspect``: which tokens of a text got how many bits, and how steadily.

Shows the text coloured by precision, the average bits along it (does the controller drift to few
bits late in a long text?), the pool of pages behind the cache, and whether the controller's
attention-variance feature is numerically stable on this text.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kvquant.cli import find_model
from kvquant.engine import Engine
from kvquant.errors import DataFileError, KvquantError, SettingError
from kvquant.inspection.classes import Drift, Precision, cut, drift, precision
from kvquant.inspection.stability import stability
from kvquant.inspection.view import legend, page, terminal
from kvquant.kv_settings import KV_KINDS
from kvquant.scoring import Setting, feed, opener
from kvquant.session import Session

_SINKS = 4
"""Tokens at the start that stay in 16 bits, unless --sinks says otherwise."""

_CONTEXT = 2048

_MOST = 1 << 24
"""Bytes of a text file."""

_SHOWN = 4000
"""Tokens that a terminal shows; a page of HTML and JSON have all of them."""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m kvquant inspect", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = p.add_argument
    add("text", nargs="*", help="the text; without it --file or standard input")
    add("--file", type=Path, help="a UTF-8 text file")
    add("--kv", default="adaptive", help=f"kind of cache, of {', '.join(KV_KINDS[1:])} (adaptive)")
    add("--budget", type=float, default=3.5, help="average bits of the adaptive cache (3.5)")
    add("--policy", default="adaptive", help="how the adaptive cache decides (adaptive)")
    add("--controller", type=Path, help="controller file; default: the shipped one")
    add("--window", type=int, help="last tokens in 16 bits; default: the controller's")
    add("--sinks", type=int, help=f"first tokens in 16 bits ({_SINKS})")
    add("--context", type=int, help=f"tokens that the cache is made for ({_CONTEXT}, more for a "
        "longer text)")  # fmt: skip
    add("--segment", type=int, default=512, help="tokens of a stretch of the text (512)")
    add("--mode", choices=("prefill", "decode"), default="prefill",
        help="compute the text in chunks as prompts are (default), or token by token")  # fmt: skip
    add("--model", help="GGUF file; default as for smolllm")
    add("--threads", type=int, default=min(4, os.cpu_count() or 1), help="default: up to 4")
    add("--json", action="store_true", help="print one JSON object")
    add("--html", type=Path, metavar="FILE", help="write the coloured text as a page")
    add("--plot", type=Path, metavar="FILE.png", help="draw bits per layer and token")
    return p


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    options = parser().parse_args(argv)
    try:
        return _run(options)
    except KvquantError as e:
        print(f"kvquant inspect: {e}", file=sys.stderr)
        return e.exit_code
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has left; without this the interpreter complains again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(options: argparse.Namespace) -> int:
    if options.kv not in KV_KINDS[1:]:
        raise SettingError(
            "inspect.kv", f"--kv: {options.kv!r} is none of {', '.join(KV_KINDS[1:])}."
        )  # fmt: skip
    if options.segment < 1:
        raise SettingError("inspect.segment", "--segment must be at least 1.")
    path = find_model(options.model, os.environ)
    text = _text(options)
    adaptive = options.kv == "adaptive"
    setting = Setting(
        options.kv,
        options.budget if adaptive else None,
        options.policy if adaptive else None,
        options.window,
        options.sinks,
    )
    load = opener(path, options.threads, options.controller)
    with load(Setting("fp16"), 1) as engine:
        tokens = engine.tokenizer.encode(text)
        most = engine.info.n_ctx_train
    # The budget is meant for a context of this length, however short the text.
    context = options.context or min(most, max(_CONTEXT, len(tokens)))
    read = tokens[:context]
    with load(setting, context) as engine:
        session = _computed(engine, read, options.mode)
        sinks = _SINKS if options.sinks is None else options.sinks
        found = precision(session, engine.tokenizer, sinks)
        along = drift(found, options.segment)
        report = _report(setting, session, found, along)
    report["stability"] = stability(path, read, options.threads)
    if len(read) < len(tokens):
        print(f"kvquant inspect: only the first {context} tokens were read.", file=sys.stderr)
    summary = _summary(report)
    if options.html is not None:
        _write(options.html, page(found, f"{setting.name}: bits of each token", summary))
    if options.plot is not None:
        from kvquant import plots

        plots.precision(
            found.bits, options.plot, f"{setting.name}: {report['bits_mean']:.2f} bits on average",
            along.stretches,
        )  # fmt: skip
    if options.json:
        report["tokens"] = [
            {"id": i, "text": piece, "bits": round(float(bits), 3)}
            for i, piece, bits in zip(read, found.pieces, found.per_token, strict=True)
        ]
        print(json.dumps(report, ensure_ascii=False, allow_nan=False))
        return 0
    _show(found, summary)
    return 0


def _show(found: Precision, summary: str) -> None:
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    shown = cut(found, _SHOWN)
    print(terminal(shown, colour=colour))
    if len(shown.pieces) < len(found.pieces):
        print(f"… {len(found.pieces) - len(shown.pieces)} more tokens (--html shows all)")
    print()
    if colour:
        print(legend())
    print(summary)


def _computed(engine: Engine, tokens: Sequence[int], mode: str) -> Session:
    session = engine.session()
    if mode == "prefill":
        session.prefill(tokens)
    else:
        for token in session.checked(tokens):
            feed([session], [token])
    return session


def _report(setting: Setting, session: Session, found: Precision, along: Drift) -> dict[str, Any]:
    return {
        "kv": setting.kv,
        "policy": setting.policy,
        "budget": setting.budget,
        "n_tokens": session.held,
        "bits_mean": round(session.bits_mean, 4),
        "ladder": list(session.ladder),
        "class_tokens": list(session.class_tokens),
        "quantized": {"from": found.first, "to": found.last},
        "layers": [
            {"keys": round(float(k), 3), "values": round(float(v), 3)}
            for k, v in zip(found.keys, found.values, strict=True)
        ],
        "drift": along.report(),
        "pool": {
            "kv_bytes": session.kv_bytes,
            "kv_bytes_fp16": session.kv_bytes_fp16,
            "page_bytes": session.page_bytes,
            "metadata_bytes": session.metadata_bytes,
            "allocations": session.allocations,
            "fragmentation": round(session.fragmentation, 4),
        },
    }


def _summary(report: dict[str, Any]) -> str:
    pool, feature, part = report["pool"], report["stability"], report["quantized"]
    quantized = (
        f"tokens {part['from']} to {part['to'] - 1} are quantized"
        if part["from"] < part["to"]
        else "none is quantized, since window and sinks hold all"
    )
    saved = 1 - pool["kv_bytes"] / max(1, pool["kv_bytes_fp16"])
    lines = [
        f"{report['n_tokens']} tokens, {report['bits_mean']:.2f} bits per number with everything "
        f"({saved:.0%} saved); {quantized}.",
        report["drift"]["verdict"],
        f"Pool: {pool['allocations']} allocations, {pool['page_bytes']:,} bytes in pages, "
        f"{pool['fragmentation']:.1%} of them unused; {pool['metadata_bytes']:,} bytes of tags "
        "and tables.",
        feature["verdict"],
    ]
    return "\n".join(lines)


def _text(options: argparse.Namespace) -> str:
    if options.text and options.file:
        raise SettingError("inspect.text", "Give a text or --file, not both.")
    if options.text:
        text = " ".join(options.text)
    elif options.file is not None:
        text = _read(options.file)
    elif sys.stdin.isatty():
        raise SettingError(
            "inspect.text", "There is no text.", "Give one, or --file FILE, or pipe one in."
        )
    else:
        text = sys.stdin.read(_MOST)
    if not text.strip():
        raise SettingError("inspect.text", "The text is empty.")
    return text


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST:
            raise DataFileError("data.size", f"{path} has more than {_MOST} bytes.")
        return path.read_bytes().decode("utf-8")
    except OSError as e:
        raise DataFileError(
            "data.unreadable", f"{path} cannot be read: {e.strerror or e}."
        ) from e  # fmt: skip
    except UnicodeDecodeError as e:
        raise DataFileError("data.damaged", f"{path} is no UTF-8 text.") from e


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as e:
        raise SettingError(
            "inspect.file", f"{path} cannot be written: {e.strerror or e}."
        ) from e  # fmt: skip
