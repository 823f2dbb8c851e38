"""The benchmarks of a report: what each needs, and its command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assistant.config import Config
from assistant.models import path_of

ROOT = Path(__file__).resolve().parents[3]
"""Of the packages; in a clone it has the tests too."""


class SkippedError(Exception):
    """Why a benchmark does not apply, as the rest of a sentence."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What the command line asks for.

    data, heads: folders with data sets and with trained heads (NAME.head), if any.
    settings: options of the assistant's commands that name the settings (--config, --set).
    labels: labelled sentences of real use, if any.
    """

    cfg: Config
    data: Path | None = None
    heads: Path | None = None
    settings: tuple[str, ...] = ()
    labels: Path | None = None
    quick: bool = False
    limit: int | None = None

    def below(self, name: str) -> Path:
        """A file or folder of the data. Raises SkippedError."""
        if self.data is None:
            raise SkippedError(f"no data were given (--data), it needs {name}")
        if not (self.data / name).exists():
            raise SkippedError(f"{self.data} has no {name}")
        return self.data / name

    def limited(self, quick: int | None = None) -> list[str]:
        """``--limit``: the one asked for, or in a quick run that of the benchmark."""
        limit = self.limit if self.limit is not None else quick if self.quick else None
        return [] if limit is None else ["--limit", str(limit)]

    def bench(self, *arguments: str, quick: int | None = None) -> list[str]:
        """A command of ``assistant bench``."""
        return python(
            "-m", "assistant", "bench", *arguments, "--json", *self.limited(quick), *self.settings
        )

    def model(self) -> str:
        """Path of the language model. Raises ModelError."""
        folder = self.cfg.service.models_dir
        return str(path_of(self.cfg.llm.model, Path(folder).expanduser() if folder else None))


@dataclass(frozen=True, slots=True)
class Part:
    """name: for --only; about: what is measured, in a sentence; command: may raise SkippedError
    and AssistantError."""

    name: str
    title: str
    about: str
    command: Callable[[Setup], list[str]]


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def _latency(s: Setup) -> list[str]:
    return s.bench("latency", quick=4)


def _own(s: Setup) -> list[str]:
    own = s.labels or (s.data / "own" if s.data is not None else None)
    if own is None or not own.exists():
        raise SkippedError(
            "there are no labelled sentences; assistant log label makes them of the log of use"
        )
    return s.bench("intents", "--set", "own", "--data", str(own))


def _home(s: Setup) -> list[str]:
    return s.bench("intents", "--set", "own", "--data", str(s.below("home-assistant-intents")))


def _phrasing(s: Setup) -> list[str]:
    script = _script("bench_own_intents.py")
    for name in ("clinc150", "hwu64", "sgd-dialogues"):
        s.below(name)
    return python(script, "--data", str(s.data), "--seed", "7", *(["--per", "1"] * s.quick))


def _public(name: str) -> Callable[[Setup], list[str]]:
    def command(s: Setup) -> list[str]:
        if s.heads is None or not (s.heads / f"{name}.head").is_file():
            raise SkippedError(
                f"no head was trained for it: give --heads DIR with {name}.head, and data that "
                "it was not trained on"
            )
        head = str(s.heads / f"{name}.head")
        data = str(s.below(name))
        return s.bench("intents", "--set", name, "--head", head, "--data", data, quick=200)

    return command


def _values(s: Setup) -> list[str]:
    return s.bench("values", "--data", str(s.below("recognizers-text")))


def _speech(s: Setup) -> list[str]:
    return s.bench("speech-intent", "--data", str(s.below("barista-speech")), quick=10)


def _noisy_speech(s: Setup) -> list[str]:
    noise = str(s.below("noise-rir/kitchen_a.flac"))
    data = str(s.below("barista-speech"))
    more = ("--noise", noise, "--snr", "10")
    return s.bench("speech-intent", "--data", data, *more, quick=10)


def _wer(s: Setup) -> list[str]:
    return s.bench("wer", "--data", str(s.below("librispeech")), quick=6)


def _wake(s: Setup) -> list[str]:
    noise = str(s.below("noise-rir/kitchen_a.flac"))
    return s.bench("wake", "--data", str(s.below("wake-words")), "--noise", noise, quick=30)


def _false_wakes(s: Setup) -> list[str]:
    return s.bench("wake", "--data", str(s.below("librispeech")), quick=20)


def _noise_wakes(s: Setup) -> list[str]:
    return s.bench("wake", "--data", str(s.below("noise-rir")))


def _facts(s: Setup) -> list[str]:
    script = _script("bench_facts.py")
    if s.quick:
        raise SkippedError("it takes minutes, and the run is a quick one")
    return python(script, "--half", "held")


def _engine(s: Setup) -> list[str]:
    quick = "--depths 0,512 --prompts 128 --prefill_depths= --batch 1 --rounds 1".split()
    full = "--depths 0,1024,4096 --prompts 32,128,512 --batch 1,4".split()
    return python(
        *("-m", "kvquant.cli", "bench", "--model", s.model(), "--json"),
        *("--threads", str(s.cfg.llm.threads), "--kv", "fp16,static8,static4,adaptive"),
        *(quick if s.quick else full),
    )


def _quality(s: Setup) -> list[str]:
    texts = ("wikitext2", "gutenberg", "sgd-dialogues")
    if s.data is None or not any((s.data / name).exists() for name in texts):
        raise SkippedError(f"it needs a text (--data): one of {', '.join(texts)}")
    quick = "--what kld,ppl --windows 2 --context 512 --kv static4,adaptive --budgets 3.5".split()
    full = "--what kld,ppl --windows 3 --kv static8,static4,static3,adaptive".split()
    more = "--budgets 3,3.5,4.5".split()
    return python(
        *("-m", "kvquant", "eval", "--data", str(s.data), "--model", s.model(), "--json"),
        *("--threads", str(s.cfg.llm.threads)),
        *(quick if s.quick else [*full, *more]),
    )


def _script(name: str) -> str:
    """One of the scripts that only a clone has. Raises SkippedError."""
    script = ROOT / "tests" / "bench" / name
    if not script.is_file():
        raise SkippedError("only a clone of the project has its sentences")
    return str(script)


PARTS = (
    Part(
        "latency",
        "Response time",
        "Commands spoken by its own voice at the pace of real speech: from the last voiced sample "
        "to the first sample of the answer.",
        _latency,
    ),
    Part(
        "own",
        "Own sentences",
        "Labelled sentences of real use, through the whole understanding.",
        _own,
    ),
    Part(
        "home",
        "Sentences to the home",
        "Home Assistant's English test sentences, through the sentences of skills and home.",
        _home,
    ),
    Part(
        "phrasing",
        "Free phrasing",
        "Sentences of public sets that ask for what it can do, and talk; the head for free "
        "phrasing was trained on none of them.",
        _phrasing,
    ),
    *(
        Part(name, title, "Intents of a public set, by a head that was trained for it.", command)
        for name, title, command in (
            ("clinc150", "CLINC150", _public("clinc150")),
            ("hwu64", "HWU64", _public("hwu64")),
            ("snips", "SNIPS", _public("snips")),
            ("banking77", "Banking77", _public("banking77")),
        )
    ),
    Part(
        "values",
        "Values",
        "Numbers, durations, times and dates of a public specification.",
        _values,
    ),
    Part(
        "speech-intent",
        "Speech to intent",
        "Orders to a coffee maker by people: intent, every slot, and no other slot.",
        _speech,
    ),
    Part(
        "speech-intent-kitchen",
        "Speech to intent in a kitchen",
        "The same with a kitchen's noise at 10 dB.",
        _noisy_speech,
    ),
    Part(
        "wer",
        "Word errors",
        "Human speech through the whole pipeline, cut by its own end of turn.",
        _wer,
    ),
    Part(
        "wake",
        "Wake word",
        "Recordings of wake words by people, in quiet and in a kitchen's noise at 10 dB, and of "
        "other short phrases.",
        _wake,
    ),
    Part(
        "false-wakes",
        "False wakes on speech",
        "Speech of people without a wake word.",
        _false_wakes,
    ),
    Part(
        "noise-wakes",
        "False wakes on noise",
        "A kitchen, music, machines and quiet rooms.",
        _noise_wakes,
    ),
    Part(
        "facts",
        "Questions of fact",
        "Whether it tells what it knows, and admits what it does not.",
        _facts,
    ),
    Part(
        "engine",
        "Engine",
        "Speed of the language model alone, and bytes of each kind of KV cache.",
        _engine,
    ),
    Part(
        "quality",
        "Quality of the KV caches",
        "How far a cache of few bits moves the model's next word from that of the 16-bit cache, "
        "on text that nothing was trained on.",
        _quality,
    ),
)
