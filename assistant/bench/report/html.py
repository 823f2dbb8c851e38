"""Pieces of a page: text, tables with bars, a plot of points. Nothing is fetched, no script."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --page: #ffffff; --soft: #5b6570;
  --line: #d5dadf; --bar: #2f6fab; --good: #1a7346; --bad: #b3261e; --panel: #f4f6f8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --page: #14171a; --soft: #a3adb8;
  --line: #3a4149; --bar: #6aa9e0; --good: #6fce9c; --bad: #ff9b92; --panel: #1d2126; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 1rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; } .soft, caption { color: var(--soft); }
.wide { overflow-x: auto; } .wide:focus-visible { outline: 2px solid var(--bar); }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; padding: .25rem 0; }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
th[scope=row] { font-weight: normal; min-width: 7.5rem; overflow-wrap: anywhere; }
td.bar { width: 35%; vertical-align: middle; }
td.bar div { background: var(--bar); height: .8rem; border-radius: .2rem; min-width: 1px; }
@media (max-width: 34rem) { body { font-size: .88rem; padding: .7rem; }
  th, td { padding-right: .35rem; } td.bar { width: 20%; }
  td.number { white-space: normal; } }
.better { color: var(--good); } .worse { color: var(--bad); }
ul.cards { list-style: none; padding: 0; display: grid; gap: .6rem;
  grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); }
ul.cards li { background: var(--panel); border-radius: .5rem; padding: .7rem; }
ul.cards strong { display: block; font-size: 1.5rem; } figure { margin: 1rem 0; }
svg { width: 100%; max-width: 36rem; height: auto; display: block; }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
svg line { stroke: var(--line); } svg circle { fill: var(--bar); }
code { overflow-wrap: anywhere; font-size: .85rem; }
"""

Cell = str | tuple[str, str]
"""Text, or text and the class of its cell."""

_WIDTH, _HEIGHT = 400, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 14, 14, 40


def text(value: object) -> str:
    """Escaped."""
    return html.escape(str(value))


def document(title: str, parts: Sequence[str]) -> str:
    """The whole page."""
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def section(name: str, title: str, parts: Sequence[str]) -> str:
    """A section with its heading; name: for links, of letters and hyphens."""
    inner = "\n".join(parts)
    return (
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{text(title)}</h2>\n{inner}\n'
        "</section>"
    )


def table(caption: str, head: Sequence[Cell], rows: Sequence[Sequence[Cell]]) -> str:
    """The first cell of a row is its header. A wide one can be scrolled, by keys too."""
    titles = "".join(_cell("th", cell, ' scope="col"') for cell in head)
    lines = []
    for row in rows:
        first = _cell("th", row[0], ' scope="row"')
        lines.append(f"<tr>{first}{''.join(_cell('td', cell) for cell in row[1:])}</tr>")
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{text(caption)}">\n<table>\n'
        f"<caption>{text(caption)}</caption>\n<thead><tr>{titles}</tr></thead>\n"
        f"<tbody>\n{chr(10).join(lines)}\n</tbody>\n</table>\n</div>"
    )


def bars(
    caption: str, head: tuple[str, str], rows: Sequence[tuple[str, float, str]], most: float
) -> str:
    """A table of names with a bar each, which only repeats the value beside it.

    rows: name, length of the bar, the value as it is written; most: the longest bar.
    """
    name, value = head
    lines = []
    for label, length, shown in rows:
        share = 100 * min(1.0, max(0.0, length / most)) if most > 0 else 0.0
        lines.append(
            f'<tr><th scope="row">{text(label)}</th><td class="bar" aria-hidden="true">'
            f'<div style="width:{share:.1f}%"></div></td><td class="number">{text(shown)}</td></tr>'
        )
    return (
        f"<table>\n<caption>{text(caption)}</caption>\n<thead><tr>"
        f'<th scope="col">{text(name)}</th><td aria-hidden="true"></td>'
        f'<th scope="col" class="number">{text(value)}</th></tr></thead>\n'
        f"<tbody>\n{chr(10).join(lines)}\n</tbody>\n</table>"
    )


def points(alt: str, axes: tuple[str, str], marks: Sequence[tuple[str, float, float]]) -> str:
    """A plot of named points, the vertical axis by powers of ten.

    alt: what is to be seen, for those who cannot; marks: name, x, y (above 0).
    """
    xs, ys = [x for _, x, _ in marks], [math.log10(y) for _, _, y in marks]
    low_x, high_x = math.floor(min(xs)), math.ceil(max(xs) + 0.01)
    low_y, high_y = math.floor(min(ys)), math.ceil(max(ys) + 0.01)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low_x) / (high_x - low_x) * (_WIDTH - _LEFT - _RIGHT)
        up = (y - low_y) / (high_y - low_y) * (_HEIGHT - _TOP - _BOTTOM)
        return round(_LEFT + across, 1), round(_HEIGHT - _BOTTOM - up, 1)

    lines = []
    for x in range(low_x, high_x + 1):
        at, _ = place(x, low_y)
        lines.append(f'<line x1="{at}" y1="{_TOP}" x2="{at}" y2="{_HEIGHT - _BOTTOM}"/>')
        lines.append(f'<text x="{at}" y="{_HEIGHT - 24}" text-anchor="middle">{x}</text>')
    for power in range(low_y, high_y + 1):
        _, at = place(low_x, power)
        lines.append(f'<line x1="{_LEFT}" y1="{at}" x2="{_WIDTH - _RIGHT}" y2="{at}"/>')
        label = f"{10.0**power:.{max(0, -power)}f}"
        lines.append(f'<text x="{_LEFT - 5}" y="{at + 4}" text-anchor="end">{label}</text>')
    for name, bits, value in marks:
        across, down = place(bits, math.log10(value))
        # Names of points at the right edge would not fit behind them.
        right = across > _WIDTH * 0.7
        anchor, beside = ("end", across - 7) if right else ("start", across + 7)
        lines.append(f'<circle cx="{across}" cy="{down}" r="4"/>')
        lines.append(
            f'<text x="{beside}" y="{down - 5}" text-anchor="{anchor}">{text(name)}</text>'
        )
    return (
        f'<figure>\n<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{text(alt)}">\n'
        f"<title>{text(alt)}</title>\n{chr(10).join(lines)}\n"
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">{text(axes[0])}</text>\n'
        f'</svg>\n<figcaption class="soft">{text(axes[1])}</figcaption>\n</figure>'
    )


def _cell(tag: str, cell: Cell, attributes: str = "") -> str:
    content, kind = (cell, "") if isinstance(cell, str) else cell
    name = f' class="{kind}"' if kind else ""
    return f"<{tag}{attributes}{name}>{text(content)}</{tag}>"
