"""Settings of what is understood and answered: understand, llm, dialogue."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from assistant.config_section import Fraction, Section


class UnderstandConfig(Section):
    sentences: str = ""
    """Folder with own sentence files (*.yaml); "" has none."""
    commands: dict[str, tuple[str, ...]] = Field(default={})
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
    key_layout: Literal["rotated", "pre_rope"] = "rotated"
    """Keys are stored after their rotation by position or before it, unless the mode is fp16."""


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
