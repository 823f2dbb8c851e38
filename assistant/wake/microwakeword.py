"""microWakeWord (package pymicro-wakeword): several wake words from one feature extractor."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assistant.audio.base import Pcm
from assistant.errors import ModelError, PackageError
from assistant.wake.base import Wake, WakeDetector
from assistant.wake.refractory import Refractory

FEATURES = 40
"""Values a frame that the shared feature extractor makes; a model must take as many."""


class MicroWakeWord(WakeDetector):
    """Listens for all given words at once."""

    def __init__(
        self,
        words: Mapping[str, Path],
        thresholds: Mapping[str, float] | None = None,
        refractory_ms: int = 2000,
    ) -> None:
        """Args:
        words: name of the word to its .json file (or its .tflite with the .json beside it).
        thresholds: 0 to 1 by name; a word without one uses its model's own.
        refractory_ms: see Refractory.
        """
        self._paths = dict(words)
        self._thresholds = dict(thresholds or {})
        self._refractory = Refractory(refractory_ms)
        self._features: Any = None
        self._models: dict[str, Any] = {}
        self._scores: dict[str, float] = {}
        self._frames = 0

    def load(self) -> None:
        try:
            import pymicro_wakeword
            from pymicro_wakeword import wakeword
        except (ImportError, OSError) as exc:
            raise PackageError(
                "wake.no_package",
                f"The package pymicro-wakeword cannot be used: {exc}.",
                "Install it with pip, or set wake.backend to none.",
            ) from exc
        library = _library(Path(pymicro_wakeword.__file__).parent)
        probe = wakeword.TfLiteWakeWord(library)
        self.close()
        self._features = pymicro_wakeword.MicroWakeWordFeatures()
        for name, path in self._paths.items():
            description = _checked(path, probe)
            try:
                model = pymicro_wakeword.MicroWakeWord.from_config(description, library)
            except Exception as exc:
                raise _bad(path, str(exc)) from exc
            _check_shape(model, path)
            self._thresholds.setdefault(name, float(model.probability_cutoff))
            self._models[name] = model
        self.reset()

    def process(self, samples: Pcm) -> Wake | None:
        if self._features is None:
            raise ModelError("wake.not_loaded", "The wake words are not loaded.")
        best: Wake | None = None
        for features in self._features.process_streaming(samples.astype("<i2").tobytes()):
            heard = self._score(features)
            if self._refractory.step(heard is not None):
                best = heard
        return best

    def _score(self, features: Any) -> Wake | None:
        """The word furthest above its threshold in this frame.

        A model runs on every third frame or so (its stride); its score stands in between.
        """
        self._frames += 1
        best: Wake | None = None
        margin = 0.0
        for name, model in self._models.items():
            score = model.process_streaming_prob(features)
            if self._frames % model.stride == 0:
                self._scores[name] = float(score)
            over = self._scores.get(name, 0.0) - self._thresholds[name]
            if over > margin:
                best, margin = Wake(name, self._scores[name]), over
        return best

    def reset(self) -> None:
        """Costs about half a millisecond a word: the models are opened again."""
        self._refractory.reset()
        self._scores.clear()
        self._frames = 0
        if self._features is not None:
            self._features.reset()
        for model in self._models.values():
            model.reset()

    def close(self) -> None:
        """Frees the models."""
        for model in self._models.values():
            model.close()
        self._models = {}
        self._features = None


def _library(package: Path) -> Path:
    found = sorted((package / "lib").glob("*tensorflowlite_c.*"))
    if not found:
        raise PackageError(
            "wake.no_package",
            "The package pymicro-wakeword has no TensorFlow Lite library for this machine.",
            "Set wake.backend to none, or use a 64-bit system.",
        )
    return found[0]


def _checked(path: Path, probe: Any) -> Path:
    """The .json of a model whose files are sound.

    The package hands a damaged model to native code that then crashes the process, so the
    model is opened once on its own first.
    """
    description = path.with_suffix(".json")
    try:
        settings = json.loads(description.read_text(encoding="utf-8"))
        weights = description.parent / settings["model"]
        cutoff = float(settings["micro"]["probability_cutoff"])
        window = int(settings["micro"]["sliding_window_size"])
    except OSError as exc:
        raise ModelError(
            "wake.no_model",
            f"The wake word {description} cannot be read: {exc.strerror}.",
            "A wake word is a .tflite file with a .json of the same name beside it.",
        ) from exc
    except (ValueError, KeyError, TypeError) as exc:
        raise _bad(description, "its description lacks what microWakeWord writes") from exc
    if not 0.0 <= cutoff <= 1.0 or not 1 <= window <= 1000:
        raise _bad(description, "its threshold or window is out of range")
    if not weights.is_file():
        raise ModelError(
            "wake.no_model",
            f"The wake word's model {weights} does not exist.",
            "A wake word is a .tflite file with a .json of the same name beside it.",
        )
    handle = probe.lib.TfLiteModelCreateFromFile(str(weights.resolve()).encode())
    if not handle:
        raise _bad(weights, "it is not a TensorFlow Lite model, or it is truncated")
    probe.lib.TfLiteModelDelete(handle)
    return description


def _check_shape(model: Any, path: Path) -> None:
    dims = model.lib.TfLiteTensorNumDims(model.input_tensor)
    shape = [model.lib.TfLiteTensorDim(model.input_tensor, i) for i in range(dims)]
    outputs = model.lib.TfLiteTensorByteSize(model.output_tensor)
    if dims != 3 or math.prod(shape) != model.stride * FEATURES or outputs != 1:
        raise _bad(path, f"it takes input of shape {shape}, which is no wake word's")


def _bad(path: Path, why: str) -> ModelError:
    return ModelError(
        "wake.bad_model",
        f"The wake word {path} cannot be used: {why}.",
        "Run `assistant models verify`, or check wake.words in config.yaml.",
    )
