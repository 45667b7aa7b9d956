"""Consort: one hard real-time application across unlike processors.

What a script or a notebook needs, each imported when it is used first (docs/reference/python.md):

    load      a system description, checked
    plan      what each core of a target will do
    analyze   bounds of response times, channels and chains
    generate  a random task set as a system
    place     where each task is best run
    simulate  a run in exact simulated time, recorded and judged
    run       a run on this machine, recorded and judged
    load_run  a run that was recorded before
    sweep     figures as functions of parameters, as a table

and the errors that they raise: `BadInput`, `EnvironmentLacks`, `SystemFails`, each a `ConsortError`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from consort.analysis.generate import generate
    from consort.analysis.system import analyze_system as analyze
    from consort.base.errors import BadInput, ConsortError, EnvironmentLacks, SystemFails
    from consort.model.load import load_system as load
    from consort.place.call import place
    from consort.plan.make import plan
    from consort.record.store import load_run
    from consort.run.call import run
    from consort.simulate.call import simulate

__version__ = "0.1.0"

_ERRORS = ("BadInput", "ConsortError", "EnvironmentLacks", "SystemFails")
# Names by the module that has them, and what they are called there.
_FROM = {
    "analyze": ("consort.analysis.system", "analyze_system"),
    "generate": ("consort.analysis.generate", "generate"),
    "load": ("consort.model.load", "load_system"),
    "load_run": ("consort.record.store", "load_run"),
    **{name: ("consort.base.errors", name) for name in _ERRORS},
}
# Packages of the same name, which can be called (base/packages.py).
_PACKAGES = ("place", "plan", "run", "simulate", "sweep")

__all__ = [
    "BadInput",
    "ConsortError",
    "EnvironmentLacks",
    "SystemFails",
    "__version__",
    "analyze",
    "generate",
    "load",
    "load_run",
    "place",
    "plan",
    "run",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"consort.{name}")
    if name in _FROM:
        module, called = _FROM[name]
        return getattr(importlib.import_module(module), called)
    raise AttributeError(f"module 'consort' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
