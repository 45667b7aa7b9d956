# SPDX-License-Identifier: Apache-2.0
"""The location of remote memory's sources: in a cloned tree, or the pager's copy in an installed wheel."""

from __future__ import annotations

from pathlib import Path

from consort.base.errors import EnvironmentLacks

_PACKAGE = Path(__file__).resolve().parent


def need_folder(what: str) -> Path:
    """The folder remote-memory/ of the source tree, or `EnvironmentLacks`: `what` cannot be done without."""
    folder = _PACKAGE.parents[1]
    if not (folder / "rtl").is_dir():
        raise EnvironmentLacks(
            f"{what} needs Consort's source tree", "clone the repository and run it from there (make setup)"
        )
    return folder


def cpp_folder() -> Path:
    """The folder that holds pager/ and include/."""
    for folder in (_PACKAGE.parents[1], _PACKAGE / "_cpp"):
        if (folder / "pager").is_dir():
            return folder
    raise EnvironmentLacks(
        "the sources of the pager are not in this installation", "install consort-remote again"
    )
