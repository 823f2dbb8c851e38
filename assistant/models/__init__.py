"""Model files: at run time only a name and its path; nothing is downloaded unasked."""

from assistant.models.store import models_dir, path_of

__all__ = ["models_dir", "path_of"]
