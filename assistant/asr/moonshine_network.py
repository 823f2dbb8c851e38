"""The Moonshine network: encoder and decoder in ONNX Runtime, decoding, tokens.

The files are those of the package moonshine-voice. Its own library is not used: it cannot be
held to a number of threads, spins on all cores while it decodes, and tells no probabilities,
without which invented text cannot be told from heard text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistant.errors import AsrError, ModelError, PackageError

FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")

START, END = 1, 2
"""Tokens around a transcript."""

TOKENS_PER_SECOND = 6.5
"""Nobody speaks faster; a decoder that does runs in circles."""

FEWEST_TOKENS = 6
"""Allowed for very short sound, whatever its length."""

BEAMS = 2

SURE_ENOUGH = -0.2
"""Mean log probability of the tokens from which the text decoded greedily is taken.

A clear command is above and costs nothing more. Searching below it takes the word error rate
on 60 clips of LibriSpeech test-other from 13.4 to 12.4 per cent, as searching always does, and
the orders of the barista set with every labelled word right from 35 to 39 per cent, for a fifth
more time over all.
"""


@dataclass(frozen=True, slots=True)
class Decoded:
    """tokens: without start and end; logprobs: natural logarithms, one a token, end included.

    finished: False when the longest allowed text was reached before the end token.
    """

    text: str
    logprobs: NDArray[np.float64]
    finished: bool

    @property
    def mean_logprob(self) -> float:
        return float(self.logprobs.mean())


@dataclass(frozen=True, slots=True)
class _Beam:
    """A text that may go on; tokens and their log probabilities, those of END included."""

    tokens: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()

    @property
    def last(self) -> int:
        return self.tokens[-1] if self.tokens else START

    @property
    def mean(self) -> float:
        return sum(self.logprobs) / max(1, len(self.logprobs))


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
            self._past = {
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
        self._tokens = read_tokens(folder / FILES[2])

    def transcribe(self, samples: NDArray[np.float32]) -> Decoded:
        """samples: shape (n,), -1 to 1, 16 kHz, at least 0.1 s and at most about 30 s."""
        try:
            return self._transcribe(samples)
        except Exception as exc:
            raise AsrError("asr.failed", f"Moonshine failed: {exc}") from exc

    def _transcribe(self, samples: NDArray[np.float32]) -> Decoded:
        ones = np.ones((1, len(samples)), np.int64)
        (hidden,) = self._encoder.run(None, {"input_values": samples[None], "attention_mask": ones})
        limit = max(FEWEST_TOKENS, math.ceil(len(samples) / 16_000 * TOKENS_PER_SECOND))
        decoded = self._greedy(hidden, ones, limit)
        if decoded.mean_logprob >= SURE_ENOUGH:
            return decoded
        searched = self._search(hidden, ones, limit)
        return searched if searched.mean_logprob > decoded.mean_logprob else decoded

    def _greedy(self, hidden: NDArray[np.float32], mask: NDArray[np.int64], limit: int) -> Decoded:
        value = self._ort.OrtValue.ortvalue_from_numpy
        fixed = {"encoder_hidden_states": value(hidden), "encoder_attention_mask": value(mask)}
        past: dict[str, Any] = {
            name: value(np.zeros(shape, np.float32)) for name, shape in self._past.items()
        }
        token, tokens, logprobs = START, [], []
        for step in range(limit):
            outputs = self._decoder.run_with_ort_values(
                self._outputs,
                {
                    "input_ids": value(np.array([[token]], np.int64)),
                    "use_cache_branch": value(np.array([step > 0])),
                    **fixed,
                    **past,
                },
            )
            logits = outputs[0].numpy()[0, -1]
            token = int(logits.argmax())
            logprobs.append(-math.log(float(np.exp(logits - logits[token]).sum())))
            if token == END:
                break
            tokens.append(token)
            for name, output in zip(self._outputs[1:], outputs[1:], strict=True):
                # Keys and values of the encoder's output are made in the first step only.
                if step == 0 or ".decoder." in name:
                    past[_past_name(name)] = output
        return Decoded(self._text(tokens), np.array(logprobs), token == END)

    def _search(self, hidden: NDArray[np.float32], mask: NDArray[np.int64], limit: int) -> Decoded:
        """The likeliest text per token among those that a beam of ``BEAMS`` finds."""
        past: dict[str, NDArray[np.float32]] = {
            name: np.zeros(shape, np.float32) for name, shape in self._past.items()
        }
        beams, ended = [_Beam()], []
        for step in range(limit):
            n = len(beams)
            outputs = self._decoder.run(
                self._outputs,
                {
                    "input_ids": np.array([[b.last] for b in beams], np.int64),
                    "use_cache_branch": np.array([step > 0]),
                    "encoder_hidden_states": np.repeat(hidden, n, axis=0),
                    "encoder_attention_mask": np.repeat(mask, n, axis=0),
                    **past,
                },
            )
            grown = _grown(beams, outputs[0][:, -1])
            ended += [beam for _, beam in grown if beam.last == END]
            kept = [(i, beam) for i, beam in grown if beam.last != END][:BEAMS]
            beams = [beam for _, beam in kept]
            if len(ended) >= BEAMS and max(b.mean for b in ended) >= beams[0].mean:
                break
            rows = [i for i, _ in kept]
            for name, output in zip(self._outputs[1:], outputs[1:], strict=True):
                if ".decoder." in name:
                    past[_past_name(name)] = output[rows]
                elif step == 0:
                    past[_past_name(name)] = np.repeat(output, len(rows), axis=0)
        best = max(ended or beams, key=lambda beam: beam.mean)
        tokens = [t for t in best.tokens if t != END]
        return Decoded(self._text(tokens), np.array(best.logprobs), bool(ended))

    def _text(self, tokens: list[int]) -> str:
        pieces = (self._tokens[t] for t in tokens if t < len(self._tokens))
        joined = b"".join(p for p in pieces if not (p[:1] == b"<" and p[-1:] == b">"))
        return joined.decode("utf-8", "replace").replace("\u2581", " ").strip()


def _grown(beams: list[_Beam], logits: NDArray[np.float32]) -> list[tuple[int, _Beam]]:
    """Each beam's best next steps with the beam's row, the likeliest texts first.

    logits: shape (beams, vocabulary). More than ``BEAMS`` of them go on after an END.
    """
    top = logits.max(axis=1, keepdims=True)
    logprobs = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    grown = []
    for row, beam in enumerate(beams):
        for token in np.argpartition(-logprobs[row], BEAMS)[: BEAMS + 1]:
            step = float(logprobs[row, token])
            grown.append((row, _Beam((*beam.tokens, int(token)), (*beam.logprobs, step))))
    return sorted(grown, key=lambda g: sum(g[1].logprobs), reverse=True)[: 2 * BEAMS]


def _past_name(output: str) -> str:
    return output.replace("present.", "past_key_values.")


def read_tokens(path: Path) -> list[bytes]:
    """The pieces of tokenizer.bin by token number.

    Each is a length (one byte, or two when the first has its high bit set: low 7 bits, then
    128s) and that many bytes. Raises ModelError.
    """
    data = path.read_bytes()
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        length = data[at]
        at += 1
        if length >= 128 and at < len(data):
            length += data[at] * 128 - 128
            at += 1
        if at + length > len(data):
            break
        pieces.append(data[at : at + length])
        at += length
    if at != len(data) or len(pieces) <= END:
        raise ModelError(
            "asr.bad_model", f"{path} is truncated or damaged.", "Run `assistant models verify`."
        )
    return pieces
