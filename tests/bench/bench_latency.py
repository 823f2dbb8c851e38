"""From the last voiced sample to the first sample of the answer, at the pace of real speech.

The wake word and a timer command are spoken by the assistant's own voice into WAV files,
which are played in real time as the microphone; the answer goes to a speaker that takes
as long as a real one. Ends in one line of JSON with p50, p95 and p99 of every stage.

    .venv/bin/python tests/bench/bench_latency.py --n 20
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import machine

from assistant import config
from assistant.assembly import Assembly
from assistant.audio.base import SAMPLE_RATE
from assistant.audio.wav_sink import write_wav
from assistant.demo import speak
from assistant.hear import hear
from assistant.report import Record
from assistant.timing import STAGES, percentile

COMMANDS = [
    "Set a timer for ten minutes.",
    "Set a timer for one and a half hours.",
    "Start a twenty minute timer.",
    "Set a timer for half an hour called laundry.",
    "Set a five minute timer.",
    "Start a timer for ninety seconds.",
    "Set a timer for two hours and fifteen minutes.",
    "Set a pasta timer for eight minutes.",
    "Timer for three minutes.",
    "Please set a timer for forty five minutes.",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    args = parser.parse_args()
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as folder:
        cfg = config.load(
            None, (*args.overrides, f"service.state_dir={folder}", "turn.followup_ms=0")
        )
        assembly = Assembly(cfg)
        assembly.load()
        for i in range(args.n):
            path = Path(folder) / f"{i}.wav"
            sound = speak(assembly, cfg.wake.words[0], COMMANDS[i % len(COMMANDS)])
            write_wav(path, sound, SAMPLE_RATE)
            hear(
                assembly,
                [path],
                use_wake=True,
                realtime=True,
                channel=0,
                audio_dir=None,
                done=records.append,
                stop=threading.Event(),
            )
        assembly.close()
    timers = [r for r in records if r["intent"] == "timer.set"]
    ms = {}
    for stage in STAGES:
        values = [r["ms"][stage] for r in timers if r["ms"][stage] is not None]
        ms[stage] = {f"p{p}": round(percentile(values, p), 1) for p in (50, 95, 99)}
    result = {
        "what": "latency",
        "set": "spoken timer commands, real time",
        "n": args.n,
        "understood": len(timers),
        "misheard": [r["transcript"] for r in records if r["intent"] != "timer.set"],
        "ms": ms,
        "machine": machine.describe(),
    }
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
