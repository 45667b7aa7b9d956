# SPDX-License-Identifier: Apache-2.0
"""No bound rests on a figure that nobody gave: what stands in for one in the analyses is listed, with why."""

from __future__ import annotations

import ast
from pathlib import Path

import consort.analysis

HERE = Path(consort.analysis.__file__).parent
# Each None that is then taken as 0: where, which, and why no bound becomes lower by it.
TAKEN_AS_NOTHING = {
    ("backlog.py", "planned.bcet_ps"): "a shortest time: 0 is the least that it can be",
    ("chains.py", "link.period"): "not reached: a chain with a sporadic task has no bound",
    ("channel_bounds.py", "one.ps"): "a key to sort by, after whether there is a bound",
    ("unitask.py", "task.offset"): "a time that a tick has to divide",
    ("result.py", "bound.response"): "a key to sort by, after whether there is a bound",
    ("backlog.py", "plan.cores[task.core].timer_lateness_ps"): "None where no timer wakes the core; a core"
    " whose timer lacks the figure has no bound, nor has what rests on it",
    ("system.py", "task.receive_ps"): "the answer has to be there earlier by that: a bound is held to less",
    ("system.py", "task.self_suspension_ps"): "a description without it says that no job suspends itself",
    ("system.py", "way.ps"): "beside `undelivered`, which says that there is no bound",
}


def test_what_is_taken_as_nothing_is_listed_with_its_reason() -> None:
    found = set()
    for file in sorted(HERE.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
                last = node.values[-1]
                if isinstance(last, ast.Constant) and last.value == 0 and last.value is not False:
                    found.add((file.name, ast.unparse(node.values[0])))
    assert found == set(TAKEN_AS_NOTHING)
