# SPDX-License-Identifier: Apache-2.0
"""Keys that exports leave out: for each key of a description and each form the reason, in one table.

AMALTHEA is not in it: what its elements cannot say stands in a custom property of the model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

from pydantic import BaseModel

from consort.exchange.report import Report
from consort.model import Duration, System
from consort.model.figures import Figure, Sourced

Form = Literal["mast", "rt-app", "sag"]
FORMS: tuple[Form, ...] = ("mast", "rt-app", "sag")
NAMES: dict[Form, str] = {"mast": "MAST", "rt-app": "rt-app", "sag": "the job set"}
# In place of a reason: the export writes it, or says itself what becomes of it.
WRITTEN = ""
_NONE = "no such thing in {form}"
_NOT_TIMED = "no part of the timing that is written"
_TOO_LOW = "written without: bounds of {form} are too low"
_PARTS = dict.fromkeys(("channels", "chains", "devices", "modes", "mode_changes", "accelerators"), _NONE)
SYSTEM: dict[str, str] = {
    **_PARTS,
    **dict.fromkeys(("consort", "name", "description", "platform", "tasks", "scheduling"), WRITTEN),
    "resources": WRITTEN,
    "run": "how a run is made, not what the system is",
    "targets": "the system as it stands is written, on its own platform",
}
_SCHEDULING: dict[str, str] = {
    "policy": WRITTEN,
    "context_switch": _TOO_LOW,
    "cache_reload": _TOO_LOW,
    "cache": _TOO_LOW,
    "bandwidth": _TOO_LOW,
    "supply": _TOO_LOW,
    **dict.fromkeys(("slot", "arbitration", "wait", "service"), _NONE),
}
SCHEDULING: dict[Form, dict[str, str]] = {
    "mast": _SCHEDULING | {"context_switch": WRITTEN},
    "rt-app": _SCHEDULING
    | dict.fromkeys(("context_switch", "cache_reload", "cache"), "that of the machine takes its place")
    | dict.fromkeys(("supply", "bandwidth"), "threads of rt-app have all of their CPU's time"),
    # A core with a supply or a bandwidth is refused.
    "sag": _SCHEDULING | dict.fromkeys(("supply", "bandwidth"), WRITTEN),
}
_TASK: dict[str, str] = {
    **dict.fromkeys(("period", "min_interarrival", "deadline", "offset", "jitter", "priority"), WRITTEN),
    **dict.fromkeys(("wcet", "bcet", "on", "execution", "master", "sections"), WRITTEN),
    "dispatch": _NONE,
    **dict.fromkeys(("min_distances", "burst"), "the task comes as often as its shortest interval allows"),
    "preemption_threshold": _NONE,
    "self_suspension": _TOO_LOW,
    "suspensions": _NONE,
    "requests": _TOO_LOW,
    "cache_sets": _NONE,
    "accesses": _NONE,
    "remote_state": _TOO_LOW,
    "arrival": "nothing of the task that releases it is written",
    **dict.fromkeys(("step", "types", "energy", "footprint", "reads", "writes"), _NOT_TIMED),
    **dict.fromkeys(("on_miss", "restart_worker", "input", "golden"), _NOT_TIMED),
}
TASK: dict[Form, dict[str, str]] = {
    "mast": _TASK,
    "rt-app": _TASK
    | dict.fromkeys(("self_suspension", "suspensions"), WRITTEN)
    | {"bcet": _NONE, "jitter": _NONE, "sections": "a run of its threads holds nothing", "requests": _NONE}
    | {"remote_state": "nothing of its threads is paged"},
    # Resources are of no matter where no job is preempted; where one is, the export says so.
    "sag": _TASK | {"priority": WRITTEN, "remote_state": WRITTEN},
}


def leave_unwritten(system: System, form: Form, report: Report, tasks: Collection[str]) -> None:
    """Lists what is said of the system and of these tasks, and is not in the file."""
    cores = dict.fromkeys(system.tasks[name].on for name in tasks)
    _leave(report, form, SYSTEM, "", system)
    for name in tasks:
        _leave(report, form, TASK[form], name, system.tasks[name])
    for core in cores:
        _leave(report, form, SCHEDULING[form], core, system.scheduling_of(core))
        described = system.platform_description.core(core).description
        own = system.scheduling_of(core).context_switch
        if own is None and described.context_switch is not None and described.context_switch.value.value:
            why = SCHEDULING[form]["context_switch"]
            if why != WRITTEN:
                report.leave("context_switch", core, why.format(form=NAMES[form]))
        if described.timer_lateness is not None and described.timer_lateness.value.value:
            report.leave("timer_lateness", core, _TOO_LOW.format(form=NAMES[form]))


def _leave(report: Report, form: Form, table: dict[str, str], name: str, part: BaseModel) -> None:
    for key, value in _said(part):
        why = table[key]
        if why != WRITTEN:
            inner = list(value) if not name and isinstance(value, dict) else [name or key]
            for one in inner:
                report.leave(key, one, why.format(form=NAMES[form]))


def keys_of(part: type[BaseModel]) -> list[str]:
    """The keys of a part of a description, but for those that say where its figures come from."""
    return [name for name in part.model_fields if name not in Sourced.model_fields]


def _said(part: BaseModel) -> Iterator[tuple[str, object]]:
    """Keys and values that the description states, but for those that equal the defaults."""
    for key in keys_of(type(part)):
        value = getattr(part, key)
        plain = value.value if isinstance(value, Figure) else value
        nothing = isinstance(plain, Duration) and not plain.value
        if key in part.model_fields_set and value != type(part).model_fields[key].default and not nothing:
            yield key, value
