"""The Moonshine network: encoder and decoder in ONNX Runtime, decoding, tokens.

The files are those of the package moonshine-voice. Its own library is not used: it cannot be
held to a number of threads, spins on all cores while it decodes, and tells no probabilities,
without which invented text cannot be told from heard text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.asr.moonshine_search import Beam, Unguided, search
from assistant.asr.moonshine_tokens import END, START, Tokens, read_tokens
from assistant.asr.numbers import other_numbers
from assistant.asr.phrase_trie import PhraseTrie
from assistant.asr.token_graph import TokenGraph
from assistant.errors import AsrError, ModelError, PackageError

FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")

TOKENS_PER_SECOND = 6.5
"""Nobody speaks faster; a decoder that does runs in circles."""

FEWEST_TOKENS = 6
"""Allowed for very short sound, whatever its length."""

BEAMS = 2

WORD_BEAMS = 3
"""More than without words: what is lifted late must not be lost before."""

SURE_ENOUGH = -0.2
"""Mean log probability of the tokens from which the text decoded greedily is taken.

A clear command is above and costs nothing more. Searching below it takes the word error rate
on 60 clips of LibriSpeech test-other from 13.4 to 12.4 per cent, as searching always does, and
the orders of the barista set with every labelled word right from 35 to 39 per cent, for a fifth
more time over all.
"""


FIRST_TOKENS = 6
"""How many tell whether the text is invented: a loop grows surer of itself with every round."""

SENTENCE_BEAMS = 3

FARTHEST = 0.8
"""How much less likely than the text heard freely a sentence may be, in natural logarithms by
token, where much else may be said too.

Of 117 commands of our own voice over kitchen noise at 5 dB, 49 of them heard right freely, it
puts 27 more right and none wrong; made-up names lie within 0.7. Of 70 sentences of talk at 10 dB
one lies within it ("time out", heard as "Hi, Mel." freely), the others and read speech beyond
1.9. Chosen on these same sounds.
"""

FARTHEST_OTHER_NUMBER = 0.25
"""As above when another number was heard freely: nobody's ten minutes become five."""

FARTHEST_ALONE = 1.3
"""As above where nothing else is said.

The 170 orders of the barista set that are there lie within 1.0, over kitchen noise too; read
speech, which is none of them, begins at 2.9.
"""

UNLIKELY = -1.2
"""Mean log probability of a token below which a sentence was not said."""

UNLIKELY_ALONE = -1.9
"""As above where nothing else is said: those orders are no less likely than -1.3; noise fits
none better than -2.6, other short phrases none better than -2.3."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """logprobs: natural logarithms, one a token, that of the end included.

    finished: False when the longest allowed text was reached before the end token.
    expected: it is one of the sentences that were to be expected.
    start: mean log probability of the first tokens that were heard freely.
    """

    text: str
    logprobs: NDArray[np.float64]
    finished: bool
    start: float
    expected: bool = False

    @property
    def mean_logprob(self) -> float:
        return float(self.logprobs.mean())


class Network:
    """Raises ModelError, PackageError."""

    def __init__(self, folder: Path, threads: int) -> None:
        try:
            import onnxruntime
        except ImportError as exc:
            raise PackageError(
                "asr.no_package",
                "The package onnxruntime is not installed.",
                "Install it with pip.",
            ) from exc
        for name in FILES:
            if not (folder / name).is_file():
                raise ModelError(
                    "asr.no_model",
                    f"The Moonshine model {folder} lacks the file {name}.",
                    "Run `assistant models fetch`.",
                )
        self._ort = onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Waiting threads sleep: the cores are shared with the voice and the language model.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            self._encoder, self._decoder = (
                onnxruntime.InferenceSession(
                    str(folder / name), options, providers=["CPUExecutionProvider"]
                )
                for name in FILES[:2]
            )
            self._outputs = [o.name for o in self._decoder.get_outputs()]
            self.past_shapes = {
                i.name: (1, int(i.shape[1]), 1, int(i.shape[3]))
                for i in self._decoder.get_inputs()
                if i.name.startswith("past_key_values.")
            }
        except Exception as exc:
            raise ModelError(
                "asr.bad_model",
                f"The Moonshine model {folder} cannot be loaded: it is damaged or of another kind.",
                "Run `assistant models verify`.",
            ) from exc
        self.tokens = Tokens(read_tokens(folder / FILES[2]))

    def transcribe(
        self,
        samples: NDArray[np.float32],
        words: PhraseTrie | None = None,
        sentences: TokenGraph | None = None,
        *,
        alone: bool = False,
    ) -> Decoded:
        """samples: shape (n,), -1 to 1, 16 kHz, at least 0.1 s and at most about 30 s.

        words: heard rather than what sounds like them.
        sentences: one of these is the text when it is about as likely as any other.
        alone: nothing else is said.
        """
        try:
            return self._transcribe(samples, words, sentences, alone)
        except Exception as exc:
            raise AsrError("asr.failed", f"Moonshine failed: {exc}") from exc

    def _transcribe(
        self,
        samples: NDArray[np.float32],
        words: PhraseTrie | None,
        sentences: TokenGraph | None,
        alone: bool,
    ) -> Decoded:
        ones = np.ones((1, len(samples)), np.int64)
        (hidden,) = self._encoder.run(None, {"input_values": samples[None], "attention_mask": ones})
        limit = max(FEWEST_TOKENS, math.ceil(len(samples) / 16_000 * TOKENS_PER_SECOND))
        freely = self._greedy(hidden, ones, limit)
        if sentences is not None:
            led: Beam | None = freely
            if freely.last != END or not sentences.takes(freely.tokens[:-1]):
                decoder = Decoder(self, hidden, ones)
                led = search(decoder.advance, sentences, SENTENCE_BEAMS, limit)
            if led is not None and self._is_near(led, freely, alone):
                return self._decoded(led, freely, expected=True)
        if freely.mean < SURE_ENOUGH:
            decoder = Decoder(self, hidden, ones)
            beams = BEAMS if words is None else WORD_BEAMS
            searched = search(decoder.advance, words or Unguided(), beams, limit)
            if searched is not None and searched.mean > freely.mean and not_far(searched, freely):
                freely = searched
        return self._decoded(freely, freely)

    def _is_near(self, led: Beam, freely: Beam, alone: bool) -> bool:
        """Whether one of the sentences was said, judged by what was heard freely."""
        farthest, unlikely = (FARTHEST_ALONE, UNLIKELY_ALONE) if alone else (FARTHEST, UNLIKELY)
        if not alone and other_numbers(self._text(freely), self._text(led)):
            farthest = FARTHEST_OTHER_NUMBER
        return led.mean >= unlikely and freely.total - led.total <= farthest * len(led.tokens)

    def _text(self, beam: Beam) -> str:
        return self.tokens.text([t for t in beam.tokens if t != END])

    def decode(self, inputs: dict[str, Any]) -> tuple[list[str], list[NDArray[np.float32]]]:
        """One step of the decoder: the names of its outputs, the outputs."""
        return self._outputs, self._decoder.run(self._outputs, inputs)

    def _decoded(self, beam: Beam, freely: Beam, expected: bool = False) -> Decoded:
        text = self._text(beam)
        start = float(np.mean(freely.logprobs[:FIRST_TOKENS]))
        return Decoded(text, np.array(beam.logprobs), beam.last == END, start, expected)

    def _greedy(self, hidden: NDArray[np.float32], mask: NDArray[np.int64], limit: int) -> Beam:
        value = self._ort.OrtValue.ortvalue_from_numpy
        fixed = {"encoder_hidden_states": value(hidden), "encoder_attention_mask": value(mask)}
        past: dict[str, Any] = {
            name: value(np.zeros(shape, np.float32)) for name, shape in self.past_shapes.items()
        }
        tokens: list[int] = []
        logprobs: list[float] = []
        for step in range(limit):
            outputs = self._decoder.run_with_ort_values(
                self._outputs,
                {
                    "input_ids": value(np.array([[tokens[-1] if tokens else START]], np.int64)),
                    "use_cache_branch": value(np.array([step > 0])),
                    **fixed,
                    **past,
                },
            )
            logits = outputs[0].numpy()[0, -1]
            tokens.append(int(logits.argmax()))
            logprobs.append(-math.log(float(np.exp(logits - logits[tokens[-1]]).sum())))
            if tokens[-1] == END:
                break
            for name, output in zip(self._outputs[1:], outputs[1:], strict=True):
                # Keys and values of the encoder's output are made in the first step only.
                if step == 0 or ".decoder." in name:
                    past[_past_name(name)] = output
        return Beam(tuple(tokens), tuple(logprobs))


class Decoder:
    """The decoder over one sound, several texts at a time."""

    def __init__(
        self, network: Network, hidden: NDArray[np.float32], mask: NDArray[np.int64]
    ) -> None:
        """hidden: shape (1, frames, width), from the encoder; mask: shape (1, samples)."""
        self._network = network
        self._hidden = hidden
        self._mask = mask
        self._past = {
            name: np.zeros(shape, np.float32) for name, shape in network.past_shapes.items()
        }
        self._outputs: dict[str, NDArray[np.float32]] = {}
        self._width = 0

    def advance(self, tokens: Sequence[int], rows: Sequence[int]) -> NDArray[np.float32]:
        """Logits of what comes after each token, shape (texts, vocabulary).

        rows: the text of the step before that each one goes on.
        """
        n = len(tokens)
        for name, output in self._outputs.items():
            if ".decoder." in name:
                self._past[_past_name(name)] = output[list(rows)]
            elif n != self._width:
                self._past[_past_name(name)] = np.repeat(output, n, axis=0)
        self._width = n if self._outputs else 0
        names, found = self._network.decode(
            {
                "input_ids": np.array(tokens, np.int64)[:, None],
                "use_cache_branch": np.array([bool(self._outputs)]),
                "encoder_hidden_states": np.repeat(self._hidden, n, axis=0),
                "encoder_attention_mask": np.repeat(self._mask, n, axis=0),
                **self._past,
            }
        )
        for name, output in zip(names[1:], found[1:], strict=True):
            # Keys and values of the encoder's output are made in the first step only.
            if ".decoder." in name or name not in self._outputs:
                self._outputs[name] = output
        return np.asarray(found[0][:, -1])


def not_far(lifted: Beam, freely: Beam) -> bool:
    """Whether a text is about as likely as what was heard freely, without what lifted it."""
    return freely.total - sum(lifted.logprobs) <= FARTHEST * len(lifted.tokens)


def _past_name(output: str) -> str:
    return output.replace("present.", "past_key_values.")
