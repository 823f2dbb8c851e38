"""The report as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.bench.report import details, html
from assistant.bench.report.last import BETTER, WORSE, Compared
from assistant.bench.report.parts import Part
from assistant.bench.report.runner import DONE, Outcome

TITLE = "How well the assistant understands, and how fast"

CARDS = (
    "own.accuracy",
    "home.accuracy",
    "phrasing.right",
    "latency.ms.p50",
    "latency.ms.p95",
    "wer.wer",
    "wake.miss_rate",
)
"""Figures that are shown large, where they have a value."""


@dataclass(frozen=True, slots=True)
class Report:
    """All of it. about: machine, versions and settings, by name; use: see ``use.statistics``."""

    date: str
    last_date: str
    about: Mapping[str, Mapping[str, str]]
    compared: Sequence[Compared]
    parts: Sequence[tuple[Part, Outcome]]
    use: Mapping[str, Any]
    quick: bool


def page(report: Report) -> str:
    """One file of HTML that needs nothing else."""
    against = f" Compared with the report of {report.last_date}." if report.last_date else ""
    rough = " A quick run on few rows: the figures are rough." if report.quick else ""
    body = [
        f"<h1>{html.text(TITLE)}</h1>",
        f'<p class="soft">Measured {html.text(report.date)}.{html.text(against + rough)}</p>',
        _cards(report.compared),
        html.section("headline", "All figures", [_headline(report.compared)]),
        html.section("use", "Real use", _use(report.use)),
    ]
    for part, outcome in report.parts:
        if outcome.status == DONE:
            body.append(html.section(part.name, part.title, _part(part, outcome)))
    if missing := [(p, o) for p, o in report.parts if o.status != DONE]:
        body.append(html.section("missing", "Not measured", [_missing(missing)]))
    body.append(html.section("about", "Machine, versions, settings", _about(report.about)))
    return html.document(TITLE, body)


def _cards(compared: Sequence[Compared]) -> str:
    by_key = {c.figure.key: c for c in compared}
    shown = [by_key[key] for key in CARDS if key in by_key]
    items = [
        f"<li><strong>{html.text(c.figure.shown(c.figure.value))}</strong>"
        f"{html.text(c.figure.title)}</li>"
        for c in shown
        if c.figure.value is not None
    ]
    return f'<ul class="cards">{"".join(items)}</ul>' if items else ""


def _headline(compared: Sequence[Compared]) -> str:
    rows: list[list[html.Cell]] = []
    for c in compared:
        kind = {BETTER: "better", WORSE: "worse"}.get(c.verdict, "")
        change = "" if c.change is None else _signed(c)
        last = "" if c.last is None else c.figure.shown(c.last)
        rows.append(
            [
                c.figure.title,
                (c.figure.shown(c.figure.value), "number"),
                (last, "number"),
                (change, "number"),
                (c.verdict, kind),
            ]
        )
    head: list[html.Cell] = ["figure", ("now", "number"), ("last", "number"),
                             ("change", "number"), "which is"]  # fmt: skip
    return html.table("Each figure, its value in the last report, and the change", head, rows)


def _signed(compared: Compared) -> str:
    change = compared.change
    assert change is not None
    shown = compared.figure.shown(abs(change))
    if compared.figure.unit == "%":
        shown = shown.replace("%", "points")
    return f"{'+' if change > 0 else '−' if change < 0 else '±'}{shown}"


def _use(use: Mapping[str, Any]) -> list[str]:
    if "reason" in use:
        return [f"<p>No figures: {html.text(use['reason'])}.</p>"]
    parts = [
        f"<p>{use['turns']:,} turns from {html.text(use['first'])} to {html.text(use['last'])}: "
        f"{use['commands']:,} commands, {use['talk']:,} times talk.</p>"
    ]
    for key, name in (
        ("by_source", "understood by"),
        ("by_outcome", "came out as"),
        ("by_intent", "command"),
    ):
        counts = use[key]
        if counts:
            rows = [(label, float(n), f"{n:,}") for label, n in counts.items()]
            most = max(counts.values())
            parts.append(html.bars(f"Turns, {name}", (name, "turns"), rows, most))
    return parts


def _part(part: Part, outcome: Outcome) -> list[str]:
    command = " ".join(outcome.command[1:])
    return [
        f"<p>{html.text(part.about)}</p>",
        *details.of(part.name, outcome.row),
        f'<p class="soft">{outcome.seconds:,.0f} s: <code>python {html.text(command)}</code></p>',
    ]


def _missing(parts: Sequence[tuple[Part, Outcome]]) -> str:
    rows: list[list[html.Cell]] = [[p.title, o.status, o.reason] for p, o in parts]
    return html.table("What was not measured, and why", ["benchmark", "was", "because"], rows)


def _about(about: Mapping[str, Mapping[str, str]]) -> list[str]:
    return [
        html.table(name, ["what", "value"], [[key, value] for key, value in values.items()])
        for name, values in about.items()
    ]
