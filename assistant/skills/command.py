"""``assistant skill``: a new skill to fill in, and which skills there are."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from assistant.config import Config
from assistant.skills import own, template
from assistant.skills.registry import SKILLS, Registry
from assistant.state import State


def command(cfg: Config, args: argparse.Namespace) -> int:
    """Exit codes: 0 done, 2 wrong name, 4 when a skill of the user's is left out."""
    if args.action == "new":
        return _new(cfg, args)
    rows = skills(cfg)
    if args.json:
        print(json.dumps({"skills": rows}, ensure_ascii=False), flush=True)
    else:
        for row in rows:
            state = "ok" if row["ok"] else f"left out: {row['error']} {row['hint']}".rstrip()
            print(f"{row['name']:16} {row['origin']:40} {state}")
    return 0 if all(row["ok"] for row in rows) else 4


def skills(cfg: Config) -> list[dict[str, Any]]:
    """One row per skill: name, origin, ok, error, hint, abilities."""
    # made with an empty state: what is real is not touched by looking
    with tempfile.TemporaryDirectory(prefix="assistant-") as folder:
        state = State(Path(folder) / "state.db")
        try:
            return Registry.load(cfg, state).rows()
        finally:
            state.close()


def _new(cfg: Config, args: argparse.Namespace) -> int:
    parent = (args.dir or own.folders(cfg)[0]).expanduser()
    there = {path.name for folder in own.folders(cfg) for path in folder.glob("*/")}
    files = template.write(args.name, parent, set(SKILLS) | there)
    if args.json:
        row = {"name": args.name, "folder": str(parent / args.name), "files": list(map(str, files))}
        print(json.dumps(row, ensure_ascii=False), flush=True)
        return 0
    for path in files:
        print(path)
    if args.dir and parent not in own.folders(cfg):
        print(f"To use it, set skills.folder: {parent} in config.yaml.")
    print(f"Try it: python -m pytest {files[-1]}")
    return 0
