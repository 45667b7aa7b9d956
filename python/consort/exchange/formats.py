# SPDX-License-Identifier: Apache-2.0
"""The forms that can be imported, and those that can be exported."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput
from consort.exchange.amalthea.exporter import export_amalthea
from consort.exchange.amalthea.importer import import_amalthea
from consort.exchange.conventions import Imported, Report
from consort.exchange.exports import export_rtapp, export_sag
from consort.exchange.mast import export_mast
from consort.exchange.rtapp import import_rtapp
from consort.exchange.sdt import import_sdt
from consort.model import System
from consort.model.quantities import OutOfRange


def _bounded(read: Callable[..., Imported]) -> Callable[..., Imported]:
    """The import, where a figure that no description can hold is the model's fault."""

    @functools.wraps(read)
    def imported(path: Path, *more: Path, **options: Any) -> Imported:
        try:
            return read(path, *more, **options)
        except (OutOfRange, OverflowError) as error:
            raise BadInput(f"holds a figure that a description cannot: {error}", file=path) from None

    return imported


IMPORTS: dict[str, Callable[..., Imported]] = {
    "amalthea": _bounded(import_amalthea),
    "rt-app": _bounded(import_rtapp),
    "sdt": _bounded(import_sdt),
}
# Formats whose models may lie in several files or a folder, and those that do not say what a priority means.
SEVERAL_FILES = ("amalthea",)
NO_PRIORITY_ORDER = {
    "rt-app": "rt-app's priorities are Linux's: the higher number is the more urgent",
    "sdt": "a device tree has no priorities",
}
EXPORTS: dict[str, Callable[[System, Report], str]] = {
    "amalthea": export_amalthea,
    "mast": export_mast,
    "rt-app": export_rtapp,
    "sag": export_sag,
}
ENDINGS = {".amxmi": "amalthea", ".json": "rt-app", ".dts": "sdt", ".dtsi": "sdt"}


def guess_format(path: Path) -> str:
    """The form that a file's name ends in, or the name of a file in a folder."""
    if path.is_dir():
        path = next((file for file in sorted(path.iterdir()) if file.suffix in ENDINGS), path)
    form = ENDINGS.get(path.suffix)
    if form is None:
        known = ", ".join(ENDINGS)
        raise BadInput(
            f"the ending does not tell the form (known endings: {known}); name the form with --from",
            file=path,
        )
    return form
