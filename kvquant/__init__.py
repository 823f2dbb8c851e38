"""An engine for small language models with an adaptive KV cache."""

import importlib
from typing import TYPE_CHECKING, Any

from kvquant.config import ModelInfo, Sampling, Token
from kvquant.engine import Engine
from kvquant.errors import KvquantError
from kvquant.session import Session

if TYPE_CHECKING:
    from kvquant.controller import Controller
    from kvquant.hf import AdaptiveCache
    from kvquant.pages import PagePool
    from kvquant.quantizer import adaptive_quantize, dequantize, quantize

__all__ = [
    "AdaptiveCache",
    "Controller",
    "Engine",
    "KvquantError",
    "ModelInfo",
    "PagePool",
    "Sampling",
    "Session",
    "Token",
    "adaptive_quantize",
    "dequantize",
    "quantize",
]

_LATE = {
    "AdaptiveCache": "hf",
    "Controller": "controller",
    "PagePool": "pages",
    "adaptive_quantize": "quantizer",
    "dequantize": "quantizer",
    "quantize": "quantizer",
}
"""What needs numpy, or torch and transformers (AdaptiveCache): imported when it is asked for."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(f"kvquant.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
