# SPDX-License-Identifier: Apache-2.0
"""The libraries that only some commands need: which extra of the distribution brings each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from consort.base.errors import EnvironmentLacks

# The imported module -> the extra of pyproject.toml.
EXTRA_OF = {
    "dask": "sweep",
    "devicetree": "exchange",
    "distributed": "sweep",
    "elftools": "boards",
    "matplotlib": "plots",
    "ortools": "place",
    "scipy": "sweep",
}


def lacking(error: ModuleNotFoundError) -> EnvironmentLacks | None:
    """The error with the extra to install, if the module that was not found belongs to one."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRA_OF:
        return None
    return EnvironmentLacks(
        f"this needs {library}, which is not installed", f"pip install 'consort-rt[{EXTRA_OF[library]}]'"
    )


@contextmanager
def naming_extras() -> Iterator[None]:
    """`EnvironmentLacks`, with the line that installs it, where a library of an extra is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        lack = lacking(error)
        if lack is None:
            raise
        raise lack from error
