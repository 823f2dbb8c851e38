"""Settings for a benchmark: the user's own, but nothing of the user's is touched."""

from __future__ import annotations

from pathlib import Path

from assistant.config import Config


def private(
    cfg: Config, folder: Path, kv: str | None = None, **sections: dict[str, object]
) -> Config:
    """The same with a state in ``folder`` and nothing kept of what is said.

    kv: kind of KV cache instead of the one of the settings.
    sections: single keys that are changed besides, by section.
    """
    changed: dict[str, dict[str, object]] = {name: dict(keys) for name, keys in sections.items()}
    changed.setdefault("service", {})["state_dir"] = str(folder)
    changed.setdefault("privacy", {}).update(keep_log="", keep_audio="")
    if kv is not None:
        changed.setdefault("llm", {})["kv"] = cfg.llm.kv.model_copy(update={"mode": kv})
    return cfg.model_copy(
        update={name: getattr(cfg, name).model_copy(update=keys) for name, keys in changed.items()}
    )
