# SPDX-License-Identifier: Apache-2.0
"""Packages of Consort that can be called, and libraries that only some commands need, each with its extra.

A name of a package can be either its sub-package or a function, whichever was imported last. So that it does
not depend on that, the sub-package itself calls the function.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

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


OPTION = "--remote"
# States take whole pages [bytes].
PAGE = 4096
GROUP = "consort.remote_memory"


@dataclass(frozen=True)
class Server:
    """The address of a segment's server: HOST:PORT or the path of a socket, and the file of its key."""

    address: str
    key: Path


class RemoteMemory(Protocol):
    """All that Consort takes of the plug-in."""

    def parse_servers(self, texts: Sequence[str]) -> dict[str, Server]:
        """Parses `MEMORY=WHERE[,key=FILE]` into the server of each memory. `BadInput` where one is none of
        that."""

    def own_server(self, size: int, socket: Path, key: Path) -> list[str]:
        """The command of a server of `size` bytes for this machine, which says `ready` when it is."""

    def state_library(self) -> Path:
        """The library to link with programs whose tasks have their state in remote memory."""

    def measure_faults(self, server: Server, cpu: int, *, samples: int) -> dict[str, Any]:
        """Times of faults of a thread on `cpu` while its cache evicted."""


def remote_memory() -> RemoteMemory:
    """The plug-in; `EnvironmentLacks` where it is not installed."""
    for point in entry_points(group=GROUP):
        return cast(RemoteMemory, point.load())
    raise EnvironmentLacks("this needs remote memory, which is not installed", "pip install consort-remote")


def parse_servers(texts: Sequence[str]) -> dict[str, Server]:
    """The servers that an option names; without any the plug-in is not needed."""
    return remote_memory().parse_servers(texts) if texts else {}
