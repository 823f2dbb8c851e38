"""Understands free phrasing: small heads on what the language model makes of a sentence."""
