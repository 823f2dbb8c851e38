"""An engine for small language models with an adaptive KV cache."""
