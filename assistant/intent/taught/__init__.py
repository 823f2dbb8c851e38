"""Intents that the user teaches by a few sentences, beside what the assistant knows already."""
