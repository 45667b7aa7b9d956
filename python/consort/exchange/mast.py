# SPDX-License-Identifier: Apache-2.0
"""Systems as MAST text, in the form of releases 1.3 and later: processors, schedulers, scheduling servers."""

from __future__ import annotations

from fractions import Fraction

from consort.base.errors import BadInput
from consort.exchange.conventions import Report
from consort.exchange.exports import leave_unwritten
from consort.model import Duration, System

MICROSECOND = 10**6
# The precision that MAST reads with: more digits than these are lost there.
DIGITS = 15
SERVERS = {
    "fixed-priority": "Fixed_Priority_Policy",
    "fixed-priority-non-preemptive": "Non_Preemptible_FP_Policy",
    "edf": "EDF_Policy",
}


def export_mast(system: System, report: Report) -> str:
    """The text of a MAST model: a processor for each core, a transaction for each task."""
    tasks = [name for name in system.tasks if _fits(system, name, report)]
    if not tasks:
        raise BadInput(f"there is no task that MAST could analyse\n{report.text()}", file=system.file)
    cores = list(dict.fromkeys(system.tasks[name].on for name in tasks))
    _apart(cores, system)
    _apart(tasks, system)
    parts = [part for core in cores for part in _core(system, core, report)]
    parts += _resources(system, tasks)
    for name in tasks:
        parts += _task(system, name, report)
    leave_unwritten(system, "mast", report, tasks)
    return "-- Times are microseconds.\n\n" + "\n\n".join(parts) + "\n"


def _fits(system: System, name: str, report: Report) -> bool:
    task = system.tasks[name]
    if system.wcet(name) is None:
        report.leave("task", name, "it has no wcet")
    elif task.execution != "local":
        report.leave("task", name, f"{task.execution} execution, which MAST does not model")
    else:
        return True
    return False


def _core(system: System, core: str, report: Report) -> list[str]:
    policy = "EDF" if system.scheduling_of(core).policy == "edf" else "Fixed_Priority"
    switch = system.context_switch(core)
    values = [f"Type => {policy}"]
    if policy == "Fixed_Priority":
        own = [_priority(system, task) for task in system.tasks_on(core)]
        values += [f"Max_Priority => {max(own)}", f"Min_Priority => {min(0, *own)}"]
    if switch.value:
        values.append(f"Worst_Context_Switch => {_time(core, switch, report)}")
    return [
        f'Processing_Resource (\n  Type => Regular_Processor,\n  Name => "{_name(core)}");',
        f'Scheduler (\n  Type => Primary_Scheduler,\n  Name => "{_name(core)}",\n  Host => "{_name(core)}",\n'
        f"  Policy => ({', '.join(values)}));",
    ]


def _resources(system: System, tasks: list[str]) -> list[str]:
    """The resources of these tasks, each with the priority of its most urgent user."""
    parts = []
    locking = [name for name in tasks if _locks(system, name)]
    for resource in system.resources:
        users = [_priority(system, name) for name in locking if resource in system.tasks[name].sections]
        if users:
            if system.resources[resource].protocol == "priority-inheritance":
                listed = ["Priority_Inheritance_Resource", f'Name => "{_name(resource)}"']
            else:
                listed = ["Immediate_Ceiling_Resource", f'Name => "{_name(resource)}"']
                listed += [f"Ceiling => {max(users)}", "Preassigned => Yes"]
            values = ",\n  ".join(listed)
            parts.append(f"Shared_Resource (\n  Type => {values});")
    return parts


def _locks(system: System, name: str) -> bool:
    """True if a task's resources are written: under EDF MAST has other ones, with levels of their own."""
    task = system.tasks[name]
    return bool(task.sections) and system.scheduling_of(task.on).policy != "edf"


def _operation(system: System, name: str, report: Report) -> list[str]:
    """A job's execution: one operation, or alternating ones with and without a resource."""
    task = system.tasks[name]
    wcet, bcet = system.wcet(name), system.bcet(name)
    assert wcet is not None and bcet is not None
    title = _name(name)
    if not _locks(system, name):
        for resource in task.sections:
            report.leave("resource", f"{name}, {resource}", "only written for fixed priorities")
        return [_simple(title, _time(name, wcet, report), _time(name, bcet, report), "")]
    parts, listed = [], list[str]()
    rest = wcet.value - sum(section.length.value.value for section in task.sections.values())
    if rest < 0:
        report.change("wcet", name, "as long as its sections together: MAST's operations are of one length")
    for resource, section in task.sections.items():
        length = section.length.value
        inside = f"{title}.{_name(resource)}"
        held = f',\n  Shared_Resources_List => ("{_name(resource)}")'
        parts.append(_simple(inside, _time(name, length, report), "0.0", held))
        # Not all times are as long as the longest: as many as fit into what the job executes.
        more = min(section.times - 1, max(rest, 0) // length.value)
        if more < section.times - 1:
            report.change("sections", f"{name}, {resource}", f"{1 + more} times: more would exceed its wcet")
        listed += [inside] * (1 + more)
        rest -= length.value * more
    own = f"{title}.alone"
    parts.append(_simple(own, _time(name, Duration(max(rest, 0)), report), "0.0", ""))
    report.change("bcet", name, "0 for each part of a job that holds a resource, and for the rest")
    operations = ", ".join(f'"{one}"' for one in (own, *listed))
    return [
        *parts,
        f'Operation (\n  Type => Composite,\n  Name => "{title}",\n'
        f"  Composite_Operation_List => ({operations}));",
    ]


def _simple(title: str, worst: str, best: str, more: str) -> str:
    return (
        f'Operation (\n  Type => Simple,\n  Name => "{title}",\n  Worst_Case_Execution_Time => {worst},\n'
        f"  Best_Case_Execution_Time => {best}{more});"
    )


def _priority(system: System, name: str) -> int:
    return system.priorities(system.tasks[name].on)[name]


def _task(system: System, name: str, report: Report) -> list[str]:
    task = system.tasks[name]
    policy = system.scheduling_of(task.on).policy
    server = [f"Type => {SERVERS[policy]}"]
    if policy == "edf":
        server.append(f"Deadline => {_time(name, task.deadline, report)}")
    else:
        server.append(f"The_Priority => {_priority(system, name)}")
    server.append("Preassigned => Yes")
    event = _event(system, name, report)
    title = _name(name)
    return [
        f'Scheduling_Server (\n  Type => Regular,\n  Name => "{title}",\n'
        f'  Server_Sched_Parameters => ({", ".join(server)}),\n  Scheduler => "{_name(task.on)}");',
        *_operation(system, name, report),
        f'Transaction (\n  Type => Regular,\n  Name => "{title}",\n  External_Events => (({event})),\n'
        f'  Internal_Events => ((Type => Regular, Name => "{title}.out",\n'
        "    Timing_Requirements => (Type => Hard_Global_Deadline,"
        f' Deadline => {_time(name, task.deadline, report)}, Referenced_Event => "{title}.in"))),\n'
        f'  Event_Handlers => ((Type => Activity, Input_Event => "{title}.in",'
        f' Output_Event => "{title}.out",\n'
        f'    Activity_Operation => "{title}", Activity_Server => "{title}")));',
    ]


def _event(system: System, name: str, report: Report) -> str:
    task = system.tasks[name]
    interval = _time(name, task.interval, report)
    if task.sporadic:
        if task.has_jitter:
            report.leave("jitter", name, "a sporadic event of MAST has none")
        return f'Type => Sporadic, Name => "{_name(name)}.in", Min_Interarrival => {interval}'
    values = [f'Type => Periodic, Name => "{_name(name)}.in"', f"Period => {interval}"]
    if task.has_jitter:
        values.append(f"Max_Jitter => {_time(name, task.jitter_time, report)}")
    if task.offset.value:
        values.append(f"Phase => {_time(name, task.offset, report)}")
    return ", ".join(values)


def _name(name: str) -> str:
    """An identifier of MAST, which has no '-'; a name with '_' doubles it, so that no two become one."""
    return name.replace("_", "__").replace("-", "_")


def _apart(names: list[str], system: System) -> None:
    """MAST does not tell capitals from small letters."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            text = f"{other!r} and {name!r} are one name for MAST; rename one of them"
            raise BadInput(text, file=system.file)


def _time(name: str, time: Duration, report: Report) -> str:
    value = Fraction(time.value, MICROSECOND)
    whole, rest = divmod(time.value, MICROSECOND)
    text = str(whole) if not rest else f"{whole}.{rest:06}".rstrip("0")
    assert Fraction(text) == value
    if len(text.replace(".", "")) > DIGITS:
        report.change("time", name, f"more than {DIGITS} digits, which MAST rounds")
    # Floating point throughout: MAST's whole numbers have 32 bits.
    return text if "." in text else f"{text}.0"
