"""A voice assistant that runs wholly on the device."""

__version__ = "0.1.0"
