"""The ``assistant`` command."""

from __future__ import annotations

import argparse
import logging
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from assistant import __version__, console, interrupts
from assistant.errors import AssistantError, MissingError

log = logging.getLogger(__name__)

INTERRUPTED = 130
"""Exit code after SIGINT or SIGTERM, as shells give it."""

MAX_DECIBELS = 100
"""Sound of 16 bits has no more than this between its loudest and its softest."""


def parser() -> argparse.ArgumentParser:
    """The command line with all its commands."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--config", metavar="FILE", type=Path, help="configuration file")
    common.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="overrides",
        help="override one setting, such as tts.speed=1.2 (may be repeated)",
    )
    common.add_argument("--json", action="store_true", help="print JSON on standard output")
    common.add_argument("--verbose", "-v", action="store_true", help="log more, on standard error")

    top = argparse.ArgumentParser(
        prog="assistant", description="A voice assistant that runs wholly on this device."
    )
    top.add_argument("--version", action="version", version=f"assistant {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, parents=[common])

    run = add("run", "Listen and answer until stopped.")
    run.add_argument("--audio", metavar="FILE", type=Path, help="a WAV file as the microphone")

    demo = add("demo", "Speak a question into the own microphone path and answer it.")
    demo.add_argument("--out", metavar="DIR", type=Path, default=Path(), help="folder of the WAVs")
    demo.add_argument("--realtime", action="store_true", help="at the pace of real speech")

    hear = add("hear", "Use audio files as the microphone, through the whole pipeline.")
    hear.add_argument("files", metavar="FILE", nargs="+", type=Path, help="WAV or FLAC files")
    hear.add_argument("--no-wake", action="store_true", help="every utterance is meant for us")
    hear.add_argument("--realtime", action="store_true", help="at the pace of real speech")
    hear.add_argument(
        "--channel", metavar="N", type=int, default=0, help="the channel with the speech, from 1"
    )
    hear.add_argument("--out", metavar="DIR", type=Path, help="folder of the answers' WAV files")

    ask = add("ask", "Answer a typed sentence; without one, each line of standard input.")
    ask.add_argument("text", nargs="*", help="what would be said")

    say = add("say", "Speak a text.")
    say.add_argument("text", nargs="*", help="what to say; without it, standard input")
    say.add_argument("--out", metavar="WAV", type=Path, help="write a WAV file instead")
    say.add_argument("--print", action="store_true", help="only print how it would be spoken")

    models = add("models", "List, fetch or verify the model files.")
    models.add_argument("action", choices=("list", "fetch", "verify"))
    models.add_argument("names", nargs="*", help="names of models; all default ones if none")
    models.add_argument("--all", action="store_true", help="the optional ones too")

    doctor = add("doctor", "Check devices, levels, models and the rest.")
    doctor.add_argument("--record", metavar="WAV", type=Path, help="record 5 s and show levels")
    doctor.add_argument("--full", action="store_true", help="check the checksums of all models")

    log_of_use = add("log", "Review the log of use that privacy.keep_log names.")
    log_of_use.add_argument(
        "action",
        choices=("replay", "label"),
        help="replay: understand all again and show what changed; label: put the intents right",
    )
    log_of_use.add_argument("file", metavar="FILE", type=Path, help="the log")
    log_of_use.add_argument(
        "--out", metavar="FILE", type=Path, help="labels, as assistant bench intents reads them"
    )

    skill = add("skill", "Begin a skill of your own, or list the skills there are.")
    what = skill.add_subparsers(dest="action", metavar="ACTION", required=True)
    text = "Write a new skill that works, to be changed: skill.py, en.yaml, examples.yaml, a test."
    new = what.add_parser("new", help=text, description=text, parents=[common])
    new.add_argument("name", help="its name, such as coffee_machine")
    new.add_argument("--dir", metavar="DIR", type=Path, help="folder to put it into")
    text = "Show which skills are loaded, from where, and what is wrong with those that are not."
    what.add_parser("list", help=text, description=text, parents=[common])

    teach = add("teach", "Teach intents of your own, by a few example sentences for each.")
    teach.add_argument("file", metavar="FILE", nargs="?", type=Path, help="the file with them")
    teach.add_argument("--check", metavar="TEXT", help="show what a sentence is understood as")
    teach.add_argument("--list", action="store_true", help="show what was taught")

    bench = add(
        "bench",
        "Measure accuracy and speed on labelled data; every row is scored. --set NAME is the label "
        "space: own, clinc150, hwu64, snips, banking77.",
    )
    bench.add_argument(
        "what", choices=("intents", "values", "speech-intent", "wer", "wake", "latency")
    )
    bench.add_argument(
        "--data", metavar="PATH", type=Path, help="file or folder; latency can do without"
    )
    bench.add_argument("--head", metavar="FILE", type=Path, help="a trained head for a public set")
    bench.add_argument(
        "--kv",
        choices=("fp16", "static8", "static4", "adaptive"),
        help="kind of KV cache of the language model (that of the settings)",
    )
    bench.add_argument("--limit", metavar="N", type=_count, help="only the first N rows")
    bench.add_argument("--out", metavar="DIR", type=Path, help="folder for tables and plots")
    bench.add_argument("--noise", metavar="FILE", type=Path, help="noise to mix into speech")
    bench.add_argument("--snr", metavar="DB", type=_decibels, default=10.0, help="its level (10)")

    report = add(
        "report",
        "Run every benchmark that applies and write one page about it, against the last one.",
    )
    report.add_argument("--data", metavar="DIR", type=Path, help="folder of the public data sets")
    report.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("assistant-report"),
        help="folder of the page and of its figures (assistant-report)",
    )
    report.add_argument("--heads", metavar="DIR", type=Path, help="trained heads, NAME.head")
    report.add_argument("--only", metavar="NAME,…", help="only these benchmarks")
    report.add_argument("--quick", action="store_true", help="few rows of each: some minutes")
    report.add_argument("--limit", metavar="N", type=_count, help="only N rows of each")
    return top


def _decibels(text: str) -> float:
    """A level within what sound of 16 bits can be mixed at."""
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    if not -MAX_DECIBELS <= level <= MAX_DECIBELS:
        limits = f"-{MAX_DECIBELS} to {MAX_DECIBELS}"
        raise argparse.ArgumentTypeError(f"{text} is no level; give {limits} dB")
    return level


def _count(text: str) -> int:
    """A whole number of rows, at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of rows; give 1 or more")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0 done, 2 wrong use, 3 something missing, 4 failed,
    130 interrupted."""
    console.prepare()
    args = parser().parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.WARNING,
        format="%(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    try:
        with interrupts.raised():
            return _command(args.command)(args)
    except AssistantError as error:
        print(f"assistant: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("assistant: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # As with `| head`: who reads has seen enough.
        return 0
    except ImportError as error:
        log.debug("%s failed", args.command, exc_info=True)
        print(
            f"assistant: The Python package {error.name or error} is not installed.\n"
            "  Install the assistant's requirements again.",
            file=sys.stderr,
        )
        return MissingError.exit_code
    except OSError as error:
        log.debug("%s failed", args.command, exc_info=True)
        place = f" ({error.filename})" if error.filename else ""
        print(f"assistant: {error.strerror or error}{place}.", file=sys.stderr)
        return AssistantError.exit_code
    except Exception as error:
        # A service has nobody who could start it again with --verbose.
        level = logging.ERROR if args.command == "run" else logging.DEBUG
        log.log(level, "%s failed", args.command, exc_info=True)
        print(
            f"assistant: It failed in a way that nobody foresaw: {type(error).__name__}: {error}\n"
            "  Please report this; --verbose shows where it happened.",
            file=sys.stderr,
        )
        return AssistantError.exit_code
    finally:
        console.give_up_output()


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    from assistant import commands

    table = {
        "run": commands.run,
        "demo": commands.demo,
        "hear": commands.hear,
        "ask": commands.ask,
        "say": commands.say,
        "models": commands.models,
        "doctor": commands.doctor,
        "bench": commands.bench,
        "report": commands.report,
        "skill": commands.skill,
        "log": commands.log_of_use,
        "teach": commands.teach,
    }
    return table[name]
