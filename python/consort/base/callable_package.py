# SPDX-License-Identifier: Apache-2.0
"""Packages that can be called: `consort.plan` is a package, and `consort.plan(system)` makes a plan.

A name of a package can be either its sub-package or a function, whichever was imported last. So that it does
not depend on that, the sub-package itself calls the function.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from consort.base.extras import naming_extras


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
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)


def make_callable(package: str, module: str, name: str) -> None:
    """A call of `package`, which is being imported, becomes one of the function `name` of `module`."""
    made = sys.modules[package]
    made.__class__ = CallablePackage
    made.__dict__["_called"] = (module, name)
