"""``python -m assistant``: the same as the ``assistant`` command."""

from assistant.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
