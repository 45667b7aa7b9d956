# SPDX-License-Identifier: Apache-2.0
"""The forms that can be imported, and those that can be exported."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from consort.errors import BadInput
from consort.exchange.amalthea.exporter import export_amalthea
from consort.exchange.amalthea.importer import import_amalthea
from consort.exchange.mast import export_mast
from consort.exchange.report import Report
from consort.exchange.result import Imported
from consort.exchange.rtapp import export_rtapp, import_rtapp
from consort.exchange.sag import export_sag
from consort.exchange.sdt import import_sdt
from consort.model import System
from consort.model.quantities import OutOfRange


def _bounded(read: Callable[[Path], Imported]) -> Callable[[Path], Imported]:
    """The import, where a figure that no description can hold is the model's fault."""

    @functools.wraps(read)
    def imported(path: Path) -> Imported:
        try:
            return read(path)
        except (OutOfRange, OverflowError) as error:
            raise BadInput(f"holds a figure that a description cannot: {error}", file=path) from None

    return imported


IMPORTS: dict[str, Callable[[Path], Imported]] = {
    "amalthea": _bounded(import_amalthea),
    "rt-app": _bounded(import_rtapp),
    "sdt": _bounded(import_sdt),
}
EXPORTS: dict[str, Callable[[System, Report], str]] = {
    "amalthea": export_amalthea,
    "mast": export_mast,
    "rt-app": export_rtapp,
    "sag": export_sag,
}
ENDINGS = {".amxmi": "amalthea", ".json": "rt-app", ".dts": "sdt", ".dtsi": "sdt"}


def guess_format(path: Path) -> str:
    """The form that a file's name ends in."""
    form = ENDINGS.get(path.suffix)
    if form is None:
        known = ", ".join(ENDINGS)
        raise BadInput(f"the form is not known by the ending (known: {known}); name it by --from", file=path)
    return form
