"""The sections of config.yaml: typed, closed, with their defaults.

``config.yaml`` in the root of the project shows every key with its default and a comment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Milliseconds = Annotated[int, Field(ge=0, le=60_000)]
Percent = Annotated[int, Field(ge=0, le=100)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class Section(BaseModel):
    """A closed, frozen section."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
    end_silence_ms: Milliseconds = 500
    """Silence that ends the turn."""
    complete_silence_ms: Milliseconds = 300
    """Silence that ends the turn when the words so far are a whole command."""
    unfinished_silence_ms: Milliseconds = 1500
    """Silence that is waited for when the sentence is clearly unfinished."""
    no_speech_ms: Milliseconds = 5000
    """How long it listens after the wake word when nobody speaks."""
    max_speech_ms: Milliseconds = 15_000
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


class UnderstandConfig(Section):
    sentences: str = ""
    """Folder with own sentence files (*.yaml); "" has none."""
    commands: dict[str, tuple[str, ...]] = {}
    """Own replies: answer text to the sentences that ask for it."""


class LlmConfig(Section):
    enabled: bool = True
    model: str = "smollm2-135m-instruct"
    """Name of a fetched model or path of a .gguf file."""
    backend: Literal["auto", "native", "reference"] = "auto"
    threads: Annotated[int, Field(ge=1, le=64)] = 2
    context: Annotated[int, Field(ge=256, le=8192)] = 2048


class DialogueConfig(Section):
    system_prompt: str = (
        "You are a friendly voice assistant in a home. "
        "Answer in one to three short spoken sentences, in plain words."
    )
    max_tokens: Annotated[int, Field(ge=8, le=1024)] = 96
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


class ClockConfig(Section):
    enabled: bool = True
    twenty_four_hour: bool = False


class VolumeConfig(Section):
    enabled: bool = True
    step: Annotated[int, Field(ge=1, le=50)] = 10


class SkillsConfig(Section):
    timer: TimerConfig = TimerConfig()
    clock: ClockConfig = ClockConfig()
    volume: VolumeConfig = VolumeConfig()


class PrivacyConfig(Section):
    log_speech: bool = False
    """Write what was said and answered into the log."""
    keep_audio: str = ""
    """Folder for a WAV of each utterance; "" keeps none."""


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
    privacy: PrivacyConfig = PrivacyConfig()
    service: ServiceConfig = ServiceConfig()
    metrics: MetricsConfig = MetricsConfig()


def load(path: Path | None = None, overrides: tuple[str, ...] = ()) -> Config:
    """Reads config.yaml and applies overrides of the form ``section.key=value``."""
    raise NotImplementedError
