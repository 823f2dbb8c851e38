"""Names of colours as red, green and blue, each 0 to 255."""

from __future__ import annotations

from typing import Any

RGB: dict[str, tuple[int, int, int]] = {
    "red": (255, 0, 0),
    "orange": (255, 165, 0),
    "yellow": (255, 255, 0),
    "green": (0, 128, 0),
    "lime": (0, 255, 0),
    "turquoise": (64, 224, 208),
    "cyan": (0, 255, 255),
    "blue": (0, 0, 255),
    "purple": (128, 0, 128),
    "violet": (238, 130, 238),
    "magenta": (255, 0, 255),
    "pink": (255, 192, 203),
    "brown": (165, 42, 42),
    "white": (255, 255, 255),
    "black": (0, 0, 0),
}


def hex_code(colour: Any) -> str | None:
    """ "#ff0000" for "red" or (255, 0, 0); None for a colour that is not known."""
    rgb = RGB.get(colour.casefold().replace(" ", "")) if isinstance(colour, str) else colour
    return None if rgb is None else "#{:02x}{:02x}{:02x}".format(*rgb)
