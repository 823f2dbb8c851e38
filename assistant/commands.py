"""What each command of the command line does."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistant import config, console, interrupts
from assistant import models as model_files
from assistant.config import Config
from assistant.errors import UsageError
from assistant.events import Event

if TYPE_CHECKING:
    from assistant.assembly import Assembly

log = logging.getLogger(__name__)


def settings(args: argparse.Namespace) -> Config:
    """The configuration that the command line names. Raises ConfigError."""
    cfg = config.load(args.config, tuple(args.overrides))
    level = "debug" if args.verbose else cfg.service.log_level
    if args.command == "run" or args.verbose:
        logging.getLogger().setLevel(level.upper())
    return cfg


def json_line(value: Any) -> str:
    """One JSON object on one line."""
    return json.dumps(value, ensure_ascii=False)


def emit_json(value: Any) -> None:
    """One JSON object on one line of standard output."""
    print(json_line(value), flush=True)


def hear(args: argparse.Namespace) -> int:
    from assistant.assembly import Assembly
    from assistant.hear import hear as run_hear
    from assistant.report import Record, human

    cfg = settings(args)
    out = args.out or Path(tempfile.mkdtemp(prefix="assistant-answers-"))
    out.mkdir(parents=True, exist_ok=True)
    turns = 0

    with interrupts.noted() as stop:
        show = console.Printer(stop)

        def done(record: Record) -> None:
            nonlocal turns
            turns += 1
            file = record["file"]
            show(json_line(record) if args.json else f"file        {file}\n{human(record)}\n")

        assembly = Assembly(cfg)
        assembly.bus.subscribe(_warn)
        assembly.let_go_on(stop)
        try:
            run_hear(
                assembly,
                args.files,
                use_wake=not args.no_wake,
                realtime=args.realtime,
                channel=args.channel,
                audio_dir=out,
                done=done,
                stop=stop,
            )
        finally:
            assembly.close()
            if args.out is None and turns == 0:
                out.rmdir()
        show.check()
        if stop.is_set():
            return 130
    if turns == 0:
        print("assistant: no turn: neither wake word nor speech was found", file=sys.stderr)
    return _talk_code(assembly)


def _talk_code(assembly: Assembly) -> int:
    """The exit code after answering: not 0 when the last attempt to talk, or to keep what was
    told, has failed."""
    error = assembly.manager.talk_error or assembly.registry.state_error
    return 0 if error is None else error.exit_code


def demo(args: argparse.Namespace) -> int:
    from assistant.demo import Asked
    from assistant.demo import demo as run_demo
    from assistant.report import human

    cfg = settings(args)

    def done(asked: Asked) -> None:
        if args.json:
            emit_json(asked.record)
            return
        print(f"said        Hey Jarvis. {asked.question.text}")
        print(human(asked.record))
        print(f"{'right' if asked.right else 'WRONG'}\n", flush=True)

    with interrupts.noted() as stop:
        right = run_demo(cfg, out=args.out, realtime=args.realtime, done=done, stop=stop)
        if stop.is_set():
            return 130
    return 0 if right else 4


def ask(args: argparse.Namespace) -> int:
    from assistant.assembly import Assembly

    cfg = settings(args)
    if args.text and not args.text[0].strip() and len(args.text) == 1:
        raise UsageError("ask.empty", "There is nothing to answer: the text is empty.")
    with interrupts.noted() as stop:
        lines: Iterable[str] = [" ".join(args.text)] if args.text else console.lines(stop)
        assembly = Assembly(cfg)
        assembly.bus.subscribe(_warn)
        try:
            assembly.let_go_on(stop)
            for trouble in assembly.troubles:
                _warn(trouble)
            assembly.understander.load()
            for turn, line in enumerate((text.strip() for text in lines), start=1):
                if stop.is_set():
                    return 130
                if line:
                    _ask_one(assembly, line, turn, stop, args.json)
        finally:
            assembly.close()
    return 130 if stop.is_set() else _talk_code(assembly)


def _ask_one(
    assembly: Assembly, text: str, turn: int, stop: threading.Event, as_json: bool
) -> None:
    """Answers one line; ``ms`` has understand, act and reply (until the text is complete)."""
    from assistant.events import ActionDone, IntentMatched
    from assistant.tts.text import SpokenStream

    times: dict[type[Event], float] = {}

    def note(event: Event) -> None:
        times.setdefault(type(event), event.t)

    unsubscribe = assembly.bus.subscribe(note)
    begin = time.monotonic()
    try:
        answer = assembly.manager.respond(text, turn=turn, cancel=stop)
        stream = SpokenStream()
        parts: list[str] = []
        for piece in answer.pieces:
            for chunk in stream.feed(piece):
                parts.append(chunk.text)
                if not as_json:
                    print(chunk.text, end=" ", flush=True)
        for chunk in stream.finish():
            parts.append(chunk.text)
            if not as_json:
                print(chunk.text, end="", flush=True)
        reply = " ".join(parts)
        if not as_json:
            print(flush=True)
    finally:
        unsubscribe()
    assembly.manager.said(reply)
    end = time.monotonic()
    understood = times.get(IntentMatched, end)
    acted = times.get(ActionDone, understood)
    if as_json:
        emit_json(
            {
                "text": text,
                "intent": answer.intent.name,
                "intent_score": round(answer.intent.score, 3),
                "source": answer.intent.source,
                "slots": answer.intent.slots,
                "reply": reply,
                "action": answer.action,
                "ms": {
                    "understand": round((understood - begin) * 1000, 1),
                    "act": round((acted - understood) * 1000, 1),
                    "reply": round((end - acted) * 1000, 1),
                    "total": round((end - begin) * 1000, 1),
                },
            }
        )


def say(args: argparse.Namespace) -> int:
    from assistant import tts
    from assistant.audio import create_sink
    from assistant.audio.wav_sink import WavSink
    from assistant.speaking import Speaker
    from assistant.tts.text import SpokenStream

    cfg = settings(args)
    text = " ".join(args.text) if args.text else sys.stdin.read()
    stream = SpokenStream()
    chunks = [*stream.feed(text), *stream.finish()]
    result = {
        "text": text,
        "spoken": " ".join(chunk.spoken for chunk in chunks),
        "chunks": [chunk.spoken for chunk in chunks],
    }
    if not args.print:
        sink = WavSink(args.out, realtime=False) if args.out else create_sink(cfg.audio.output)
        voice = tts.create(cfg.tts, models_dir=_models_dir(cfg))
        voice.load()
        sink.volume = cfg.audio.default_volume if not args.out else 100
        sink.start()
        with interrupts.noted() as stop:
            try:
                speaker = Speaker(
                    voice,
                    sink,
                    _warn,
                    speed=cfg.tts.speed,
                    pause_ms=cfg.tts.sentence_pause_ms,
                )
                speaker.say([text], cancel=stop)
            finally:
                sink.stop()
                voice.close()
            if stop.is_set():
                return 130
        if args.out:
            result["audio_out"] = str(args.out)
    if args.json:
        emit_json(result)
    elif args.print:
        print("\n".join(result["chunks"]))
    return 0


def _warn(event: Event) -> None:
    from assistant.events import Trouble

    if isinstance(event, Trouble):
        print(f"assistant: {event.message} {event.hint}".rstrip(), file=sys.stderr)


def _models_dir(cfg: Config) -> Path | None:
    return Path(cfg.service.models_dir).expanduser() if cfg.service.models_dir else None


def models(args: argparse.Namespace) -> int:
    cfg = settings(args)
    place = _models_dir(cfg)
    names = args.names or None
    if args.action == "fetch":
        if args.all:
            names = [m["name"] for m in model_files.list_models(place)]
        rows = model_files.fetch_models(names, place)
    elif args.action == "verify":
        rows = model_files.verify_models(names, place)
    else:
        rows = model_files.list_models(place, names=names)
    if args.json:
        emit_json({"models": rows})
    else:
        for row in rows:
            print(_model_line(row))
    if args.action == "verify" and any(row["ok"] is False for row in rows):
        return 3
    return 0


def _model_line(row: dict[str, Any]) -> str:
    state = "there" if row["present"] else "not fetched"
    if row.get("ok") is not None:
        state = "ok" if row["ok"] else "; ".join(row["problems"])
    size = f"{row['size'] / 1e6:.1f} MB"
    optional = "" if row["default"] else ", optional"
    return f"{row['name']:24} {row['kind']:5} {size:>9}  {row['licence']:11} {state}{optional}"


def doctor(args: argparse.Namespace) -> int:
    from assistant import doctor as checks

    return checks.command(settings(args), args)


def skill(args: argparse.Namespace) -> int:
    from assistant.skills import command

    return command.command(settings(args), args)


def run(args: argparse.Namespace) -> int:
    from assistant import service

    return service.command(settings(args), args)


def bench(args: argparse.Namespace) -> int:
    from assistant import bench as benches

    named = [text for text in args.overrides if "=" not in text]
    args.overrides = [text for text in args.overrides if "=" in text]
    args.set = named[-1] if named else "own"
    return benches.command(settings(args), args)


def report(args: argparse.Namespace) -> int:
    from assistant.bench.report import command

    return command.command(settings(args), args)


def log_of_use(args: argparse.Namespace) -> int:
    from assistant import log_review

    return log_review.command(settings(args), args)


def teach(args: argparse.Namespace) -> int:
    from assistant import teach as teaching

    return teaching.command(settings(args), args)
