"""What is said to a home, as templates of plain words with the names that it has.

The commonest commands only: they help the recogniser, the grammar decides.
"""

from __future__ import annotations

from assistant.home.base import Snapshot
from assistant.intent.spoken_forms import LISTS

NAME, AREA = "home_name", "home_area"

MOST_NAMES = 400

_THINGS = "(light|lights|lamp|lamps|fan|fans|heating|blinds|curtains|everything)"
_IN = f"[(in|of) [the] {{{AREA}}}]"
_COLORS = "(red|green|blue|white|yellow|orange|purple|pink|warmer|cooler|brighter|darker)"

TEMPLATES = (
    f"(turn|switch) (on|off) [all] [the|my] ({{{NAME}}}|{_THINGS}) {_IN}",
    f"(turn|switch) [all] [the|my] ({{{NAME}}}|{_THINGS}) {_IN} (on|off)",
    f"(turn|switch) (on|off) [all] [the|my] {{{AREA}}} {_THINGS}",
    f"(turn|switch) [all] [the|my] {{{AREA}}} {_THINGS} (on|off)",
    f"({{{NAME}}}|[{{{AREA}}}] {_THINGS}) (on|off)",
    f"(open|close|shut|lock|unlock|toggle|start|stop|run|activate) [the|my] {{{NAME}}} {_IN}",
    f"(open|close|shut) [all] [the|my] [{{{AREA}}}] (blinds|curtains|shutters|windows) {_IN}",
    f"(set|dim|brighten|turn) [down|up] [the|my] ({{{NAME}}}|[{{{AREA}}}] (light|lights)) {_IN}"
    " [brightness] [to {percent}]",
    f"(make|turn|set) [the|my] ({{{NAME}}}|[{{{AREA}}}] (light|lights)) {_IN} [to] {_COLORS}",
    f"set [the|my] ({{{NAME}}}|[{{{AREA}}}] (temperature|heating|thermostat)) {_IN}"
    " to {number} [degrees]",
    f"(is|are) [the|my] ({{{NAME}}}|[{{{AREA}}}] {_THINGS}) {_IN}"
    " (on|off|open|closed|shut|locked|unlocked|running)",
    f"what is the [{{{AREA}}}] (temperature|humidity) {_IN}",
    f"what is the (temperature|state) of [the] {{{NAME}}}",
    f"how (warm|cold|hot|humid) is it [in [the] {{{AREA}}}]",
)


def spoken_home(home: Snapshot) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The templates and the lists of names in them; nothing for a home without names."""
    names = [name for entity in home.entities for name in (entity.name, *entity.aliases)]
    areas = [name for area in home.areas for name in (area.name, *area.aliases)]
    areas += [name for floor in home.floors for name in (floor.name, *floor.aliases)]
    lists = {NAME: _plain(names), AREA: _plain(areas)}
    empty = [kind for kind, values in lists.items() if not values]
    if len(empty) == len(lists):
        return (), {}
    values = {kind: LISTS[kind] for kind in ("number", "percent")}
    return tuple(_without(template, empty) for template in TEMPLATES), {**lists, **values}


def _plain(names: list[str]) -> tuple[str, ...]:
    """Names without signs that mean something in a template."""
    cleaned = ("".join(c if c.isalnum() or c in "'-" else " " for c in name) for name in names)
    kept = dict.fromkeys(" ".join(name.split()) for name in cleaned)
    return tuple(name for name in kept if name)[:MOST_NAMES]


def _without(template: str, empty: list[str]) -> str:
    """The template without lists in which there is nothing: "here" takes their place."""
    for kind in empty:
        template = template.replace(f"{{{kind}}}", "here")
    return template
