# SPDX-License-Identifier: Apache-2.0
"""What all models of a description have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=64)]
MEMBER_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
Member = Annotated[str, StringConstraints(pattern=MEMBER_PATTERN)]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]


class Described(BaseModel):
    """A part of a description: unknown keys are errors, nothing is coerced, nothing changes once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=False)
