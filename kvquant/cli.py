"""``smolllm``: the engine alone, for one prompt or a chat."""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvquant.chat import Message
from kvquant.config import Sampling
from kvquant.console import guarded
from kvquant.engine import KV_KINDS, Engine
from kvquant.errors import ContextError, ModelFileError, SettingError
from kvquant.kv_options import FULL, add_options, keywords
from kvquant.session import Session


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code. A user's mistake gives one line on stderr."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    return guarded("smolllm", lambda: _command(arguments))


def _command(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["bench"]:
        from kvquant import bench

        return bench.main(arguments[1:], lambda given: str(find_model(given, os.environ)))
    return _run(_parser().parse_args(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="smolllm",
        description="Runs a small language model. Without a prompt, on a terminal, it chats. "
        "`smolllm bench` measures its speed.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--model",
        help="GGUF file; default: $SMOLLLM_MODEL, else the model that `assistant models fetch` got",
    )
    add("--kv_quant", default=FULL, metavar="KIND", help=f"KV cache: {', '.join(KV_KINDS)}")
    add_options(parser)
    add("--max_seq_len", type=int, default=2048, metavar="N", help="context in tokens (2048)")
    add(
        "--slide",
        action="store_true",
        help="a full context drops its oldest tokens and goes on, instead of ending the text; "
        "for quantized KV caches",
    )
    add("--prompt", help="text to continue; default: standard input, unless it is a terminal")
    add("--chat", action="store_true", help="take the prompt as a user's message, not as text")
    add("--n", type=int, default=128, help="new tokens at most (128)")
    add("--temperature", type=float, default=0.0, help="0 takes the likeliest token (default)")
    add("--seed", type=int, help="same seed, same text; matters when the temperature is above 0")
    add("--threads", type=int, default=min(4, os.cpu_count() or 1), help="default: up to 4")
    add("--json", action="store_true", help="print one JSON object instead of text")
    return parser


def _run(options: argparse.Namespace) -> int:
    cache = keywords(options, options.kv_quant)
    sampling = Sampling(temperature=options.temperature, seed=options.seed)
    chatting = options.prompt is None and sys.stdin.isatty()
    if chatting and options.json:
        raise SettingError("cli.json", "--json needs a --prompt.")
    path = find_model(options.model, os.environ)
    with Engine.load(
        path,
        n_ctx=options.max_seq_len,
        threads=options.threads,
        kv=options.kv_quant,
        slide=options.slide,
        **cache,
    ) as engine:
        if chatting:
            return _chat(engine, sampling, options.n)
        prompt = sys.stdin.read() if options.prompt is None else options.prompt
        ids = engine.chat_prompt([("user", prompt)]) if options.chat else None
        return _complete(
            engine, ids or engine.tokenizer.encode(prompt), sampling, options.n, options.json
        )


def find_model(given: str | None, environ: Mapping[str, str]) -> Path:
    """The model file: as given, else $SMOLLLM_MODEL, else the first one of the assistant's.

    These lie in $ASSISTANT_MODELS or the user's data folder, one folder for each model.
    Raises ModelFileError when there is none.
    """
    named = given or environ.get("SMOLLLM_MODEL")
    if named:
        return Path(named).expanduser()
    data = Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    folder = Path(environ.get("ASSISTANT_MODELS") or data / "assistant/models").expanduser()
    found = sorted(folder.glob("*/*.gguf"))
    if not found:
        raise ModelFileError(
            "model.absent",
            f"No model is given and there is none in {folder}.",
            "Name one with --model FILE.gguf, or run `assistant models fetch`.",
        )
    return found[0]


@dataclass(frozen=True, slots=True)
class _Times:
    """decode_ms: of all new tokens together."""

    prefill_ms: float
    decode_ms: float


def _complete(engine: Engine, prompt: list[int], sampling: Sampling, n: int, as_json: bool) -> int:
    session = engine.session()
    pieces: list[str] = []
    new_tokens = 0
    start = time.perf_counter()
    # Checked and computed before the first token, so that the two can be timed apart.
    tokens = session.generate(prompt, max_new_tokens=n, sampling=sampling)
    session.prefill(prompt)
    middle = time.perf_counter()
    for token in tokens:
        new_tokens += 1
        pieces.append(token.text)
        if not as_json:
            print(token.text, end="", flush=True)
    times = _Times((middle - start) * 1e3, (time.perf_counter() - middle) * 1e3)
    report = _report(session, "".join(pieces), len(prompt), new_tokens, times)
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print()
        print(
            f"{len(prompt)} tokens in {times.prefill_ms:.0f} ms, {new_tokens} new at "
            f"{report['decode_ms_per_token']} ms each ({engine.info.backend}, "
            f"{engine.info.isa}; ended by {session.finish}); "
            f"cache {session.kv_bytes / 1e6:.1f} MB, {report['bits_mean']} bits a number; "
            f"{report['peak_rss_mb']} MB of memory at most",
            file=sys.stderr,
        )
    return 0


def _report(
    session: Session, text: str, prompt_tokens: int, new_tokens: int, times: _Times
) -> dict[str, str | int | float | None]:
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {
        "text": text,
        "prompt_tokens": prompt_tokens,
        "new_tokens": new_tokens,
        "prefill_ms": round(times.prefill_ms, 2),
        "decode_ms_per_token": round(times.decode_ms / max(new_tokens, 1), 3),
        "kv_bytes": session.kv_bytes,
        "kv_bytes_fp16": session.kv_bytes_fp16,
        "bits_mean": round(16 * session.kv_bytes / session.kv_bytes_fp16, 3),
        "peak_rss_mb": round(peak / 1e6, 1),
        "finish": session.finish,
    }


def _chat(engine: Engine, sampling: Sampling, n: int) -> int:
    """Reads lines until the end of input; Ctrl-C stops an answer, and at the prompt the chat."""
    session = engine.session()
    messages: list[Message] = []
    print(f"{engine.info.name}, {engine.info.backend} engine. Ctrl-D ends.", file=sys.stderr)
    while True:
        try:
            text = input("> ").strip()
        except EOFError:
            print(file=sys.stderr)
            return 0
        if not text:
            continue
        messages.append(("user", text))
        prompt = engine.chat_prompt(messages)
        while len(messages) > 1 and len(prompt) + n > engine.n_ctx:
            del messages[:2]
            prompt = engine.chat_prompt(messages)
        answer = ""
        try:
            for token in session.generate(prompt, max_new_tokens=n, sampling=sampling):
                answer += token.text
                print(token.text, end="", flush=True)
        except KeyboardInterrupt:
            pass
        except ContextError as e:
            print(e, file=sys.stderr)
            messages.pop()
            continue
        print()
        messages.append(("assistant", answer))


if __name__ == "__main__":
    raise SystemExit(main())
