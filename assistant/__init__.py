"""A voice assistant that runs wholly on the device."""

import os

__version__ = "0.1.0"

# onnxruntime reports its use to its maker unless this is set before it is first imported, by
# whichever package does that. Nothing leaves this device.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
