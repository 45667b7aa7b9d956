# SPDX-License-Identifier: Apache-2.0
"""Tables of outputs: which task's they are, and what was expected of them; and of plants' states."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from consort.record.columns import Column, Converted
from consort.record.ran import Ran

_TABLE = re.compile(r"outputs-(\d+)")
EXPECTED = "_expected"


def task_of(table: str, ran: Ran | None) -> int | None:
    """The number of the task whose outputs a raw table holds; None for any other table."""
    found = _TABLE.fullmatch(table)
    if found is None or ran is None or int(found[1]) >= len(ran.tasks):
        return None
    return int(found[1])


def column_name(member: str) -> str:
    """A path to a member of a C++ struct as the name of a column: axes[2].limit is axes_2_limit."""
    return re.sub(r"[^A-Za-z0-9_]", "_", member.replace("]", ""))


def numbered(struct: np.dtype[Any], by: str = "seq") -> np.dtype[Any]:
    """Rows of a struct behind a number: an output behind its job's. Each element stands by itself."""
    members: Mapping[str, Any] = struct.fields or {}
    fields = [(by, np.dtype("<u8"), 0)]
    for name in struct.names or ():
        of, offset = members[name][:2]
        for number, index in enumerate(np.ndindex(of.shape)):
            element = "_".join([column_name(name), *map(str, index)])
            fields.append((element, of.base, 8 + offset + number * of.base.itemsize))
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": 8 + struct.itemsize})


def beside_expected(converted: Converted, expected: NDArray[np.void]) -> Converted:
    """Puts a column `<member>_expected` after each member's column."""
    members = {column_name(name): name for name in expected.dtype.names or ()}
    columns = []
    for column in converted.columns:
        columns.append(column)
        if column.name in members:
            values = np.ascontiguousarray(expected[members[column.name]])
            columns.append(Column(column.name + EXPECTED, values, column.unit, "expected"))
    return Converted(columns, converted.metrics)
