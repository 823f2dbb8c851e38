"""An engine for small language models with an adaptive KV cache."""

from typing import Any

from kvquant.config import ModelInfo, Sampling, Token
from kvquant.engine import Engine
from kvquant.errors import KvquantError
from kvquant.session import Session

__all__ = ["Engine", "KvquantError", "ModelInfo", "Sampling", "Session", "Token"]


def __getattr__(name: str) -> Any:
    """``AdaptiveCache``, which alone needs torch and transformers."""
    if name == "AdaptiveCache":
        from kvquant.hf import AdaptiveCache

        return AdaptiveCache
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
