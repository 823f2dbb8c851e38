"""Sound devices by name: finds the one that the configuration means. Pure logic."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.audio.base import SAMPLE_RATE
from assistant.errors import DeviceError

Direction = Literal["input", "output"]

COMMON_RATES = (48_000, 44_100, 32_000, 24_000, 22_050, 96_000, 16_000, 8_000)
"""Hz, tried in this order after the device's own rate."""

MIX_CHANNELS = 8
"""A device with more inputs than this is a software one that mixes by itself."""

_CARD = re.compile(r"\s*\(hw:\d+,\d+\)")


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A sound device as PortAudio lists it.

    inputs, outputs: most channels it offers; default_rate: Hz; is_default: it is the
    system's choice for input or output; index: its number, which changes when devices
    are plugged.
    """

    name: str
    inputs: int
    outputs: int
    default_rate: int
    is_default: bool
    index: int = 0
    default_input: bool = False
    default_output: bool = False

    def channels(self, direction: Direction) -> int:
        return self.inputs if direction == "input" else self.outputs


def find_device(devices: Sequence[DeviceInfo], wanted: str, direction: Direction) -> DeviceInfo:
    """The device whose name contains ``wanted`` (upper and lower case alike).

    "" is the system's default, or the first usable device if there is none. A whole name
    beats a part of one; a card number in ``wanted`` such as "(hw:1,0)" is only a
    preference, since it changes with the order of plugging.

    Raises:
        DeviceError: no device at all, none of that name, or several.
    """
    what = "microphone" if direction == "input" else "speaker"
    usable = [d for d in devices if d.channels(direction) > 0]
    if not usable:
        raise DeviceError(
            "audio.no_device",
            f"No {what} was found.",
            f"Plug in a {what}, and check that this user may use it (group audio).",
        )
    if not wanted.strip():
        for device in usable:
            if device.default_input if direction == "input" else device.default_output:
                return device
        return usable[0]
    for text in (wanted, _CARD.sub("", wanted)):
        found = _match(usable, text.strip().casefold())
        if len({d.name for d in found}) == 1:
            return found[0]
        if found:
            raise DeviceError(
                "audio.ambiguous_device",
                f'The name "{wanted}" fits several {what}s: {_names(found)}.',
                "Write more of the name.",
            )
    raise DeviceError(
        "audio.unknown_device",
        f'There is no {what} "{wanted}"; there is {_names(usable)}.',
        _suggest(usable, wanted),
    )


def _match(devices: Sequence[DeviceInfo], text: str) -> list[DeviceInfo]:
    names = [(d, d.name.casefold()) for d in devices]
    whole = [d for d, name in names if text in (name, _CARD.sub("", name))]
    return whole or [d for d, name in names if text and text in name]


def _names(devices: Sequence[DeviceInfo]) -> str:
    return ", ".join(f'"{name}"' for name in dict.fromkeys(d.name for d in devices))


def _suggest(devices: Sequence[DeviceInfo], wanted: str) -> str:
    """A "did you mean", by whole names and by their words."""
    by_text: dict[str, str] = {}
    for device in devices:
        name = _CARD.sub("", device.name)
        for text in (name, *re.split(r"[\s:,()-]+", name)):
            by_text.setdefault(text.casefold(), text)
    close = difflib.get_close_matches(wanted.casefold(), list(by_text), n=1, cutoff=0.6)
    return f'Did you mean "{by_text[close[0]]}"?' if close else ""


def input_formats(device: DeviceInfo, rate: int = 0, channel: int = 0) -> list[tuple[int, int]]:
    """(rate, channels) to try for a microphone, best first.

    16 kHz as the recogniser wants it, else the device's own rate; ``rate`` other than 0
    is the only one tried. All channels of a hardware device are opened when they are to be
    mixed, and as many as needed when one is chosen.

    Raises:
        DeviceError: the device has no such channel.
    """
    most = device.inputs
    if channel > most:
        raise DeviceError(
            "audio.no_channel",
            f'The microphone "{device.name}" has {most} channel{"s" * (most > 1)}, '
            f"so there is no channel {channel}.",
            "Set audio.input.channel to one that exists, or to 0.",
        )
    if channel:
        counts = dict.fromkeys((channel, most))
    elif most <= MIX_CHANNELS:
        counts = dict.fromkeys((most, min(most, 2), 1))
    else:
        counts = dict.fromkeys((1, 2, most))
    rates = (rate,) if rate else (SAMPLE_RATE, device.default_rate, *COMMON_RATES)
    return [(r, c) for r in dict.fromkeys(rates) for c in counts]


def output_formats(device: DeviceInfo, rate: int = 0) -> list[tuple[int, int]]:
    """(rate, channels) to try for a speaker, best first: its own rate, two channels."""
    most = device.outputs
    counts = dict.fromkeys((min(most, 2), 1, most))
    rates = (rate,) if rate else (device.default_rate, *COMMON_RATES)
    return [(r, c) for r in dict.fromkeys(rates) for c in counts]
