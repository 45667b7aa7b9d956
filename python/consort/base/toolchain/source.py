# SPDX-License-Identifier: Apache-2.0
"""The location of Consort's own sources: the cloned tree, or the copy that an installed wheel carries."""

from __future__ import annotations

import os
from pathlib import Path

from consort.base.errors import EnvironmentLacks

_PACKAGE = Path(__file__).resolve().parents[2]


def source_tree() -> Path | None:
    """The root of the source tree that this package runs from; None when it was installed by itself."""
    root = _PACKAGE.parents[1]
    return root if (root / "include" / "consort" / "port.hpp").is_file() else None


def need_source_tree(what: str) -> Path:
    """The source tree, or `EnvironmentLacks`: `what` cannot be done without it."""
    root = source_tree()
    if root is None:
        raise EnvironmentLacks(
            f"{what} needs Consort's source tree", "clone the repository and run it from there (make setup)"
        )
    return root


def cpp_tree() -> Path:
    """The folder that holds include/ and ports/linux/: the source tree or the package's own copy."""
    for folder in (source_tree(), _PACKAGE / "_cpp"):
        if folder is not None and (folder / "include" / "consort" / "port.hpp").is_file():
            return folder
    raise EnvironmentLacks(
        "the C++ headers of Consort are not in this installation",
        "install consort-rt again, or run from a clone",
    )


def cache_folder() -> Path:
    """The folder of built programs and golden outputs: $CONSORT_CACHE, else the user's cache folder."""
    given = os.environ.get("CONSORT_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "consort"
