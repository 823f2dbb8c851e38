"""Skills that the user brings: folders with skill.py and en.yaml, and installed packages.

One that is broken is left out and named, with the file, the line and the reason; the others
and the rest of the assistant go on.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import platformdirs

from assistant.config import Config
from assistant.errors import AssistantError, SkillError
from assistant.intent import sentence_file
from assistant.intent.grammar import EXAMPLES, SUFFIXES, Grammar
from assistant.skills.base import Skill
from assistant.skills.guard import FAILURES, check_declared
from assistant.state import State

log = logging.getLogger(__name__)

GROUP = "assistant.skills"
"""Entry points of packages that bring a skill: the name of the skill = its class."""

SYSTEM_FOLDER = Path("/etc/assistant/skills")
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class Loaded:
    """One skill of the user's that was found.

    origin: its folder, or the package that brought it; folder: where its sentences are.
    skill: None when it is left out; error then says why.
    """

    name: str
    origin: str
    folder: Path | None = None
    skill: Skill | None = None
    error: AssistantError | None = None


def folders(cfg: Config) -> list[Path]:
    """Where skills are looked for: the folder in the configuration, or the usual two."""
    if cfg.skills.folder:
        return [Path(cfg.skills.folder).expanduser()]
    try:
        home = Path(platformdirs.user_config_dir("assistant", appauthor=False)) / "skills"
    except RuntimeError:  # no home folder
        return [SYSTEM_FOLDER]
    return [home, SYSTEM_FOLDER]


def load_all(cfg: Config, state: State, taken: set[str]) -> list[Loaded]:
    """Every skill of the user's; taken: names that are no longer free."""
    taken = set(taken)
    found: list[Loaded] = []
    for name, origin, make in _candidates(cfg):
        if cfg.skills.own.get(name, {}).get("enabled") is False:
            continue
        try:
            if name in taken:
                raise _left_out(name, f"{origin}: there is another skill of the name {name}")
            skill, folder = make(state)
            found.append(Loaded(name, origin, folder, skill))
        except (AssistantError, OSError) as failure:
            error = _told(name, origin, failure)
            log.debug("the skill %s is left out", name, exc_info=True)
            found.append(Loaded(name, origin, error=error))
        taken.add(name)
    return found


def names(cfg: Config) -> set[str]:
    """Names of all that are found, be they broken or switched off; none is run."""
    return {name for name, _, _ in _candidates(cfg)}


def load_folder(folder: Path, cfg: Config, state: State) -> Skill:
    """The skill in a folder, its sentences checked. Raises SkillError, IntentError."""
    name = folder.name
    if not NAME.fullmatch(name):
        reason = "the folder's name must be lower case letters, digits and _"
        raise _left_out(name, f"{folder}: {reason}")
    if not (folder / "skill.py").is_file():
        raise _left_out(name, f"{folder}: there is no file skill.py")
    if folder.stat().st_mode & 0o002 or (folder / "skill.py").stat().st_mode & 0o002:
        reason = "everybody may write it, so anybody could run programs as the assistant"
        raise _left_out(name, f"{folder}: {reason}", f"Run: chmod -R o-w {folder}")
    module = _module(name, folder)
    made = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Skill)
        and value.__module__ == module.__name__
    ]
    if len(made) != 1:
        count = "there is no class" if not made else f"there are {len(made)} classes"
        reason = f"{count} derived from Skill; one is needed"
        raise _left_out(name, f"{folder / 'skill.py'}: {reason}")
    skill = _made(made[0], name, folder, cfg, state)
    check_sentences(name, folder)
    return skill


def check_sentences(name: str, folder: Path) -> None:
    """Raises IntentError or SkillError that name the file and, where it can, the line."""
    files = sorted(path for suffix in SUFFIXES for path in folder.glob(suffix))
    files = [path for path in files if path.name != EXAMPLES]
    if not files:
        raise _left_out(name, f"{folder}: there is no en.yaml with its sentences")
    for path in files:
        for intent in sentence_file.read(path).intents:
            if not intent.startswith(f"{name}."):
                reason = f'the intent "{intent}" must begin with "{name}."'
                raise sentence_file.mistake(path, reason, sentence_file.line_of(path, intent))
    Grammar([folder]).load()


def _candidates(
    cfg: Config,
) -> Iterator[tuple[str, str, Callable[[State], tuple[Skill, Path]]]]:
    """Name, origin and what makes it, in the order of precedence."""
    for parent in folders(cfg):
        try:
            inside = sorted(parent.iterdir())
        except OSError as error:
            # the usual folders need not be there
            if cfg.skills.folder or not isinstance(error, FileNotFoundError | NotADirectoryError):
                yield parent.name, str(parent), _failing(error)
            continue
        for folder in inside:
            if _is_meant(folder):
                yield folder.name, str(folder), _from_folder(folder, cfg)
    for point in entry_points(group=GROUP):
        package = point.dist.name if point.dist else point.module
        yield point.name, f"package {package}", _from_package(point, cfg)


def _is_meant(folder: Path) -> bool:
    """Whether there is something of a skill in it, be it broken or forbidden."""
    try:
        names = {path.name for path in folder.iterdir()}
    except NotADirectoryError:
        return False
    except OSError:
        return True
    return bool(names & {"skill.py", "en.yaml"})


def _failing(error: OSError) -> Callable[[State], tuple[Skill, Path]]:
    def make(state: State) -> tuple[Skill, Path]:
        raise error

    return make


def _from_folder(folder: Path, cfg: Config) -> Callable[[State], tuple[Skill, Path]]:
    return lambda state: (load_folder(folder, cfg, state), folder)


def _from_package(point: Any, cfg: Config) -> Callable[[State], tuple[Skill, Path]]:
    def make(state: State) -> tuple[Skill, Path]:
        try:
            kind = point.load()
        except FAILURES as error:
            raise _left_out(point.name, f"{point.value}: {_reason(error)}") from error
        file = getattr(sys.modules.get(getattr(kind, "__module__", "")), "__file__", None)
        if not (isinstance(kind, type) and issubclass(kind, Skill) and file):
            raise _left_out(point.name, f"{point.value} is no class derived from Skill")
        folder = Path(file).parent
        skill = _made(kind, point.name, folder, cfg, state)
        check_sentences(point.name, folder)
        return skill, folder

    return make


def _module(name: str, folder: Path) -> types.ModuleType:
    """Runs skill.py; "from .helper import x" works in it."""
    package = f"assistant_own_{name}"
    spec = importlib.util.spec_from_file_location(f"{package}.skill", folder / "skill.py")
    assert spec is not None, folder
    assert spec.loader is not None, folder
    for loaded in [m for m in sys.modules if m == package or m.startswith(f"{package}.")]:
        del sys.modules[loaded]  # another folder's, or an older one
    parent = types.ModuleType(package)
    parent.__path__ = [str(folder)]
    module = importlib.util.module_from_spec(spec)
    sys.modules[package], sys.modules[module.__name__] = parent, module
    try:
        spec.loader.exec_module(module)
    except FAILURES as error:
        raise _left_out(name, _place(error, folder)) from error
    return module


def _made(kind: type[Skill], name: str, folder: Path, cfg: Config, state: State) -> Skill:
    given = getattr(kind, "name", name)
    if given != name:
        raise _left_out(name, f'{folder}: its class has the name "{given}", not "{name}"')
    kind.name = name
    kind.settings = dict(cfg.skills.own.get(name, {}))
    try:
        skill = kind(cfg, state)
        skill.home = None
        check_declared(skill)
        return skill
    except AssistantError:
        raise
    except FAILURES as error:
        raise _left_out(name, _place(error, folder)) from error


def _place(error: BaseException, folder: Path) -> str:
    """File, line and reason of what went wrong in the user's code."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno or 0}: {error.msg}"
    inside = os.fspath(folder) + os.sep
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(inside)]
    where = f"{lines[-1].filename}, line {lines[-1].lineno}" if lines else str(folder / "skill.py")
    return f"{where}: {_reason(error)}"


def _told(name: str, origin: str, error: AssistantError | OSError) -> AssistantError:
    if isinstance(error, AssistantError):
        return error
    return _left_out(name, f"{error.filename or origin} cannot be read: {error.strerror or error}")


def _reason(error: BaseException) -> str:
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _left_out(name: str, reason: str, hint: str = "") -> SkillError:
    return SkillError(f"skill.{name}", f"{reason}.", hint)
