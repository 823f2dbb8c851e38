"""``python -m kvquant COMMAND``: the tools around the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from kvquant import convert_command
from kvquant.console import guarded
from kvquant.evaluation import command as eval_command
from kvquant.inspection import command as inspect_command
from kvquant.training import command as train_command

COMMANDS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    "convert": (convert_command.main, "a Hugging Face model folder to a GGUF file"),
    "eval": (eval_command.main, "what KV caches cost in quality, on held-out text"),
    "inspect": (inspect_command.main, "which tokens of a text got how many bits"),
    "train": (train_command.train, "a controller for a model: measures on text, then learns"),
    "export": (train_command.export, "the files of a trained controller"),
}


def main(argv: Sequence[str]) -> int:
    """Runs one command; returns its exit code."""
    if argv[:1] and argv[0] in COMMANDS:
        run = COMMANDS[argv[0]][0]
        return guarded(f"kvquant {argv[0]}", lambda: run(argv[1:]))
    asked = argv[:1] in (["-h"], ["--help"])
    out = sys.stdout if asked else sys.stderr
    if argv and not asked:
        print(f"kvquant: there is no command {argv[0]!r}.", file=out)
    print("usage: python -m kvquant COMMAND …", file=out)
    for name, (_, meaning) in COMMANDS.items():
        print(f"  {name:10} {meaning}", file=out)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
