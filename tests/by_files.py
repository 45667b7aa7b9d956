# SPDX-License-Identifier: Apache-2.0
"""Tests side by side, a file at a time, as by xdist (`--dist loadfile`); but a test is not the end of others.

xdist gives a test that ended its process, such as one that hangs, to the next process, and again, until it
starts no more of them: no other test runs. And it gives work to a process that is not ready for it.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class ByFiles(LoadFileScheduling):
    """A test that ended its process has failed, and the rest of its file goes to another process."""

    def remove_node(self, node: WorkerController) -> str | None:
        units = self.assigned_work.pop(node)
        left = {scope: unit for scope, unit in units.items() if not all(unit.values())}
        ended = next(
            ((unit, name) for unit in left.values() for name, over in unit.items() if not over), None
        )
        if ended is None:
            return None
        unit, name = ended
        unit[name] = True
        self.workqueue.update({scope: unit for scope, unit in left.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return name

    def _reschedule(self, node: WorkerController) -> None:
        # One that has not collected its tests yet is given some when it has.
        if node in self.registered_collections:
            super()._reschedule(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFiles | None:
    return ByFiles(config, log) if config.getoption("dist") == "loadfile" else None
