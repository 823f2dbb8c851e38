"""An engine for small language models with an adaptive KV cache."""

from kvquant.config import ModelInfo, Sampling, Token
from kvquant.engine import Engine
from kvquant.errors import KvquantError
from kvquant.session import Session

__all__ = ["Engine", "KvquantError", "ModelInfo", "Sampling", "Session", "Token"]
