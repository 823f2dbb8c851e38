"""``python -m kvquant inspect``: what an adaptive cache did with a text, token by token."""
