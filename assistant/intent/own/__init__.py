"""The assistant's own intents: what a head for them learns from, and what it is then asked."""
