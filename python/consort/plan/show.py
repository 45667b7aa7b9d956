# SPDX-License-Identifier: Apache-2.0
"""A plan as tables that fit a terminal of 80 columns; long names break, and nothing is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from consort.model.quantities import Duration, Energy, Size
from consort.plan.targets import BOARD, TARGETS
from consort.plan.types import Binding, Plan, PlannedChanges, PlannedChannel, PlannedCore, PlannedTask

WIDTH = 80
# Longer names break within their column.
_LONGEST_WHOLE = 20


def show(plan: Plan, console: Console) -> None:
    """Prints all of a plan."""
    for part in _parts(plan):
        console.print(part, highlight=False)


def text_of(plan: Plan, width: int = WIDTH) -> str:
    """What `show` prints, without colours."""
    console = Console(width=width, record=True, quiet=True, color_system=None)
    console.quiet = False
    with console.capture() as captured:
        show(plan, console)
    return captured.get()


def _parts(plan: Plan) -> Iterator[RenderableType]:
    system = plan.system
    target = TARGETS.get(plan.target, TARGETS[BOARD])
    title = system.name or system.file.resolve().parent.name
    yield Text(
        f"{title}: {len(plan.tasks)} tasks on {len(plan.cores)} cores of {system.platform_description.name},"
        f" for {plan.target} ({target.summary})"
    )
    if system.description:
        yield Text(system.description)
    if plan.mode is not None:
        yield Text(f"mode: {plan.mode}")
    if plan.changes is not None:
        yield _changes(plan.changes)
    yield _cores(plan)
    for core in plan.cores.values():
        yield from _dispatch(plan, core)
    if plan.channels:
        yield _channels(plan)
    if plan.devices:
        yield _devices(plan)
    if plan.chains:
        yield _chains(plan)
    if plan.resources:
        yield _resources(plan)
    yield Group(*(_line("run", text) for text in _run(plan)))
    if plan.sources:
        yield _list(
            "figures and their sources", ((f"{s.place} {s.value}".rstrip(), s.source) for s in plan.sources)
        )
    for note in plan.notes:
        yield _line("note", note)


def _line(head: str, text: str) -> RenderableType:
    return Text(f"{head}: {text}")


def _table(title: str, names: Iterable[str], *heads: tuple[str, str]) -> Table:
    """A table whose first column has names: whole ones where the longest leaves room for the rest."""
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False, box=None)
    whole = max((len(name) for name in names), default=0) <= _LONGEST_WHOLE
    for number, (head, side) in enumerate(heads):
        table.add_column(head, justify=side, overflow="fold", no_wrap=whole and number == 0)  # type: ignore[arg-type]
    return table


def _list(title: str, lines: Iterable[tuple[str, str]]) -> RenderableType:
    parts = [Padding(Text(f"{name}: {text}"), (0, 0, 0, 2)) for name, text in lines]
    return Group(Text(title, style="bold"), *parts) if title else Group(*parts)


def _time(picoseconds: int | None, without: str = "-") -> str:
    return without if picoseconds is None else Duration.spelled(picoseconds)


def _about(picoseconds: int | None) -> str:
    """A computed time, to the nanosecond above."""
    return "-" if picoseconds is None else Duration.spelled(-(-picoseconds // 1000) * 1000)


def _changes(changes: PlannedChanges) -> RenderableType:
    within = "" if changes.within_ps is None else f", within {Duration.spelled(changes.within_ps)}"
    lines = [("start", changes.start), ("agreement", Duration.spelled(changes.agreement_ps) + within)]
    if changes.state_through is not None:
        lines.append(("state passes through", changes.state_through))
    lines += [(f"requested at {Duration.spelled(at)}", to) for at, to in changes.requests]
    return _list("changes of mode (the plan of each mode: --mode)", lines)


def _cores(plan: Plan) -> RenderableType:
    table = _table(
        "cores",
        plan.cores,
        ("core", "left"),
        ("processor", "left"),
        ("CPU", "right"),
        ("policy", "left"),
        ("releases", "left"),
        ("answers", "left"),
        ("switch", "right"),
        ("tasks", "right"),
    )
    for core in plan.cores.values():
        table.add_row(
            core.name,
            core.processor,
            "any" if core.cpu is None else str(core.cpu),
            "; ".join(_policy(core)),
            core.time_base if core.tasks else "-",
            core.wait if _is_master(plan, core) else "-",
            _time(core.context_switch_ps, "no figure"),
            str(len(core.tasks) + len(core.serves)),
        )
    return table


def _policy(core: PlannedCore) -> Iterator[str]:
    yield core.policy
    if core.supply is not None:
        yield str(core.supply)
    if core.cache_reload_ps is not None:
        yield f"reload ≤ {_time(core.cache_reload_ps)} a preemption"
    if core.cache is not None:
        ways = f", {core.cache.ways} ways" if core.cache.ways > 1 else ""
        yield f"cache {core.cache.replacement}{ways}, {_time(core.cache.block_ps)} a block"
    if core.bandwidth is not None:
        given = core.bandwidth
        yield f"{given}, each {_time(given.shortest_ps)} to {_time(given.longest_ps)}"


def _resources(plan: Plan) -> RenderableType:
    table = _table(
        "resources",
        plan.resources,
        ("resource", "left"),
        ("core", "left"),
        ("protocol", "left"),
        ("ceiling", "right"),
        ("held by", "left"),
    )
    for name, resource in plan.resources.items():
        sections = {t: s for t in resource.users for s in plan.tasks[t].sections if s.resource == name}
        held = (
            f"{task} {_time(s.length_ps)}" + (f" {s.times} times" if s.times > 1 else "")
            for task, s in sections.items()
        )
        table.add_row(
            name, ", ".join(resource.cores), resource.protocol, str(resource.ceiling), ", ".join(held)
        )
    return table


def _is_master(plan: Plan, core: PlannedCore) -> bool:
    return any(plan.tasks[task].worker is not None for task in core.tasks)


def _dispatch(plan: Plan, core: PlannedCore) -> Iterator[RenderableType]:
    doing = "releases" if core.tasks else "computes for its masters"
    names = core.tasks or core.serves
    table = _table(
        f"{core.name} {doing}, the most urgent first",
        names,
        ("task", "left"),
        ("rank", "right"),
        ("every", "right"),
        ("from", "right"),
        ("jitter", "right"),
        ("deadline", "right"),
        ("execution", "right"),
        ("how", "left"),
    )
    for name in names:
        task = plan.tasks[name]
        table.add_row(
            name,
            str(task.rank if core.tasks else task.worker_rank),
            f"≥ {_time(task.period_ps)}" if task.sporadic else _time(task.period_ps),
            "-" if task.sporadic else _time(task.offset_ps),
            _time(task.jitter_ps) if task.jitter_ps else "-",
            _time(task.deadline_ps),
            _execution(task),
            task.execution if core.tasks else f"for {task.core}",
        )
    yield table
    if core.tasks:
        yield _list("", ((name, "; ".join(_done(plan.tasks[name]))) for name in names))
    else:
        yield _list("", ((name, _step(plan.tasks[name])) for name in names))
    if core.slot is not None:
        slot = core.slot
        yield Padding(
            Text(
                f"loads and unloads by {slot.arbitration}: {_about(slot.length_ps)} from"
                f" {_about(slot.phase_ps)} of each {_about(slot.round_ps)}; {slot.partitions} partitions"
            ),
            (0, 0, 0, 2),
        )


def _execution(task: PlannedTask) -> str:
    if task.wcet_ps is None:
        return "not known"
    if task.bcet_ps == task.wcet_ps:
        return _time(task.wcet_ps)
    return f"{_time(task.bcet_ps)} to {_time(task.wcet_ps)}"


def _step(task: PlannedTask) -> str:
    return "no step" if task.step is None else str(task.step)


def _done(task: PlannedTask) -> Iterator[str]:
    if task.release == "sporadic":
        yield "released by a generator"
    elif task.release == "arrival":
        yield f"released by what arrives in {task.arrival}"
    if task.reads:
        yield f"reads {', '.join(map(_binding, task.reads))}"
    if task.input is not None:
        yield f"inputs from {getattr(task.input, 'file', None) or getattr(task.input, 'function', '')}"
    if task.worker is not None:
        yield f"sends to {task.worker}"
        costs = [
            f"{word} {_time(v)}" for word, v in (("send", task.send_ps), ("receive", task.receive_ps)) if v
        ]
        if costs:
            yield ", ".join(costs)
        yield f"on a miss {task.on_miss}" + (
            f" after {_time(task.give_up_ps)}" if task.give_up_ps is not None else ""
        )
        if task.restart_worker:
            yield "restarts the worker"
    else:
        if task.execution == "three-phase":
            transfers = task.footprint
            if transfers is not None and transfers.load_ps is not None:
                yield f"load {_about(transfers.load_ps)}, unload {_about(transfers.unload_ps)}"
            else:
                yield "load, unload"
        yield _step(task)
        if task.on_miss == "stop":
            yield "on a miss stop"
    if task.writes:
        yield f"writes {', '.join(map(_binding, task.writes))}"
    if task.self_suspension_ps:
        times = f" in {task.suspensions} stretches" if task.suspensions > 1 else ""
        yield f"waits ≤ {_time(task.self_suspension_ps)}{times}"
    if task.accesses is not None:
        yield f"accesses memory {task.accesses} times"
    if task.cache_sets is not None:
        sets = task.cache_sets
        yield f"cache sets {_numbers(sets.evicting)}, useful {_numbers(sets.useful)}"
    if task.golden is not None:
        yield f"outputs held against {task.golden.function}"
    if task.energy_pj is not None:
        yield f"{Energy(task.energy_pj)} a job"


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values)) or "none"


def _binding(binding: Binding) -> str:
    source = f"{binding.source}.{binding.part}" if binding.part else binding.source
    return f"{binding.member} = {source}" if binding.member else source


def _channels(plan: Plan) -> RenderableType:
    table = _table(
        "channels",
        plan.channels,
        ("channel", "left"),
        ("held in", "left"),
        ("blocks", "right"),
        ("of", "right"),
        ("memory", "left"),
        ("from and to", "left"),
    )
    for channel in plan.channels.values():
        table.add_row(
            channel.name,
            channel.implementation + (", LET" if channel.communication == "let" else ""),
            "-" if channel.capacity is None else str(channel.capacity),
            "its type" if channel.bytes is None else Size.spelled(channel.bytes),
            channel.memory or "any",
            " → ".join(_ends(channel)),
        )
    return table


def _ends(channel: PlannedChannel) -> tuple[str, str]:
    if channel.exchange_of is not None:
        return str(channel.writer_core), str(channel.reader_cores[0])
    writer = channel.writer
    if channel.flow is not None:
        writer += f", flow {channel.flow}"
    if channel.min_interarrival_ps is not None:
        writer += f", ≥ {_time(channel.min_interarrival_ps)} apart"
    return writer, ", ".join(channel.readers)


def _devices(plan: Plan) -> RenderableType:
    table = _table(
        "devices",
        plan.devices,
        ("device", "left"),
        ("what", "left"),
        ("read by", "left"),
        ("written by", "left"),
    )
    for device in plan.devices.values():
        parts: list[str] = [device.kind]
        if device.reference is not None:
            parts.append(str(getattr(device.reference, "file", device.reference)))
        if device.arguments:
            parts.append(", ".join(f"{key}={value}" for key, value in device.arguments.items()))
        if device.period_ps is not None:
            parts.append(f"every {_time(device.period_ps)}")
        parts += [part for part in (device.is_a, device.rate, device.description) if part]
        table.add_row(
            device.name, "; ".join(parts), ", ".join(device.readers) or "-", ", ".join(device.writers) or "-"
        )
    return table


def _chains(plan: Plan) -> RenderableType:
    table = _table(
        "chains",
        plan.chains,
        ("chain", "left"),
        ("path", "left"),
        ("reaction", "right"),
        ("age", "right"),
        ("communication", "left"),
    )
    for chain in plan.chains.values():
        table.add_row(
            chain.name,
            " → ".join(chain.path),
            _time(chain.reaction_ps),
            _time(chain.age_ps),
            chain.communication,
        )
    return table


def _run(plan: Plan) -> Iterator[str]:
    run = plan.run
    yield f"{run.iterations} jobs of each task in {', '.join(run.configurations)}; seed {run.seed}"
    if run.interference:
        yield f"interference by {', '.join(run.interference)}"
