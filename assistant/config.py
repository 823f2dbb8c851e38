"""The sections of config.yaml: typed, closed, with their defaults.

``config.yaml`` in the root of the project shows every key with its default and a comment.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import Field

from assistant import config_check, config_yaml
from assistant.config_home import (
    HomeAssistantConfig,
    HomeConfig,
    MqttConfig,
    MqttDevice,
)
from assistant.config_rules import contradictions
from assistant.config_section import Section
from assistant.config_skills import (
    ClockConfig,
    HomeSkillConfig,
    MediaConfig,
    MpdConfig,
    ReminderConfig,
    SkillConfig,
    SkillsConfig,
    StopwatchConfig,
    TimerConfig,
    VolumeConfig,
    WeatherConfig,
)
from assistant.config_sound import (
    AsrConfig,
    AudioConfig,
    InputConfig,
    OutputConfig,
    TtsConfig,
    TurnConfig,
    VadConfig,
    WakeConfig,
)
from assistant.config_talk import (
    DialogueConfig,
    KvConfig,
    LlmConfig,
    UnderstandConfig,
)
from assistant.config_yaml import KeyPath, Mistake
from assistant.errors import ConfigError

__all__ = [
    "LIVE",
    "PREFIX",
    "AsrConfig",
    "AudioConfig",
    "ClockConfig",
    "Config",
    "DialogueConfig",
    "HomeAssistantConfig",
    "HomeConfig",
    "HomeSkillConfig",
    "InputConfig",
    "KvConfig",
    "LlmConfig",
    "MediaConfig",
    "MetricsConfig",
    "MpdConfig",
    "MqttConfig",
    "MqttDevice",
    "OutputConfig",
    "PrivacyConfig",
    "ReminderConfig",
    "ServiceConfig",
    "SkillConfig",
    "SkillsConfig",
    "StopwatchConfig",
    "TimerConfig",
    "TtsConfig",
    "TurnConfig",
    "UnderstandConfig",
    "VadConfig",
    "VolumeConfig",
    "WakeConfig",
    "WeatherConfig",
    "changes",
    "find_file",
    "is_live",
    "load",
    "take_over",
]
"""The classes of all sections are found here."""


class PrivacyConfig(Section):
    log_speech: bool = False
    """Write what was said and answered into the log."""
    keep_audio: str = ""
    """Folder for a WAV of each utterance; "" keeps none."""
    keep_log: str = ""
    """File for what was said, understood and answered, for `assistant log`; "" keeps none."""


class ServiceConfig(Section):
    state_dir: str = ""
    """Folder of the state database; "" is $STATE_DIRECTORY or the user's state folder."""
    models_dir: str = ""
    """Folder of the fetched models; "" is the user's data folder."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class MetricsConfig(Section):
    log_every: Annotated[int, Field(ge=0)] = 20
    """Write the latency percentiles into the log after this many turns; 0 never."""


class Config(Section):
    audio: AudioConfig = AudioConfig()
    wake: WakeConfig = WakeConfig()
    vad: VadConfig = VadConfig()
    turn: TurnConfig = TurnConfig()
    asr: AsrConfig = AsrConfig()
    understand: UnderstandConfig = UnderstandConfig()
    llm: LlmConfig = LlmConfig()
    dialogue: DialogueConfig = DialogueConfig()
    tts: TtsConfig = TtsConfig()
    skills: SkillsConfig = SkillsConfig()
    home: HomeConfig = HomeConfig()
    privacy: PrivacyConfig = PrivacyConfig()
    service: ServiceConfig = ServiceConfig()
    metrics: MetricsConfig = MetricsConfig()


PREFIX = "ASSISTANT__"
"""Environment variables that set a key: ASSISTANT__SECTION__KEY."""

LIVE = (
    "wake.chime",
    "turn.no_speech_ms",
    "turn.followup_ms",
    "turn.tail_ms",
    "turn.barge_in",
    "turn.stop_word",
    "privacy.log_speech",
    "service.log_level",
    "metrics.log_every",
)
"""Keys that a running service takes over on SIGHUP; the others need a restart."""


def find_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """The file that ``load`` reads when none is named; None when there is none.

    $ASSISTANT_CONFIG (which then must exist), ./config.yaml, the user's config folder,
    /etc/assistant/config.yaml.
    """
    env = os.environ if environ is None else environ
    named = env.get("ASSISTANT_CONFIG", "")
    if named:
        return Path(named)
    places = [Path("config.yaml"), Path("/etc/assistant/config.yaml")]
    # Without a home folder there are no settings in it.
    with contextlib.suppress(RuntimeError):
        own = Path(platformdirs.user_config_dir("assistant", appauthor=False))
        places.insert(1, own / "config.yaml")
    return next((place for place in places if _is_file(place)), None)


def load(
    path: Path | None = None,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Config:
    """The settings: defaults, then the file, then the environment, then ``overrides``.

    path: the file; None searches as ``find_file`` does.
    overrides: texts of the form ``section.key=value``.
    environ: os.environ unless given.
    Raises ConfigError with every mistake and its place. No file is ever written.
    """
    env = os.environ if environ is None else environ
    file = find_file(env) if path is None else path
    parsed = config_yaml.Parsed() if file is None else _read(file)
    mistakes = list(parsed.mistakes)
    origin = {key: f"{file}:{line}" for key, line in parsed.lines.items()}
    for key, text, where in _settings(env, overrides, mistakes):
        for older in [k for k in origin if k[: len(key)] == key]:
            del origin[older]
        origin[key] = where
        _put(parsed.data, key, _override_value(key, text))
    checked = config_check.check(Config, parsed.data)
    faults = list(checked.faults)
    wrong = [fault.path for fault in faults]
    for keys, fault in contradictions(checked.value):
        if not any(key[: len(w)] == w for key in keys for w in wrong):
            faults.append(fault)
            # The user's own line is shown, not the default that it contradicts.
            set_at = next((origin[key] for key in keys if key in origin), None)
            if set_at is not None:
                origin.setdefault(fault.path, set_at)
    for fault in faults:
        mistakes.append(
            Mistake(_where(fault.path, origin), config_yaml.dotted(fault.path), fault.text)
        )
    if mistakes:
        raise _error(sorted(mistakes, key=_order))
    return checked.value


def changes(old: Config, new: Config) -> list[str]:
    """The dotted keys whose values differ, in the order of the file."""

    def value(cfg: Config, key: KeyPath) -> Any:
        found: Any = cfg
        for part in key:
            found = getattr(found, str(part))
        return found

    keys = config_check.keys_of(Config)
    return [config_yaml.dotted(key) for key in keys if value(old, key) != value(new, key)]


def is_live(key: str) -> bool:
    """True when a running service can take the key over without a restart."""
    return key in LIVE


def take_over(old: Config, new: Config) -> Config:
    """``old`` with the live keys of ``new``."""
    data = old.model_dump()
    wanted = new.model_dump()
    for key in LIVE:
        *sections, name = key.split(".")
        target, source = data, wanted
        for section in sections:
            target, source = target[section], source[section]
        target[name] = source[name]
    return Config.model_validate(data)


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except PermissionError:
        # A service that may not look into home folders has no settings there.
        return False


def _read(file: Path) -> config_yaml.Parsed:
    try:
        return config_yaml.parse_file(file)
    except OSError as exc:
        raise ConfigError(
            "config.file",
            f"The settings file {file} cannot be read: {exc.strerror}.",
            "Check --config and $ASSISTANT_CONFIG, or leave them out to use the defaults.",
        ) from exc


def _settings(
    env: Mapping[str, str], overrides: Sequence[str], mistakes: list[Mistake]
) -> Iterator[tuple[KeyPath, str, str]]:
    """(key, text of the value, where it is set) of the environment and of ``overrides``."""
    for name in sorted(env):
        if name.startswith(PREFIX):
            yield tuple(name.removeprefix(PREFIX).lower().split("__")), env[name], f"${name}"
    for text in overrides:
        key, sign, value = text.partition("=")
        if sign and all(key.strip().split(".")):
            yield tuple(key.strip().split(".")), value.strip(), f"--set {key.strip()}"
        else:
            mistakes.append(Mistake(f"--set {text}", "", "write it as section.key=value"))


def _override_value(key: KeyPath, text: str) -> Any:
    if config_check.is_text(Config, key):
        return text
    value = config_yaml.parse_value(text)
    if isinstance(value, str) and config_check.is_list(Config, key):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _put(data: dict[str, Any], key: KeyPath, value: Any) -> None:
    for part in key[:-1]:
        inner = data.get(str(part))
        if not isinstance(inner, dict):
            inner = data[str(part)] = {}
        data = inner
    data[str(key[-1])] = value


def _where(path: KeyPath, origin: Mapping[KeyPath, str]) -> str:
    """Where the value at ``path`` or one inside it was set; for a default, its section."""
    for end in range(len(path), 0, -1):
        if path[:end] in origin:
            return origin[path[:end]]
    inside = (where for key, where in origin.items() if key[: len(path)] == path)
    return next(inside, "defaults")


def _order(mistake: Mistake) -> tuple[str, int]:
    """Sorts by file and line, then the environment and the command line."""
    place, _, line = mistake.where.rpartition(":")
    return (place, int(line)) if line.isdecimal() else ("~", 0)


def _error(mistakes: Sequence[Mistake]) -> ConfigError:
    if len(mistakes) == 1:
        return ConfigError("config.invalid", str(mistakes[0]))
    lines = "".join(f"\n  {mistake}" for mistake in mistakes)
    return ConfigError("config.invalid", f"The settings have {len(mistakes)} mistakes:{lines}")
