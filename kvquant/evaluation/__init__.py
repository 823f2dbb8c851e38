"""``python -m kvquant eval``: what a KV cache costs in quality, measured on the engine itself."""
