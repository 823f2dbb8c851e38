"""The ``assistant`` command, also as ``python -m assistant``."""

import signal

# Ctrl-C while Python still reads its modules ends it without a word; ``main`` takes over then.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from assistant.cli import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main())
