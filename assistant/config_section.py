"""What the sections of config.yaml are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Milliseconds = Annotated[int, Field(ge=0, le=60_000)]
Percent = Annotated[int, Field(ge=0, le=100)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class Section(BaseModel):
    """A closed, frozen section."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
