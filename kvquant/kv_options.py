"""The KV cache's settings on a command line."""

from __future__ import annotations

import argparse
from typing import Any

from kvquant.errors import SettingError
from kvquant.kv_settings import KEY_LAYOUTS, KV_KINDS

FULL = "fp16"
"""The kind that stores 16 bits and has no settings."""

LEARNED = "adaptive"
"""The kind with a controller and a budget."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the settings of quantized caches; the kind itself is each command's own option."""
    add = parser.add_argument
    add(
        "--controller_path",
        metavar="FILE",
        help="controller file for the adaptive KV cache; default: the shipped one",
    )
    add(
        "--budget_bits",
        type=float,
        metavar="X",
        help="bits per number that the adaptive KV cache may take, all included (3.5)",
    )
    add("--window", type=int, metavar="N", help="newest tokens that stay in 16 bits (32)")
    add("--sinks", type=int, metavar="N", help="first tokens that stay in 16 bits (4)")
    add(
        "--key_layout",
        choices=KEY_LAYOUTS,
        help="keys are stored after RoPE (rotated, the default) or before it (pre_rope: slower)",
    )


def keywords(options: argparse.Namespace, kind: str) -> dict[str, Any]:
    """What was given, as keywords of ``Engine.load``.

    Raises SettingError for a kind that does not exist and for a setting that the kind has not.
    """
    if kind not in KV_KINDS:
        raise SettingError(
            "kv.unavailable",
            f"The KV cache {kind!r} is not available; there is {', '.join(KV_KINDS)}.",
        )
    given = {
        "controller": options.controller_path,
        "budget_bits": options.budget_bits,
        "window": options.window,
        "sinks": options.sinks,
        "key_layout": options.key_layout,
    }
    found = {name: value for name, value in given.items() if value is not None}
    for name, option in (("controller", "controller_path"), ("budget_bits", "budget_bits")):
        if name in found and kind != LEARNED:
            raise SettingError(
                "cli.kv", f"--{option} belongs to the KV cache {LEARNED}, not to {kind}."
            )
    if found and kind == FULL:
        raise SettingError("cli.kv", f"--{next(iter(found))} belongs to quantized KV caches.")
    return found
