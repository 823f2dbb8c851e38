"""Settings of what is heard and spoken: audio, wake, vad, turn, asr, tts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from assistant.config_section import Fraction, Milliseconds, Percent, Section

Silence = Annotated[int, Field(ge=100, le=10_000)]


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
    thresholds: dict[str, Fraction] = Field(default={})
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
    think_ahead: bool = True
    """Begins an answer to talk in the silence that may be the end of the turn."""


class AsrConfig(Section):
    backend: Literal["moonshine", "whisper", "vosk"] = "moonshine"
    model: str = ""
    """Name of a fetched model or path of a folder; "" is the backend's default."""
    threads: Annotated[int, Field(ge=1, le=64)] = 1
    min_confidence: Fraction = 0.0
    """What was heard with less than this counts as not heard; vosk may give no figure."""
    bias: Literal["off", "words", "sentences"] = "sentences"
    """What helps it to hear: nothing, the words that can be said now, whole commands too."""


class TtsConfig(Section):
    backend: Literal["piper", "none"] = "piper"
    voice: str = "en_US-joe-medium"
    """Name of a fetched voice or path of a .onnx file."""
    speed: Annotated[float, Field(ge=0.5, le=2.0)] = 1.0
    threads: Annotated[int, Field(ge=1, le=64)] = 2
    sentence_pause_ms: Milliseconds = 250
