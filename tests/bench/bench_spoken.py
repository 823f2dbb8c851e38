"""Spoken household commands and talk through the whole pipeline: heard right, done right.

    .venv/bin/python tests/bench/bench_spoken.py --data DIR --cache DIR2 [--half held]

Speaks the texts of spoken.yaml by voices in turn (the assistant's own at three speeds, and those
of espeak-ng and flite where they are installed; --voice adds another), in a quiet room, in a room
that echoes and over a kitchen's noise, and scores what is heard and understood; then people who
say no command. DIR is the folder of the public data sets; the sounds are kept in DIR2. A home of
paper is there. Ends in one line of JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

import machine
import numpy as np
import yaml
from numpy.typing import NDArray
from paper_home import PaperHome

from assistant import config, home
from assistant.assembly import Assembly
from assistant.audio.base import SAMPLE_RATE
from assistant.audio.clocked_sink import NullSink
from assistant.audio.resample import Resampler, to_pcm
from assistant.audio.sound_reader import SoundReader
from assistant.audio.wav_sink import write_wav
from assistant.audio.wavfile import WavSource
from assistant.bench.clips import read_clips
from assistant.bench.word_errors import word_errors
from assistant.intent.normalize import normalize
from assistant.intent.values.number import find_numbers
from assistant.report import Record, TurnRecorder
from assistant.state import Clock

TEXTS = Path(__file__).with_name("spoken.yaml")
NOW = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)

OWN_SPEEDS = (0.85, 1.0, 1.25)
FLITE = ("slt", "rms", "awb")
ESPEAK = ("en-us", "en-gb")

CONDITIONS = ("quiet", "room", "20 dB", "10 dB")
LEVEL = 0.25
HISS = 4.0
LEAD_S, TAIL_S = 0.5, 1.2

NO_COMMAND = ("system.hello", "system.thanks", "system.stop")
"""What nothing is done for."""

Sound = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Item:
    """intent: "" for talk."""

    text: str
    intent: str
    part: str


@dataclass(frozen=True, slots=True)
class Heard:
    """commands: intent and slots, as understood; all: the words of every turn."""

    all: str
    commands: tuple[tuple[str, dict[str, Any]], ...]


def items(half: str) -> list[Item]:
    """Every other one, so that the halves have the same kinds."""
    content = yaml.safe_load(TEXTS.read_text(encoding="utf-8"))
    found = []
    for part in ("own", "public"):
        listed = [Item(t, i, part) for i, texts in content[part].items() for t in texts]
        found.append(listed)
    found.append([Item(text, "", "talk") for text in content["talk"]])
    begin = {"all": None, "work": 0, "held": 1}[half]
    return [i for part in found for i in (part if begin is None else part[begin::2])]


# -- voices ------------------------------------------------------------------------------


def voices(assembly: Assembly, given: list[str]) -> dict[str, Callable[[str, Path], None]]:
    def own(speed: float) -> Callable[[str, Path], None]:
        def speak(text: str, path: Path) -> None:
            spoken = list(assembly.voice().synthesize(text, speed=speed))
            write_wav(path, np.concatenate([s.samples for s in spoken]), spoken[0].rate)

        return speak

    def command(template: str) -> Callable[[str, Path], None]:
        def speak(text: str, path: Path) -> None:
            parts = [p.format(text=text, wav=path) for p in shlex.split(template)]
            subprocess.run(parts, check=True, capture_output=True)

        return speak

    found = {f"own {speed}": own(speed) for speed in OWN_SPEEDS}
    if shutil.which("flite"):
        found |= {name: command(f"flite -voice {name} -t {{text}} -o {{wav}}") for name in FLITE}
    if shutil.which("espeak-ng"):
        found |= {f"espeak {v}": command(f"espeak-ng -v {v} -w {{wav}} {{text}}") for v in ESPEAK}
    for voice in given:
        name, _, template = voice.partition("=")
        found[name] = command(template)
    return found


def spoken(
    assembly: Assembly, chosen: list[Item], cache: Path, given: list[str]
) -> list[tuple[Item, str, Path]]:
    """Each item with its voice and its sound, which is made where it is not there yet."""
    cache.mkdir(parents=True, exist_ok=True)
    known = voices(assembly, given)
    names = list(known)
    found = []
    for item in chosen:
        digest = hashlib.sha256(item.text.encode()).hexdigest()
        name = names[int(digest[:8], 16) % len(names)]
        path = cache / f"{name.replace(' ', '_')}-{digest[:12]}.wav"
        if not path.exists():
            part = path.with_suffix(".part")
            known[name](item.text, part)
            part.replace(path)
        found.append((item, name, path))
    return found


# -- rooms -------------------------------------------------------------------------------


def read(path: Path) -> Sound:
    """16 kHz mono, -1 to 1."""
    reader = SoundReader(path)
    try:
        sound = np.concatenate(list(reader.blocks())).mean(axis=1)
        resampler = Resampler(reader.rate, SAMPLE_RATE)
        return np.concatenate([resampler.process(sound), resampler.flush()])
    finally:
        reader.close()


class Rooms:
    def __init__(self, folder: Path) -> None:
        self._noise = read(folder / "kitchen_a.flac")
        self._echo = read(folder / "rir1.flac")

    def mix(self, sound: Sound, condition: str, rng: np.random.Generator) -> Sound:
        """At one level, with silence or noise around it."""
        sound = np.trim_zeros(sound)
        if condition == "room":
            sound = np.convolve(sound, self._echo / np.abs(self._echo).max())
        sound = sound / np.abs(sound).max() * LEVEL
        lead, tail = (np.zeros(round(s * SAMPLE_RATE), np.float32) for s in (LEAD_S, TAIL_S))
        whole = np.concatenate([lead, sound, tail])
        if condition.endswith("dB"):
            ratio = 10 ** (float(condition.split()[0]) / 20)
            at = int(rng.integers(0, len(self._noise) - len(whole)))
            noise = self._noise[at : at + len(whole)]
            whole = whole + noise * (rms(sound) / rms(noise) / ratio)
        return whole.astype(np.float32)


def rms(sound: Sound) -> float:
    return float(np.sqrt((sound.astype(np.float64) ** 2).mean()))


# -- hearing and scoring -----------------------------------------------------------------


def heard(assembly: Assembly, path: Path) -> Heard:
    records: list[Record] = []
    forget = assembly.bus.subscribe(TurnRecorder(records.append))
    try:
        source = WavSource(path, realtime=False)
        assembly.pipeline(source, NullSink(realtime=False), use_wake=False).run(threading.Event())
    finally:
        forget()
    # nothing that was asked back may be answered by the next text
    assembly.manager.respond("never mind", turn=0, cancel=threading.Event())
    done = [(r["intent"], r["slots"]) for r in records if r["source"] in ("grammar", "heads")]
    return Heard(" ".join(r["transcript"] for r in records), tuple(done))


def plain(text: str) -> list[str]:
    """Words as they sound, however numbers are written."""
    text = re.sub(r"\b(\d{1,2}):00\b", r"\1", text.lower())
    text = re.sub(r"(\d):(\d)", r"\1 \2", text)
    text = text.replace("%", " percent").replace("per cent", "percent")
    text = re.sub(r"(?<=[\d\s])([ap])\.? ?m\b\.?", r" \1m", text)
    text = normalize(text.replace("-", " "))
    for span in reversed(find_numbers(text)):
        text = f"{text[: span.start]}{span.value}{text[span.end :]}"
    return [w for w in re.findall(r"[a-z0-9.']+", text) if w.strip(".")]


def numbers(text: str) -> list[str]:
    return [word for word in plain(text) if word[0].isdigit()]


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return plain(one) == plain(other)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(alike(a, b) for a, b in pairs)
    return bool(one == other)


def same_slots(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(alike(one[k], other[k]) for k in one)


def share(right: int, of: int) -> str:
    return f"{right}/{of} = {100 * right / max(1, of):.1f} %"


class Score:
    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    def command(self, item: Item, right: dict[str, Any], got: Heard) -> str:
        """What was wrong, "" for nothing."""
        self.count["commands"] += 1
        said, words = plain(item.text), plain(got.all)
        self.count["words"] += len(said)
        self.count["errors"] += word_errors(said, words)
        self.count["transcripts"] += said == words
        intents = [intent for intent, _ in got.commands]
        intent = intents == [item.intent]
        slots = intent and same_slots(dict(got.commands[0][1]), right)
        self.count["intents"] += intent
        self.count["slots"] += slots
        altered = bool(intents) and not slots and numbers(got.all) != numbers(item.text)
        self.count["numbers"] += altered
        self.count["nothing"] += not intents
        if slots:
            return ""
        return "NUMBER" if altered else "slots" if intent else "intent" if intents else "nothing"

    def talk(self, got: Heard) -> str:
        self.count["talk"] += 1
        done = [intent for intent, _ in got.commands if intent not in NO_COMMAND]
        self.count["taken"] += bool(done)
        return " ".join(done)

    def figures(self) -> dict[str, object]:
        c = self.count
        return {
            "commands": c["commands"],
            "wer": round(c["errors"] / max(1, c["words"]), 4),
            "transcript_right": round(c["transcripts"] / max(1, c["commands"]), 4),
            "intent_right": round(c["intents"] / max(1, c["commands"]), 4),
            "slots_right": round(c["slots"] / max(1, c["commands"]), 4),
            "number_altered_and_done": c["numbers"],
            "nothing_done": c["nothing"],
            "talk": c["talk"],
            "talk_taken_for_a_command": c["taken"],
        }


def people(data: Path) -> Iterator[Path]:
    """Clips of people who say no command."""
    for name in ("asr-misc", "spoken-digits", "librispeech"):
        yield from (clip.path for clip in read_clips(data / name))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where the sounds are kept")
    parser.add_argument("--half", choices=("all", "work", "held"), default="held")
    parser.add_argument("--voice", action="append", default=[], help="NAME=COMMAND {text} {wav}")
    parser.add_argument("--conditions", default=",".join(CONDITIONS))
    parser.add_argument("--items", default=":", help="which of them, as FROM:TO")
    parser.add_argument("--people", action="store_true", help="people who say no command, too")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    args = parser.parse_args()
    home.create = lambda cfg: PaperHome()  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        quiet = (
            f"service.state_dir={folder}",
            "home.area=kitchen",
            "tts.backend=none",
            # each sound is a conversation of its own
            "dialogue.forget_after_s=0",
            "dialogue.max_tokens=16",
        )
        speaking = Assembly(config.load(None, (f"service.state_dir={folder}/voice",)))
        begin, _, end = args.items.partition(":")
        chosen = items(args.half)[int(begin or 0) : int(end) if end else None]
        sounds = spoken(speaking, chosen, args.cache, args.voice)
        speaking.close()
        clock = Clock(now=lambda: NOW, boot=lambda: 1000.0, boot_id="bench")
        assembly = Assembly(config.load(None, (*quiet, *args.overrides)), clock=clock)
        assembly.load()
        right: dict[str, dict[str, Any]] = {}
        for item, _, _ in sounds:
            if item.intent:
                understood = assembly.understander.understand(item.text)
                if understood is None or understood.name != item.intent or understood.asks:
                    raise SystemExit(f"spoken.yaml: {item.text!r} is {understood}")
                right[item.text] = dict(understood.slots)
        rooms = Rooms(args.data / "noise-rir")
        figures: dict[str, object] = {}
        by_voice: dict[str, list[int]] = {}
        for condition in args.conditions.split(","):
            score, rng = Score(), np.random.default_rng(7)
            for item, voice, path in sounds:
                mixed = Path(folder) / "clip.wav"
                sound = rooms.mix(read(path), condition, rng)
                hiss = rng.normal(0.0, HISS, len(sound)).astype(np.float32)
                write_wav(mixed, to_pcm(sound * 32768 + hiss), SAMPLE_RATE)
                got = heard(assembly, mixed)
                if item.intent:
                    wrong = score.command(item, right[item.text], got)
                    by_voice.setdefault(voice, []).append(not wrong)
                else:
                    wrong = score.talk(got)
                if wrong and args.show:
                    done = "; ".join(f"{intent} {slots}" for intent, slots in got.commands)
                    print(f"{condition} | {voice} | {wrong} | {item.text} | {got.all} | {done}")
                    sys.stdout.flush()
            figures[condition] = score.figures()
        if args.people:
            done = total = 0
            for path in people(args.data):
                got = heard(assembly, path)
                taken = [i for i, _ in got.commands if i not in NO_COMMAND]
                total += 1
                done += bool(taken)
                if taken and args.show:
                    print(f"people | {path.name} | {got.all} | {taken}")
            figures["people"] = {"clips": total, "commands_done": done}
        assembly.close()
    result = {
        "what": "spoken",
        "half": args.half,
        "conditions": figures,
        "by_voice": {v: share(sum(r), len(r)) for v, r in sorted(by_voice.items())},
        "machine": machine.describe(),
    }
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
