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
from pydantic import BaseModel, ConfigDict, Field

from assistant import config_check, config_yaml
from assistant.config_rules import contradictions
from assistant.config_yaml import KeyPath, Mistake
from assistant.errors import ConfigError

Milliseconds = Annotated[int, Field(ge=0, le=60_000)]
Silence = Annotated[int, Field(ge=100, le=10_000)]
Percent = Annotated[int, Field(ge=0, le=100)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class Section(BaseModel):
    """A closed, frozen section."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class InputConfig(Section):
    backend: Literal["sounddevice", "wav"] = "sounddevice"
    device: str = ""
    """Part of the device's name as `assistant doctor` lists it; "" is the system default."""
    rate: Annotated[int, Field(ge=0, le=384_000)] = 0
    """Hz to open the device at; 0 lets the device choose."""
    channel: Annotated[int, Field(ge=0, le=64)] = 0
    """Channel with the speech, from 1; 0 mixes all channels."""
    file: str = ""
    """WAV file for the backend wav."""
    gain_db: Annotated[float, Field(ge=-40, le=40)] = 0.0


class OutputConfig(Section):
    backend: Literal["sounddevice", "wav", "null"] = "sounddevice"
    device: str = ""
    rate: Annotated[int, Field(ge=0, le=384_000)] = 0
    file: str = ""
    """WAV file that the backend wav writes."""
    wake_up_silence_ms: Milliseconds = 0
    """Silence played first after a pause, for amplifiers that swallow the beginning."""


class AudioConfig(Section):
    input: InputConfig = InputConfig()
    output: OutputConfig = OutputConfig()
    default_volume: Percent = 70
    """Volume until somebody sets one; then the last one set is kept."""


class WakeConfig(Section):
    backend: Literal["microwakeword", "none"] = "microwakeword"
    words: tuple[str, ...] = ("hey_jarvis",)
    thresholds: dict[str, Fraction] = {}
    """Threshold per wake word; a word not named here uses the one of its model."""
    refractory_ms: Milliseconds = 2000
    """A second detection within this time belongs to the same utterance."""
    chime: bool = True


class VadConfig(Section):
    backend: Literal["silero", "energy"] = "silero"
    start_threshold: Fraction = 0.5
    end_threshold: Fraction = 0.35


class TurnConfig(Section):
    end_silence_ms: Silence = 700
    """Silence that ends the turn."""
    complete_silence_ms: Silence = 300
    """Silence that ends the turn when the words so far are a whole command."""
    long_silence_ms: Silence = 1000
    """Silence that ends a long sentence that is no command: people take breath in those."""
    unfinished_silence_ms: Silence = 1700
    """Silence that is waited for when the sentence is clearly unfinished."""
    no_speech_ms: Annotated[int, Field(ge=500, le=60_000)] = 5000
    """How long it listens after the wake word when nobody speaks."""
    max_speech_ms: Annotated[int, Field(ge=1000, le=60_000)] = 15_000
    """Longest utterance."""
    followup_ms: Milliseconds = 5000
    """How long it listens without the wake word after an answer; 0 switches this off."""
    tail_ms: Milliseconds = 200
    """Extra time after the last played sample before the microphone opens."""
    barge_in: bool = True
    """The wake word interrupts the answer."""
    stop_word: bool = True
    """A bare "stop" ends speech and ringing without the wake word."""


class AsrConfig(Section):
    backend: Literal["moonshine", "whisper", "vosk"] = "moonshine"
    model: str = ""
    """Name of a fetched model or path of a folder; "" is the backend's default."""
    threads: Annotated[int, Field(ge=1, le=64)] = 1
    min_confidence: Fraction = 0.0
    """What was heard with less than this counts as not heard; vosk may give no figure."""
    bias: Literal["off", "words", "sentences"] = "sentences"
    """What helps it to hear: nothing, the words that can be said now, whole commands too."""


class UnderstandConfig(Section):
    sentences: str = ""
    """Folder with own sentence files (*.yaml); "" has none."""
    commands: dict[str, tuple[str, ...]] = {}
    """Own replies: answer text to the sentences that ask for it."""
    head: str = ""
    """Path of a head for free phrasing; "" is the shipped one, "off" has none."""
    taught: str = ""
    """File with intents for ``assistant teach``; "" is taught.yaml in the user's config folder."""
    min_score: Fraction = 0.0
    """Free phrasing with a lower score is not understood; 0 takes the head's own limit."""


class KvConfig(Section):
    """The KV cache: what the model keeps of the conversation."""

    mode: Literal["fp16", "static8", "static4", "adaptive"] = "fp16"
    budget_bits: Annotated[float, Field(ge=2.5, le=16.0)] = 3.5
    """Bits per number that the adaptive cache may take, everything included."""
    window: Annotated[int, Field(ge=2, le=444)] = 32
    """Newest tokens that stay in 16 bits, unless the mode is fp16."""
    sinks: Annotated[int, Field(ge=0, le=64)] = 4
    """First tokens that stay in 16 bits, unless the mode is fp16."""
    controller: str | None = None
    """Path of a controller file; null is the shipped one, for the default model."""


class LlmConfig(Section):
    enabled: bool = True
    model: str = "smollm2-135m-instruct"
    """Name of a fetched model or path of a .gguf file."""
    backend: Literal["auto", "native", "reference"] = "auto"
    threads: Annotated[int, Field(ge=1, le=64)] = 2
    context: Annotated[int, Field(ge=256, le=8192)] = 2048
    kv: KvConfig = KvConfig()


class DialogueConfig(Section):
    system_prompt: str = (
        "You are a friendly voice assistant in a home. "
        "Answer in one to three short spoken sentences, in plain words."
    )
    max_tokens: Annotated[int, Field(ge=8, le=1024)] = 96
    max_sentences: Annotated[int, Field(ge=1, le=100)] = 3
    """Longest answer; what is generated is what is spoken, nothing is computed beyond it."""
    double_check: bool = True
    """Answers to questions of fact are told as far as it is sure of them, else "I'm not sure"."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 0.2
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    top_k: Annotated[int, Field(ge=0)] = 40
    repetition_penalty: Annotated[float, Field(ge=1.0, le=2.0)] = 1.1
    seed: int | None = None
    history_turns: Annotated[int, Field(ge=0, le=50)] = 4
    forget_after_s: Annotated[int, Field(ge=0)] = 300
    """A pause after which the conversation so far is forgotten."""
    timeout_s: Annotated[float, Field(gt=0)] = 20.0
    """Longest wait for the next word of the language model."""


class TtsConfig(Section):
    backend: Literal["piper", "none"] = "piper"
    voice: str = "en_US-joe-medium"
    """Name of a fetched voice or path of a .onnx file."""
    speed: Annotated[float, Field(ge=0.5, le=2.0)] = 1.0
    threads: Annotated[int, Field(ge=1, le=64)] = 2
    sentence_pause_ms: Milliseconds = 250


class TimerConfig(Section):
    enabled: bool = True
    ring_max_s: Annotated[int, Field(ge=1)] = 300
    """A timer that nobody stops rings this long and is then kept as missed."""
    ring_file: str = ""
    """WAV file to ring with; "" is the built-in sound."""
    snooze_min: Annotated[int, Field(ge=1, le=120)] = 9
    """A bare "snooze" lets an alarm ring again after so many minutes."""


class ReminderConfig(Section):
    enabled: bool = True


class StopwatchConfig(Section):
    enabled: bool = True


class ClockConfig(Section):
    enabled: bool = True
    twenty_four_hour: bool = False


class VolumeConfig(Section):
    enabled: bool = True
    step: Annotated[int, Field(ge=1, le=50)] = 10


class HomeSkillConfig(Section):
    enabled: bool = True
    confirm: bool = True
    """Asks before it unlocks a door or opens a door, a garage or a gate."""


class MpdConfig(Section):
    """A Music Player Daemon."""

    host: str = ""
    """Name or address, or the path of its socket; "" has none."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 6600
    password_file: str = ""


class MediaConfig(Section):
    enabled: bool = True
    mpd: MpdConfig = MpdConfig()


class WeatherConfig(Section):
    enabled: bool = True


class SkillConfig(Section):
    enabled: bool = True


class SkillsConfig(Section):
    folder: str = ""
    """Folder of the user's own skills; "" looks into the user's config folder and /etc."""
    own: dict[str, dict[str, Any]] = {}
    """Settings of the user's own skills by their names; ``enabled: false`` switches one off."""
    timer: TimerConfig = TimerConfig()
    reminder: ReminderConfig = ReminderConfig()
    stopwatch: StopwatchConfig = StopwatchConfig()
    clock: ClockConfig = ClockConfig()
    volume: VolumeConfig = VolumeConfig()
    lists: SkillConfig = SkillConfig()
    maths: SkillConfig = SkillConfig()
    chance: SkillConfig = SkillConfig()
    home: HomeSkillConfig = HomeSkillConfig()
    media: MediaConfig = MediaConfig()
    weather: WeatherConfig = WeatherConfig()


class HomeAssistantConfig(Section):
    """One Home Assistant; used when it has a url."""

    url: str = ""
    token: Annotated[str, Field(repr=False)] = ""
    """A long-lived access token; better in a file."""
    token_file: str = ""
    """File with the token alone."""
    verify_tls: bool = True


class MqttDevice(Section):
    """One device behind topics; a topic that is "" is not used."""

    domain: Literal[
        "", "light", "switch", "fan", "cover", "valve", "lock", "climate", "scene", "button",
        "sensor", "binary_sensor",
    ] = ""  # fmt: skip
    """What it is; "" takes it from zigbee2mqtt, which then must know the name."""
    area: str = ""
    aliases: tuple[str, ...] = ()
    device_class: str = ""
    """Such as curtain, garage or door, as Home Assistant names them."""
    unit: str = ""
    command_topic: str = ""
    state_topic: str = ""
    payload_on: str = "ON"
    """On, open, unlocked."""
    payload_off: str = "OFF"
    """Off, closed, locked."""
    payload_stop: str = "STOP"
    level_command_topic: str = ""
    """For brightness, speed, position or wanted temperature."""
    level_state_topic: str = ""
    level_scale: Annotated[float, Field(gt=0)] = 100
    """The level that is full; a temperature is not scaled."""
    json_key: str = ""
    """The state is JSON, and its value stands under this key."""
    availability_topic: str = ""
    payload_available: str = "online"


class MqttConfig(Section):
    """One broker; used when it has a host."""

    host: str = ""
    port: Annotated[int, Field(ge=1, le=65_535)] = 1883
    username: str = ""
    password_file: str = ""
    tls: bool = False
    ca_file: str = ""
    """Certificate that the broker's is signed by; "" trusts those of the system."""
    availability_topic: str = ""
    """Where it says "online" and "offline"; "" says it nowhere."""
    zigbee2mqtt: bool = False
    base_topic: str = "zigbee2mqtt"
    devices: dict[str, MqttDevice] = {}


class HomeConfig(Section):
    area: str = ""
    """The room that this device stands in."""
    home_assistant: HomeAssistantConfig = HomeAssistantConfig()
    mqtt: MqttConfig = MqttConfig()


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
