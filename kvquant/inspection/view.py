"""A text with its tokens coloured by their precision, for a terminal and as a page of HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator

from kvquant.inspection.classes import FULL, Precision

_STEPS = (
    (2.25, 17, "#c6dbef"), (2.75, 24, "#deebf7"), (3.25, 22, "#e5f5e0"), (3.75, 58, "#fff7bc"),
    (4.5, 94, "#fee391"), (6.0, 130, "#fdae6b"), (FULL - 0.01, 88, "#fb6a4a"),
)  # fmt: skip
"""(upper limit of bits, background in a terminal's 256 colours, background on a page)."""

_RESET = "\x1b[0m"


def _step(bits: float) -> int | None:
    """Which of the steps; None for a token in full precision."""
    return next((i for i, (limit, _, _) in enumerate(_STEPS) if bits <= limit), None)


def terminal(found: Precision, *, colour: bool) -> str:
    """With colours: each token on its colour, those in 16 bits plain.

    Without: the bits of each token in braces behind it.
    """
    if not colour:
        return "".join(
            _visible(piece) if bits >= FULL else f"{_visible(piece)}{{{bits:.1f}}}"
            for piece, bits in zip(found.pieces, found.per_token, strict=True)
        )
    parts = []
    for piece, bits in zip(found.pieces, found.per_token, strict=True):
        step = _step(float(bits))
        if step is None:
            parts.append(_visible(piece))
            continue
        on = f"\x1b[38;5;255;48;5;{_STEPS[step][1]}m"
        # A coloured line end would paint the rest of the terminal's line.
        parts.append(
            "\n".join(f"{on}{x}{_RESET}" if x else "" for x in _visible(piece).split("\n"))
        )
    return "".join(parts)


def legend() -> str:
    """What a terminal's colours mean."""
    marks = [
        f"\x1b[38;5;255;48;5;{paint}m {name} {_RESET}"
        for (_, paint, _), name in zip(_STEPS, _ranges(), strict=True)
    ]
    return f"bits: {''.join(marks)} 16 (plain)"


def _ranges() -> Iterator[str]:
    below = None
    for limit, _, _ in _STEPS:
        if below is None:
            yield f"≤ {limit:g}"
        elif limit > 8:
            yield f"> {below:g}"
        else:
            yield f"– {limit:g}"
        below = limit


def page(found: Precision, title: str, summary: str) -> str:
    """One HTML file without anything from elsewhere; a token tells its number and bits."""
    spans = []
    for i, (piece, bits) in enumerate(zip(found.pieces, found.per_token, strict=True)):
        step = _step(float(bits))
        style = "" if step is None else f' class="s{step}"'
        tip = f"token {i}, {bits:.2f} bits"
        spans.append(f'<span{style} title="{tip}">{html.escape(piece)}</span>')
    rules = "\n".join(f".s{i} {{ background: {c}; }}" for i, (_, _, c) in enumerate(_STEPS))
    marks = " ".join(
        f'<span class="s{i}">&nbsp;{html.escape(name)}&nbsp;</span>'
        for i, name in enumerate(_ranges())
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>
body {{ font: 16px/1.7 system-ui, sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em;
  color: #222; background: #fff; }}
pre {{ white-space: pre-wrap; font: inherit; }}
p.legend {{ font-size: 14px; }}
{rules}
</style></head><body>
<h1>{html.escape(title)}</h1>
<pre>{html.escape(summary)}</pre>
<p class="legend">bits: {marks} 16 bits: no colour</p>
<pre>{"".join(spans)}</pre>
</body></html>
"""


def _visible(text: str) -> str:
    """Control characters of a text must not reach the terminal."""
    return "".join(
        c if c.isprintable() or c == "\n" else "�" if c != "\t" else "    " for c in text
    )
