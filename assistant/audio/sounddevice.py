"""The edge to PortAudio: the only importer of the sounddevice package.

PortAudio lists devices once, when it is initialised; to see one that was plugged in
later it must be initialised again, which ends every open stream. ``PortAudio`` arranges
that between the microphone and the speaker.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Protocol

from assistant.audio.devices import DeviceInfo, Direction
from assistant.errors import DeviceError, PackageError

log = logging.getLogger(__name__)

LIBRARY_HINT = "Install libportaudio2 (sudo apt install libportaudio2)."

CALLBACK_S = 0.02
"""Sound per callback: short against every wait of a turn, long enough for a slow Pi."""


class Client(Protocol):
    """Somebody with an open stream."""

    def suspend(self) -> None:
        """Close the stream now; it is opened again by its owner soon."""


def hardware() -> Hashable:
    """A value that changes when a sound card is plugged or unplugged; None when unknown."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return Path("/proc/asound/cards").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _import() -> Any:
    try:
        import sounddevice
    except ImportError as e:
        raise PackageError(
            "audio.no_sounddevice",
            "The Python package sounddevice is not installed.",
            "Install it: pip install sounddevice.",
        ) from e
    except OSError as e:
        raise PackageError(
            "audio.no_portaudio", "The PortAudio library is not installed.", LIBRARY_HINT
        ) from e
    return sounddevice


class PortAudio:
    """Lists devices, opens streams, and looks for new devices without harming open streams.

    Args:
        load: gives the sounddevice module, or what stands for it in a test. Raises
            PackageError.
        hardware: see the function of that name.
    """

    def __init__(
        self, load: Callable[[], Any] = _import, hardware: Callable[[], Hashable] = hardware
    ) -> None:
        self._load = load
        self._hardware = hardware
        self._seen: Hashable = hardware()
        self._clients: list[Client] = []
        self.lock = threading.RLock()
        """Held while streams are opened, closed, asked or ended by a new start of PortAudio."""

    def devices(self) -> list[DeviceInfo]:
        """All devices that PortAudio knows. Raises PackageError, DeviceError."""
        with self.lock:
            module = self._load()
            try:
                found = list(module.query_devices())
            except module.PortAudioError as e:
                raise DeviceError(
                    "audio.no_device", f"The sound devices cannot be listed: {e}."
                ) from e
            defaults = {kind: self._default(module, kind) for kind in ("input", "output")}
        return [
            DeviceInfo(
                name=str(d["name"]),
                inputs=int(d["max_input_channels"]),
                outputs=int(d["max_output_channels"]),
                default_rate=int(d["default_samplerate"]),
                is_default=index in defaults.values(),
                index=index,
                default_input=index == defaults["input"],
                default_output=index == defaults["output"],
            )
            for index, d in enumerate(found)
        ]

    @staticmethod
    def _default(module: Any, kind: str) -> int:
        try:
            return int(module.query_devices(kind=kind)["index"])
        except (module.PortAudioError, ValueError):
            return -1

    def open(
        self,
        direction: Direction,
        device: DeviceInfo,
        formats: list[tuple[int, int]],
        prepare: Callable[[int, int], Callable[..., None]],
        finished: Callable[[], None],
    ) -> Any:
        """Opens and starts a 16-bit stream in the first format that the device takes.

        Args:
            formats: (rate in Hz, channels), best first.
            prepare: gives the callback for a rate and a number of channels; the last one
                it was asked for is the one in use. The callback gets what sounddevice
                gives, with arrays of shape (n, channels).
            finished: called when the stream has ended for whatever reason.

        Raises:
            DeviceError: no format is accepted.
        """
        with self.lock:
            module = self._load()
            opener = module.InputStream if direction == "input" else module.OutputStream
            reason = "it has no channels"
            for rate, channels in formats:
                stream = None
                try:
                    stream = opener(
                        device=device.index,
                        samplerate=rate,
                        channels=channels,
                        dtype="int16",
                        blocksize=round(rate * CALLBACK_S),
                        callback=prepare(rate, channels),
                        finished_callback=finished,
                    )
                    stream.start()
                except (module.PortAudioError, ValueError) as e:
                    reason = str(e).split("[")[0].strip()
                    log.debug("%s refuses %d Hz, %d channels: %s", device.name, rate, channels, e)
                    if stream is not None:
                        self.close(stream)
                    continue
                return stream
        what = "microphone" if direction == "input" else "speaker"
        raise DeviceError(
            "audio.cannot_open",
            f'The {what} "{device.name}" cannot be opened: {reason}.',
            "Another program may be using it, or audio rate and channel do not fit it.",
        )

    def active(self, stream: Any) -> bool:
        """True while the stream calls back."""
        with self.lock:
            try:
                return bool(stream.active)
            except self._load().PortAudioError:
                return False

    def close(self, stream: Any) -> None:
        """Ends a stream, also one whose device is gone."""
        with self.lock:
            stream.abort(ignore_errors=True)
            stream.close(ignore_errors=True)

    def register(self, client: Client) -> None:
        """Has ``client`` asked to close its stream before PortAudio is initialised again."""
        with self.lock:
            if client not in self._clients:
                self._clients.append(client)

    def unregister(self, client: Client) -> None:
        with self.lock:
            if client in self._clients:
                self._clients.remove(client)

    def refresh(self) -> None:
        """Lists the devices anew if the hardware may have changed since the last time.

        Where the system does not tell about changes it is done each time. Open streams
        of registered clients are closed; their owners open them again.
        """
        with self.lock:
            now = self._hardware()
            if now is not None and now == self._seen:
                return
            module = self._load()
            for client in self._clients:
                client.suspend()
            try:
                module._terminate()
                module._initialize()
            except module.PortAudioError as e:
                raise DeviceError("audio.no_device", f"PortAudio cannot be started: {e}.") from e
            self._seen = now


shared = PortAudio()
"""The one PortAudio of the process, for the microphone and the speaker alike."""


def list_devices(portaudio: PortAudio = shared) -> list[DeviceInfo]:
    """All sound devices, for the doctor. Raises PackageError, DeviceError."""
    return portaudio.devices()
