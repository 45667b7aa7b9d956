# SPDX-License-Identifier: Apache-2.0
"""The meaning of each key of a description to each reader of it: the table of docs/reference/meanings.md,
which is made of it.

A test holds that every key of the schema has a row, and that what a row calls refused is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

TARGETS = ("check", "analyze", "simulate", "virtual", "linux", "board", "kernel")
CELLS = {
    "A": "acts",
    "S": "acts; some refused",
    "F": "figure",
    "R": "refused",
    ".": "–",
}


@dataclass(frozen=True)
class Row:
    """Keys of one meaning, as `Part.key` of the schema. `cells` has a letter of `CELLS` for each target."""

    keys: tuple[str, ...]
    unit: str
    absent: str
    cells: str
    page: str
    why: str = ""

    @property
    def unlike(self) -> bool:
        """True if one reader acts by the key and another only assumes it."""
        return bool({"A", "S"} & {*self.cells[1:]}) and "F" in self.cells[1:]


def _row(keys: str, unit: str, absent: str, cells: str, page: str, why: str = "") -> Row:
    part, *names = keys.split()
    assert len(cells) == len(TARGETS) and {*cells} <= CELLS.keys(), keys
    return Row(tuple(f"{part}.{name}" for name in names), unit, absent, cells, page, why)


_ANALYSES, _EXECUTIVE, _MODES = "analyses", "executive", "mode-changes"
_DESIGN = "system"
# Pages that are not among the explanations.
_PAGES = {_DESIGN: "system-yaml.md", "boards": "../how-to/boards.md"}
_REAL = "Here the real cost is what it is; the judge holds what was measured against the bound."
_PLAYED = "Nothing plays it where steps execute: it is an assumption of the bound, and the run says so."

ROWS: tuple[Row, ...] = (
    # The description as a whole.
    _row("System consort", "version", "required", "A......", _DESIGN),
    _row("System name description", "text", "the file's name", "A......", _DESIGN, "They are printed."),
    _row("System platform", "name or file", "required", "AAAASSS", _DESIGN),
    _row(
        "System scheduling resources accelerators devices tasks channels chains modes mode_changes run",
        "",
        "nothing of it",
        "AASSSSS",
        _DESIGN,
        "Their keys have rows of their own.",
    ),
    # Releases.
    _row("Task period", "time", "sporadic", "AAASSSA", _ANALYSES),
    _row("Task min_interarrival", "time", "periodic", "AAAASAR", _EXECUTIVE),
    _row("Task min_distances", "times", "multiples of min_interarrival", "AAAAARR", _EXECUTIVE),
    _row("Task deadline", "time", "the period", "AAAASSA", _ANALYSES),
    _row("Task offset", "time", "0", "AAAASSA", _ANALYSES),
    _row("Task jitter", "time", "0", "AAAASAR", _ANALYSES),
    _row(
        "Task arrival",
        "channel",
        "a generator",
        "AAASSRR",
        _EXECUTIVE,
        "Blocks of tasks release at the same instants everywhere. A device's blocks come as a generator's in"
        " simulations and as the channel's min_interarrival says on Linux: a bound holds for both.",
    ),
    # Urgency.
    _row("Task priority", "larger is more urgent", "by the deadline", "AAAASAA", _ANALYSES),
    _row("Task preemption_threshold", "priority", "the task's own", "AAAAAA.", _ANALYSES),
    # Execution.
    _row(
        "Task wcet",
        "time",
        "no bound, no stand-in",
        "AAAASAA",
        _EXECUTIVE,
        "Real steps take what they take, and the judge holds them against it; no time scale stretches it.",
    ),
    _row(
        "Task bcet",
        "time",
        "simulated: the wcet; a bound counts on nothing",
        "AAAAAA.",
        _ANALYSES,
        "Without it a simulated time does not vary, which is one of the executions that a bound is of. No job"
        " takes less than a picosecond. A kernel's stand-ins always take the wcet.",
    ),
    _row(
        "Task energy",
        "energy",
        "not known",
        "A......",
        "placement",
        "It is of `consort place` and of the figures that `consort plan` prints.",
    ),
    _row("Task step types", "reference", "stand-ins with --stand-ins", "A..SSSS", _DESIGN),
    _row("Types in state out", "type", "the step's", "A..AAAA", _DESIGN),
    _row("Task footprint", "", "three-phase: required", "AAAAAAA", "three-phase"),
    _row(
        "Footprint code data inputs outputs",
        "bytes",
        "the compiled types'",
        "AAAAAAA",
        "three-phase",
        "One that is unlike the compiled type is refused when it is compiled.",
    ),
    _row("Footprint stack", "bytes", "what the compiler finds", "A....A.", "boards"),
    _row("Task on execution master", "core", "local", "AAASSSS", _EXECUTIVE),
    _row("Task dispatch", "", "accesses of the channels", "AAAAFFF", "offload", _REAL),
    _row("Dispatch send receive", "time", "accesses of the channels", "AAAAFFF", "offload", _REAL),
    _row("Task self_suspension", "time", "0", "AAASFF.", _ANALYSES, _PLAYED),
    _row("Task suspensions", "count", "1", "AAASFF.", _ANALYSES, _PLAYED),
    _row(
        "Task on_miss",
        "word",
        "hold-last-output",
        "AAAAAA.",
        "offload",
        "Of offloaded tasks alone; it is refused for others, whose output is written when the job ends. A"
        " bound is of answers that come in time.",
    ),
    _row(
        "Task restart_worker",
        "yes or no",
        "no",
        "A...AR.",
        "offload",
        "Where no worker dies there is none to start again.",
    ),
    # Resources that tasks share.
    _row("Resource protocol", "word", "required", "AAARRRR", _ANALYSES),
    _row("Task sections", "", "none", "AAARRRR", _ANALYSES),
    _row("Section length times", "time, count", "required, 1", "AAARRRR", _ANALYSES),
    _row("Task requests", "", "none", "AAARRRR", "offload"),
    _row("Asked accelerator operation times", "name, count", "required, 1", "AAARRRR", "offload"),
    _row("Accelerator on arbitration memory operations clients", "", "required", "AAARRRR", "offload"),
    _row("Operation wcet bcet request answer", "time, bytes", "bcet: the wcet", "AAARRRR", "offload"),
    _row("Client priority slot budget period", "time", "by the arbitration", "AAARRRR", "offload"),
    _row("Task cache_sets", "", "none", "AAARFF.", _ANALYSES, _REAL),
    _row("CacheSets evicting useful", "numbers of sets", "none", "AAARFF.", _ANALYSES, _REAL),
    _row("Task accesses", "", "none", "AARRRR.", _ANALYSES),
    _row("Accesses most", "count", "required", "AARRRR.", _ANALYSES),
    _row("Task remote_state", "", "none", "AARRSR.", _ANALYSES),
    _row(
        "RemoteState memory cache prefetch faults",
        "bytes, pages, count",
        "cache: as the memory; prefetch 1; faults: no bound",
        "AARRSR.",
        _ANALYSES,
    ),
    # Reads and writes of tasks.
    _row("Task reads writes", "channels, devices", "what channels say", "A.ASSSR", "channels"),
    _row("Task input golden", "", "zero; nothing is compared", "A..AAAR", _DESIGN),
    _row(
        "FileInput file time time_unit columns rate interpolation",
        "rows",
        "a row a period of the task",
        "A..SSAR",
        _DESIGN,
        "A task whose period differs between modes of a run is refused: rows are made once.",
    ),
    _row("Column column scale offset", "", "as it is", "A..AAAR", _DESIGN),
    _row("FunctionInput function arguments", "reference", "required", "A..AAAR", _DESIGN),
    _row("Golden function arguments tolerance", "reference, ulp", "to the bit", "A..AAAR", _DESIGN),
    _row("Channel kind implementation", "word", "by the kind", "AAASSSS", "channels"),
    _row("Channel from to", "task or device", "what tasks read and write", "AAASSSS", "channels"),
    _row(
        "Channel memory",
        "name",
        "no cost is known",
        "AAASSF.",
        "channels",
        "On this machine every memory is shared memory, on a board the window that all of its cores have; the"
        " figures are those of the memory that is described.",
    ),
    _row("Channel size", "bytes", "the compiled type", "AAAAAAA", "channels"),
    _row("Channel capacity", "blocks", "queue: required where steps execute", "AAASSSS", "channels"),
    _row("Channel communication", "word", "by its chains", "AAASSSR", "channels"),
    _row("Channel flow", "number or text", "required of a subscription", "A.....A", "three-phase"),
    _row(
        "Channel min_interarrival",
        "time",
        "the period of its fastest reader",
        "AFFSAAA",
        _EXECUTIVE,
        "Bounds and simulations count with the distance of the task that its blocks release, which check"
        " holds against this one.",
    ),
    _row(
        "SystemDevice kind rate description",
        "text",
        "not said",
        "A......",
        _DESIGN,
        "They describe: a device's blocks come by the channel's min_interarrival.",
    ),
    _row("SystemDevice recording function arguments plant sink", "", "described only", "A..SSSR", _DESIGN),
    _row("SystemDevice driver", "reference", "described only", "A..RASR", _DESIGN),
    _row("SystemDevice period", "time", "required of a plant", "A..AAAR", _DESIGN),
    _row(
        "Chain path",
        "tasks",
        "required",
        "AAAAAAR",
        "channels",
        "A channel leads from each task to the next; what passes along a chain passes there.",
    ),
    _row("Chain reaction age", "time", "anything is allowed", "AAAAAAR", _ANALYSES),
    _row("Chain communication", "word", "implicit", "AAASSSR", "channels"),
    # Cores.
    _row("Scheduling policy", "word", "fixed-priority", "AAASSSA", _EXECUTIVE),
    _row("Scheduling context_switch", "time", "the platform's; else no bound", "AAAAFF.", _ANALYSES, _REAL),
    _row("Scheduling cache_reload cache", "time", "none", "AAARFF.", _ANALYSES, _REAL),
    _row("Cache replacement ways block", "word, count, time", "required", "AAARFF.", _ANALYSES, _REAL),
    _row("Scheduling bandwidth", "", "none", "AARRRR.", _ANALYSES),
    _row("Bandwidth budget period shortest longest", "count, time", "required", "AARRRR.", _ANALYSES),
    _row("Scheduling slot", "time", "required of three-phase cores", "AAASSSA", "three-phase"),
    _row("Scheduling arbitration", "word", "tdma", "AAAAAAA", "three-phase"),
    _row(
        "Scheduling wait",
        "word",
        "spin",
        "AAAASS.",
        "offload",
        "On this machine a core of one thread, and one by deadlines, may not sleep where others wait; with a"
        " time scale every wait sleeps, because cores share CPUs.",
    ),
    _row("Scheduling service", "word", "priority", "AAASSS.", "offload"),
    _row("Scheduling supply", "", "the whole core", "AAARRR.", _ANALYSES),
    _row("Supply kind budget period", "word, time", "required", "AAARRR.", _ANALYSES),
    # Modes.
    _row("Mode tasks overrides", "", "all tasks; nothing differs", "AAASSA.", _MODES),
    _row(
        "Override period min_interarrival deadline offset jitter priority preemption_threshold wcet bcet on"
        " execution master",
        "as in the task",
        "as in the task",
        "AAASSA.",
        _MODES,
        "Each is of the mode that is entered. What one program cannot have differently in two modes is"
        " refused.",
    ),
    _row(
        "ModeChanges start agreement requests",
        "mode, time",
        "required",
        "AAASSR.",
        _MODES,
        "A request after the run's end leaves the run undecided.",
    ),
    _row("ModeChanges within", "time", "any time", "AAAAAR.", _MODES),
    _row("ModeChanges state_through", "memory", "no state moves", "AAAAAR.", _MODES),
    _row(
        "ModeChanges fail_over detection",
        "core, time",
        "no core may die",
        "AAFFSR.",
        _MODES,
        "In simulations and in virtual time no core dies.",
    ),
    _row("FailOver core to", "core, mode", "required", "AAFFSR.", _MODES, "As fail_over."),
    _row("ModeChanges asked_by", "", "nobody asks", "AARSSR.", _MODES),
    _row("ModeAsker task member modes", "name", "required", "AARSSR.", _MODES),
    _row("ModeRequest at to", "time, mode", "required", "AAASSR.", _MODES),
    # Runs.
    _row(
        "Run iterations",
        "jobs of the first task",
        "100000",
        "A..AAAA",
        _EXECUTIVE,
        "A simulation has --duration.",
    ),
    _row(
        "Run time_base",
        "word",
        "hybrid",
        "AAFFAF.",
        _EXECUTIVE,
        "A timer's lateness is in the bound of a core that sleeps; where nothing sleeps nothing is late.",
    ),
    _row("Run interference configurations", "names", "all that are possible", "A..SA..", _EXECUTIVE),
    _row(
        "Run seed", "number", "1", "A.AAAA.", "simulator", "The same seed has the same releases everywhere."
    ),
    _row("Run cpus", "numbers", "the quietest", "A...S..", _EXECUTIVE),
    # Parts of others.
    _row(
        "TimeByExecution local offloaded three-phase",
        "time",
        "not executed so",
        "AAAAAAA",
        _DESIGN,
        "The one of the task's way of executing counts, or of its fallback.",
    ),
    _row("EnergyByExecution local offloaded three-phase", "energy", "not known", "A......", "placement"),
    _row("Figure_Duration_ value", "time", "required", "AAAAAAA", _DESIGN, "As the key that it stands at."),
    _row("Figure_Size_ value", "bytes", "required", "AAAAAAA", _DESIGN, "As the key that it stands at."),
    _row(
        "Figure_Energy_ value", "energy", "required", "A......", "placement", "As the key that it stands at."
    ),
    _row("Figure_DataRate_ value", "rate", "required", "A......", _DESIGN, "As a device's rate."),
)

_HEAD = """\
# What each key means, and to whom

Made from `consort.plan.meanings` by `python -m consort.plan.meanings`; a test holds it against the schema
and against what is refused.

*acts*: what is given there decides what it does. *acts; some refused*: so, and some values or combinations
are refused. *figure*: a bound or a simulation assumes it, and nothing executes by it. *refused*: with its
place and the reason, by `consort check --for` as well. –: it has nothing to do with it. The targets that
execute steps refuse times that are no whole nanoseconds. *kernel* is the scratchpad kernel of a board;
three-phase cores of this machine run the same one.

| key | unit | without it | check | analyze | simulate | virtual | linux | board | kernel | page |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
_PARTS = {"System": "", "Task": "tasks.*", "Channel": "channels.*", "Chain": "chains.*", "Run": "run"}
_PARTS |= {"Scheduling": "scheduling.*", "Mode": "modes.*", "ModeChanges": "mode_changes"}
_PARTS |= {"SystemDevice": "devices.*", "Resource": "resources.*", "Accelerator": "accelerators.*"}


def page() -> str:
    """The text of docs/reference/meanings.md."""
    lines = []
    for row in ROWS:
        part = row.keys[0].partition(".")[0]
        names = ", ".join(f"`{key.partition('.')[2]}`" for key in row.keys)
        where = _PARTS.get(part, part)
        cells = " | ".join(CELLS[cell] for cell in row.cells)
        target = _PAGES.get(row.page, f"../explanation/{row.page}.md")
        lines.append(
            f"| {f'{where}: ' if where else ''}{names} | {row.unit or '–'} | {row.absent} | {cells} |"
            f" [{row.page}]({target}) |"
        )
    said = [
        f"- {', '.join(f'`{key.partition(chr(46))[2]}`' for key in row.keys)}: {row.why}"
        for row in ROWS
        if row.why
    ]
    return _HEAD + "\n".join(lines) + "\n\n## Why rows differ\n\n" + "\n".join(said) + "\n"


if __name__ == "__main__":
    print(page(), end="")
