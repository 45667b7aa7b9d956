# SPDX-License-Identifier: Apache-2.0
"""A plan as tables that fit a terminal of 80 columns; long names break, and nothing is cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sized

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from consort.model.quantities import Duration, Energy, Size
from consort.model.task import AUTO
from consort.plan import data_flow
from consort.plan.data_flow import about, line, listing, table_of, time_text
from consort.plan.sharing import PlannedAccelerator
from consort.plan.targets import BOARD, TARGETS
from consort.plan.types import Binding, Plan, PlannedChanges, PlannedCore, PlannedTask

WIDTH = 80
POLICY_WIDTH = 20


def show(plan: Plan, console: Console) -> None:
    """Prints all of a plan."""
    for part in _parts(plan):
        console.print(part, highlight=False)


def text_of(plan: Plan, width: int = WIDTH) -> str:
    """The text that `show` prints, without colours."""
    console = Console(width=width, record=True, quiet=True, color_system=None)
    console.quiet = False
    with console.capture() as captured:
        show(plan, console)
    return captured.get()


def _counted(things: Sized, one: str) -> str:
    return f"{len(things)} {one}{'' if len(things) == 1 else 's'}"


def _parts(plan: Plan) -> Iterator[RenderableType]:
    target = TARGETS.get(plan.target, TARGETS[BOARD])
    title = plan.name or plan.file.resolve().parent.name
    yield Text(
        f"{title}: {_counted(plan.tasks, 'task')} on {_counted(plan.cores, 'core')} of {plan.platform.name},"
        f" for {plan.target} ({target.summary})"
    )
    if plan.description:
        yield Text(plan.description)
    if plan.mode is not None:
        yield Text(f"mode: {plan.mode}")
    if plan.changes is not None:
        yield _changes(plan.changes)
    yield _cores(plan)
    for core in plan.cores.values():
        if core.policy != "accelerator":
            yield from _dispatch(plan, core)
    if plan.channels:
        yield data_flow.channels(plan)
    if plan.devices:
        yield data_flow.devices(plan)
    if plan.chains:
        yield data_flow.chains(plan)
    if plan.resources:
        yield _resources(plan)
    for name, accelerator in plan.accelerators.items():
        yield _accelerator(name, accelerator)
    yield Group(*(line("run", text) for text in _run(plan)))
    if plan.sources:
        yield listing(
            "figures and their sources", ((f"{s.place} {s.value}".rstrip(), s.source) for s in plan.sources)
        )
    for note in plan.notes:
        yield line("note", note)


def _changes(changes: PlannedChanges) -> RenderableType:
    within = "" if changes.within_ps is None else f", within {Duration.spelled(changes.within_ps)}"
    lines = [("start", changes.start), ("agreement", Duration.spelled(changes.agreement_ps) + within)]
    if changes.state_through is not None:
        lines.append(("state passes through", changes.state_through))
    lines += [(f"requested at {Duration.spelled(at)}", to) for at, to in changes.requests]
    lines += [
        (
            f"asked for by {asker.task}.{asker.member}",
            ", ".join(f"{k}: {m}" for k, m in enumerate(asker.modes, 1)),
        )
        for asker in changes.asked_by
    ]
    return listing("changes of mode (the plan of each mode: --mode)", lines)


def _cores(plan: Plan) -> RenderableType:
    table = table_of(
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
            # Rich breaks only at spaces, or anywhere.
            "\n".join(textwrap.wrap("; ".join(_policy(core)), POLICY_WIDTH)),
            core.time_base if core.tasks else "-",
            core.wait if _is_master(plan, core) else "-",
            time_text(core.context_switch_ps, "no figure"),
            str(len(core.tasks) + len(core.serves)),
        )
    return table


def _policy(core: PlannedCore) -> Iterator[str]:
    yield core.policy
    if core.supply is not None:
        yield str(core.supply)
    if core.cache_reload_ps is not None:
        yield f"reload ≤ {time_text(core.cache_reload_ps)} a preemption"
    if core.cache is not None:
        ways = f", {core.cache.ways} ways" if core.cache.ways > 1 else ""
        yield f"cache {core.cache.replacement}{ways}, {time_text(core.cache.block_ps)} a block"
    if core.bandwidth is not None:
        given = core.bandwidth
        yield f"{given}, each {time_text(given.shortest_ps)} to {time_text(given.longest_ps)}"


def _resources(plan: Plan) -> RenderableType:
    table = table_of(
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
            f"{task} {time_text(s.length_ps)}" + (f" {s.times} times" if s.times > 1 else "")
            for task, s in sections.items()
        )
        table.add_row(
            name, ", ".join(resource.cores), resource.protocol, str(resource.ceiling), ", ".join(held)
        )
    return table


def _accelerator(name: str, accelerator: PlannedAccelerator) -> RenderableType:
    memory = "no memory is named" if accelerator.memory is None else f"in {accelerator.memory}"
    lines = [("serves", f"{accelerator.core}, {accelerator.arbitration}, requests {memory}")]
    for operation, one in accelerator.operations.items():
        sizes = [
            f"{word} {_bytes(n)}" for word, n in (("takes", one.request_bytes), ("gives", one.answer_bytes))
        ]
        lines.append((operation, "; ".join([_span(one.bcet_ps, one.wcet_ps), *sizes])))
    for client in accelerator.clients:
        given = f"rank {client.rank}"
        if accelerator.arbitration == "tdma":
            whole = time_text(accelerator.round_ps)
            given = f"slot {time_text(client.slot_ps)} from {time_text(client.slot_from_ps)} of each {whole}"
        elif accelerator.arbitration == "budget":
            given += f", {time_text(client.budget_ps)} in each {time_text(client.period_ps)}"
        lines.append((client.task, given))
    return listing(f"accelerator {name}", lines)


def _bytes(size: int | None) -> str:
    return "no size" if size is None else str(Size(size))


def _is_master(plan: Plan, core: PlannedCore) -> bool:
    tasks = [plan.tasks[task] for task in core.tasks]
    return any(task.worker is not None or task.requests for task in tasks)


def _jitter(task: PlannedTask) -> str:
    if task.auto_jitter is not None and not task.auto_jitter.found:
        return AUTO
    return time_text(task.jitter_ps) if task.jitter_ps else "-"


def _dispatch(plan: Plan, core: PlannedCore) -> Iterator[RenderableType]:
    doing = "releases" if core.tasks else "computes for its masters"
    names = core.tasks or core.serves
    table = table_of(
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
            f"≥ {time_text(task.period_ps)}" if task.sporadic else time_text(task.period_ps),
            "-" if task.sporadic else time_text(task.offset_ps),
            _jitter(task),
            time_text(task.deadline_ps),
            _execution(task),
            task.execution if core.tasks else f"for {task.core}",
        )
    yield table
    if core.tasks:
        yield listing("", ((name, "; ".join(_done(plan.tasks[name]))) for name in names))
    else:
        yield listing("", ((name, _step(plan.tasks[name])) for name in names))
    if core.slot is not None:
        slot = core.slot
        yield Padding(
            Text(
                f"loads and unloads by {slot.arbitration}: {about(slot.length_ps)} from"
                f" {about(slot.phase_ps)} of each {about(slot.round_ps)}; {slot.partitions} partitions"
            ),
            (0, 0, 0, 2),
        )


def _execution(task: PlannedTask) -> str:
    return _span(task.bcet_ps, task.wcet_ps)


def _span(best_ps: int | None, worst_ps: int | None) -> str:
    if worst_ps is None:
        return "not known"
    if best_ps == worst_ps:
        return time_text(worst_ps)
    return f"{time_text(best_ps)} to {time_text(worst_ps)}"


def _step(task: PlannedTask) -> str:
    return "no step" if task.step is None else str(task.step)


def _done(task: PlannedTask) -> Iterator[str]:
    if task.min_distances_ps:
        yield f"releases at least {', '.join(map(time_text, task.min_distances_ps))} from one on"
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
            f"{word} {time_text(v)}"
            for word, v in (("send", task.send_ps), ("receive", task.receive_ps))
            if v
        ]
        if costs:
            yield ", ".join(costs)
        yield f"on a miss {task.on_miss}" + (
            f" after {time_text(task.give_up_ps)}" if task.give_up_ps is not None else ""
        )
        if task.restart_worker:
            yield "restarts the worker"
    else:
        if task.execution == "three-phase":
            transfers = task.footprint
            if transfers is not None and transfers.load_ps is not None:
                yield f"load {about(transfers.load_ps)}, unload {about(transfers.unload_ps)}"
            else:
                yield "load, unload"
        yield _step(task)
    if task.writes:
        yield f"writes {', '.join(map(_binding, task.writes))}"
    if task.self_suspension_ps:
        times = f" in {task.suspensions} stretches" if task.suspensions > 1 else ""
        yield f"waits ≤ {time_text(task.self_suspension_ps)}{times}"
    for one in task.requests:
        times = f" {one.times} times" if one.times > 1 else ""
        yield f"asks {one.accelerator} for {one.operation}{times}"
    if task.threshold is not None:
        yield f"preempted by ranks below {task.threshold} only"
    if task.accesses is not None:
        yield f"accesses memory {task.accesses} times"
    if task.remote_state is not None:
        far = task.remote_state
        most = "" if far.faults is None else f", at most {far.faults} faults a job"
        ahead = f" in runs of {far.prefetch}" if far.prefetch > 1 else ""
        yield f"state in {far.memory}, {Size(far.cache)} of it here, pages{ahead}{most}"
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


def _run(plan: Plan) -> Iterator[str]:
    run = plan.run
    first = next(iter(plan.tasks.values()))
    lasts = run.iterations * first.period_ps
    others = ", the others for as long," if len(plan.tasks) > 1 else ""
    where = ", ".join(run.configurations)
    most = "at most " if first.sporadic else ""
    jobs = f"{most}{first.releases_until(lasts)} jobs of {first.name}"
    yield f"{jobs} ({Duration.spelled(lasts)}){others} in {where}; seed {run.seed}"
    if run.interference:
        yield f"interference by {', '.join(run.interference)}"
