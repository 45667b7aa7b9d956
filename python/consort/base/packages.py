# SPDX-License-Identifier: Apache-2.0
"""Packages of Consort that can be called, and libraries that only some commands need, each with its extra.

A name of a package can be either its sub-package or a function, whichever was imported last. So that it does
not depend on that, the sub-package itself calls the function.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

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


class CallablePackage(ModuleType):
    """A package whose call is that of one of its functions, which is imported when it is needed first."""

    _called: tuple[str, str]

    @property
    def _function(self) -> Callable[..., Any]:
        module, name = self._called
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        with naming_extras():
            return self._function(*arguments, **named)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self._function.__doc__

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)


def make_callable(package: str, module: str, name: str) -> None:
    """A call of `package`, which is being imported, becomes one of the function `name` of `module`."""
    made = sys.modules[package]
    made.__class__ = CallablePackage
    made.__dict__["_called"] = (module, name)
