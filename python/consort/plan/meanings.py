# SPDX-License-Identifier: Apache-2.0
"""The meaning of each key of a description to each reader of it: the table of docs/reference/meanings.md,
which is made of it.

A test holds that every key of the schema has a row, and that what a row calls refused is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

TARGETS = ("analyze", "simulate", "virtual", "linux", "board", "kernel")
CELLS = {
    "A": "acts",
    "S": "partly",
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
    explained: str
    """Numbers of theorems of docs/explanation/analyses.md, or the name of a page of docs."""
    why: str = ""

    @property
    def unlike(self) -> bool:
        """True if one reader acts by the key and another only assumes it."""
        return bool({"A", "S"} & {*self.cells}) and "F" in self.cells


def _row(keys: str, unit: str, absent: str, cells: str, explained: str, why: str = "") -> Row:
    part, *names = keys.split()
    assert len(cells) == len(TARGETS) and {*cells} <= CELLS.keys(), keys
    return Row(tuple(f"{part}.{name}" for name in names), unit, absent, cells, explained, why)


_REAL = "Here the real cost is what it is; the judge holds what was measured against the bound."
_PRINTED = "They are printed."
_ROWS_OF_THEIR_OWN = "Their keys have rows of their own."
_NOBODY_DIES = "In simulations and in virtual time no core dies."
_EVERY_CHANGE = "A change from each mode to each other one is bounded, whoever asks for it and when."
_LAID = "`--on` lays the description on a target before anything else reads it: what is read is the target's."
_PLAYED = "Nothing plays it where steps execute: it is an assumption of the bound, and the run says so."

ROWS: tuple[Row, ...] = (
    # The description as a whole.
    _row("System consort", "version", "required", "......", "system-yaml"),
    _row("System name", "text", "the file's name", "......", "run-record", _PRINTED),
    _row("System description", "text", "none", "......", "run-record", _PRINTED),
    _row("System platform", "name or file", "required", "AAASSS", "system-yaml"),
    _row(
        "System scheduling resources accelerators devices channels chains modes mode_changes run",
        "",
        "nothing of it",
        "ASSSSS",
        "system-yaml",
        _ROWS_OF_THEIR_OWN,
    ),
    _row("System tasks", "", "required", "ASSSSS", "system-yaml", _ROWS_OF_THEIR_OWN),
    _row("System targets", "", "the platform alone", "......", "system-yaml", _LAID),
    _row("Target platform", "name or file", "the target's name", "......", "system-yaml", _LAID),
    _row("Target cores memories", "names", "each keeps its own", "......", "system-yaml", _LAID),
    # Releases.
    _row("Task period", "time", "sporadic", "AASSSA", "1–5"),
    _row("Task min_interarrival", "time", "periodic", "AAASAR", "1–5"),
    _row("Task min_distances", "times", "multiples of min_interarrival", "AAAARR", "31"),
    _row("Task burst", "", "min_distances", "AAAARR", "31"),
    _row("Burst count within", "count, time", "required", "AAAARR", "31"),
    _row("Task deadline", "time", "the period", "AAASSA", "1–5"),
    _row("Task offset", "time", "0", "AAASSA", "17, 25"),
    _row("Task jitter", "time", "0", "AAASAR", "1–5"),
    _row(
        "Task arrival",
        "channel",
        "a generator",
        "AASSRR",
        "27",
        "Blocks of tasks release at the same instants everywhere. A device's blocks come as a generator's in"
        " simulations and as the channel's min_interarrival says on Linux: a bound holds for both.",
    ),
    # Urgency.
    _row("Task priority", "larger is more urgent", "by the deadline", "AAASAA", "1, 2"),
    _row("Task preemption_threshold", "priority", "the task's own", "AAAAA.", "28"),
    # Execution.
    _row(
        "Task wcet",
        "time",
        "no bound, no stand-in",
        "AAASAA",
        "1–4",
        "Real steps take what they take, and the judge holds them against it; no time scale stretches it.",
    ),
    _row(
        "Task bcet",
        "time",
        "simulated: the wcet; a bound counts on nothing",
        "AAAAA.",
        "27, 37",
        "Without it a simulated time does not vary, which is one of the executions that a bound is of. No job"
        " takes less than a picosecond. A kernel's stand-ins always take the wcet.",
    ),
    _row(
        "Task energy",
        "energy",
        "not known",
        "......",
        "placement",
        "It is of `consort place` and of the figures that `consort plan` prints.",
    ),
    _row("Task step types", "reference", "stand-ins with --stand-ins", "..SSSS", "executive"),
    _row("Types in state out", "type", "required", "..AAAA", "system-yaml"),
    _row("Task footprint", "", "three-phase: required", "AAAAAA", "three-phase"),
    _row(
        "Footprint code data inputs outputs",
        "bytes",
        "the compiled types'",
        "AAAAAA",
        "three-phase",
        "One that is unlike the compiled type is refused when it is compiled.",
    ),
    _row("Footprint stack", "bytes", "what the compiler finds", "....A.", "boards"),
    _row("Task on", "core", "required", "AASSSS", "6–10"),
    _row("Task execution", "word", "local", "AASSSS", "6–10"),
    _row("Task master", "core", "required where it is offloaded", "AASSSS", "6–10"),
    _row("Task dispatch", "", "accesses of the channels", "AAAFFF", "6–8", _REAL),
    _row("Dispatch send receive", "time", "accesses of the channels", "AAAFFF", "6–8", _REAL),
    _row("Task self_suspension", "time", "0", "AASFF.", "6–8", _PLAYED),
    _row("Task suspensions", "count", "1", "AASFF.", "6–8", _PLAYED),
    _row(
        "Task on_miss",
        "word",
        "hold-last-output",
        "AAAAA.",
        "9, 10",
        "Of offloaded tasks alone; it is refused for others, whose output is written when the job ends. A"
        " bound is of answers that come in time.",
    ),
    _row(
        "Task restart_worker",
        "yes or no",
        "no",
        "...AR.",
        "executive",
        "Where no worker dies there is none to start again.",
    ),
    # Resources that tasks share.
    _row("Resource protocol", "word", "required", "AARRRR", "20, 30"),
    _row("Task sections", "", "none", "AARRRR", "20, 30"),
    _row("Section length", "time", "required", "AARRRR", "20, 30"),
    _row(
        "Section times",
        "count",
        "1",
        ".ARRRR",
        "20, 30",
        "A job waits for one section of each resource at most, however many there are.",
    ),
    _row("Task requests", "", "none", "AARRRR", "33–35"),
    _row("Asked accelerator operation", "name", "required", "AARRRR", "33–35"),
    _row("Asked times", "count", "1", "AARRRR", "33–35"),
    _row("Accelerator on arbitration operations clients", "", "required", "AARRRR", "33–35"),
    _row("Accelerator memory", "name", "shm where the platform has it", "AARRRR", "33–35"),
    _row("Operation wcet request answer", "time, bytes", "no bound", "AARRRR", "33–35"),
    _row("Operation bcet", "time", "the wcet", ".ARRRR", "33–35", "A bound takes the longest."),
    _row("Client priority slot budget period", "time", "by the arbitration", "AARRRR", "33–35"),
    _row("Task cache_sets", "", "none", "AARFF.", "21", _REAL),
    _row("CacheSets evicting useful", "numbers of sets", "required", "AARFF.", "21", _REAL),
    _row("Task accesses", "", "none", "ARRRR.", "22"),
    _row("Accesses most", "count", "required", "ARRRR.", "22"),
    _row("Task remote_state", "", "none", "ARRSR.", "32"),
    _row("RemoteState memory", "name", "required", "ARRSR.", "32"),
    _row("RemoteState cache", "bytes", "1MiB", ".RRSR.", "32", "A bound counts the faults that are given."),
    _row("RemoteState prefetch", "pages", "1", "ARRSR.", "32"),
    _row("RemoteState faults", "count", "no bound", "ARRSR.", "32"),
    # Reads and writes of tasks.
    _row("Task reads writes", "channels, devices", "what channels say", "AASSSR", "channels"),
    _row("Task input golden", "", "zero; nothing is compared", "..AAAR", "system-yaml"),
    _row(
        "FileInput rate",
        "rows",
        "a row a period of the task",
        "..AAAR",
        "system-yaml",
        "Without a rate each job goes on by its mode's period.",
    ),
    _row("FileInput file time time_unit columns", "", "required", "..AAAR", "system-yaml"),
    _row("FileInput interpolation", "word", "linear", "..AAAR", "system-yaml"),
    _row("Column column", "name", "required", "..AAAR", "system-yaml"),
    _row("Column scale", "number", "1.0", "..AAAR", "system-yaml"),
    _row("Column offset", "number", "0.0", "..AAAR", "system-yaml"),
    _row("FunctionInput function", "reference", "required", "..AAAR", "system-yaml"),
    _row("FunctionInput arguments", "", "none", "..AAAR", "system-yaml"),
    _row("Golden function", "reference", "required", "..AAAR", "system-yaml"),
    _row("Golden arguments", "", "none", "..AAAR", "system-yaml"),
    _row("Golden tolerance", "ulp", "to the bit", "..AAAR", "system-yaml"),
    _row("Channel kind", "word", "periodic", "AASSSS", "14–16, 37"),
    _row("Channel implementation", "word", "by the kind", "AASSSS", "14–16, 37"),
    _row("Channel from to", "task or device", "what tasks read and write", "AASSSS", "11–13"),
    _row(
        "Channel memory",
        "name",
        "shm where the platform has it; else no cost is known",
        "AASSF.",
        "14, 19",
        "On this machine every memory is shared memory, on a board the window that all of its cores have; the"
        " figures are those of the memory that is described.",
    ),
    _row("Channel size", "bytes", "the compiled type", "AAAAAA", "14, 19"),
    _row("Channel capacity", "blocks", "queue: required where steps execute", "AASSSS", "37"),
    _row("Channel communication", "word", "by its chains", "AASSSR", "13"),
    _row("Channel flow", "number or text", "required of a subscription", ".....A", "channels"),
    _row(
        "Channel min_interarrival",
        "time",
        "the period of its fastest reader",
        "FSSAAA",
        "27",
        "Bounds count with the distance of the task that its blocks release, which check holds against this"
        " one; so do simulations, which send blocks that release nobody by it.",
    ),
    _row(
        "SystemDevice kind rate description",
        "text",
        "not said",
        "......",
        "system-yaml",
        "They describe: a device's blocks come by the channel's min_interarrival.",
    ),
    _row("SystemDevice recording function plant sink", "", "described only", "..SSSR", "system-yaml"),
    _row("SystemDevice arguments", "", "none", "..SSSR", "system-yaml"),
    _row("SystemDevice driver", "reference", "described only", "..RASR", "system-yaml"),
    _row("SystemDevice period", "time", "required of a plant", "..AAAR", "system-yaml"),
    _row(
        "Chain path",
        "tasks",
        "required",
        "AAAAAR",
        "11–13",
        "A channel leads from each task to the next; what passes along a chain passes there.",
    ),
    _row("Chain reaction age", "time", "anything is allowed", "AAAAAR", "11–13"),
    _row("Chain communication", "word", "implicit", "AASSSR", "13"),
    # Cores.
    _row("Scheduling policy", "word", "fixed-priority", "AASSSA", "1–5"),
    _row("Scheduling context_switch", "time", "the platform's; else no bound", "AAAFF.", "1–4", _REAL),
    _row("Scheduling cache_reload cache", "time", "none", "AARFF.", "21", _REAL),
    _row("Cache replacement block", "word, time", "required", "AARFF.", "21", _REAL),
    _row("Cache ways", "count", "1", "AARFF.", "21", _REAL),
    _row("Scheduling bandwidth", "", "none", "ARRRR.", "22"),
    _row("Bandwidth budget period shortest longest", "count, time", "required", "ARRRR.", "22"),
    _row("Scheduling slot", "time", "required of three-phase cores", "AASSSA", "three-phase"),
    _row("Scheduling arbitration", "word", "tdma", "AAAAAA", "three-phase"),
    _row(
        "Scheduling wait",
        "word",
        "spin",
        "AAASS.",
        "6–8",
        "On this machine a core of one thread, and one by deadlines, may not sleep where others wait; with a"
        " time scale every wait sleeps, because cores share CPUs.",
    ),
    _row("Scheduling service", "word", "priority", "AASSS.", "9, 10"),
    _row("Scheduling supply", "", "the whole core", "AARRR.", "18"),
    _row("Supply kind budget period", "word, time", "required", "AARRR.", "18"),
    # Modes.
    _row(
        "Mode tasks overrides",
        "",
        "all tasks; nothing differs",
        "AASSA.",
        "23",
        "A mailbox or queue of which an end rests is emptied when the mode begins, and nobody writes there.",
    ),
    _row(
        "Override period min_interarrival deadline offset jitter priority preemption_threshold wcet bcet on"
        " execution master",
        "as in the task",
        "as in the task",
        "AASSA.",
        "23",
        "Each is of the mode that is entered. What one program cannot have differently in two modes is"
        " refused.",
    ),
    _row(
        "ModeChanges requests",
        "",
        "asked_by or fail_over asks",
        "AASSR.",
        "23",
        "A request after the run's end leaves the run undecided.",
    ),
    _row("ModeChanges start agreement", "mode, time", "required", "AASSR.", "23"),
    _row("ModeChanges within", "time", "any time", "AAAAR.", "23"),
    _row("ModeChanges state_through", "memory", "no state moves", "AAAAR.", "24"),
    _row("ModeChanges fail_over", "", "no core may die", "AFFSR.", "26", _NOBODY_DIES),
    _row("ModeChanges detection", "time", "required of fail_over", "AFFSR.", "26", _NOBODY_DIES),
    _row("FailOver core to", "core, mode", "required", "AFFSR.", "26", _NOBODY_DIES),
    _row("ModeChanges asked_by", "", "nobody asks", "ARSSR.", "mode-changes"),
    _row("ModeAsker modes", "names", "required", "ARSSR.", "mode-changes"),
    _row("ModeAsker task member", "name", "required", ".RSSR.", "mode-changes", _EVERY_CHANGE),
    _row("ModeRequest to", "mode", "required", "AASSR.", "23"),
    _row("ModeRequest at", "time", "required", ".ASSR.", "23", _EVERY_CHANGE),
    # Runs.
    _row(
        "Run iterations",
        "jobs of the first task",
        "100000",
        "..AAAA",
        "executive",
        "A simulation has --duration.",
    ),
    _row(
        "Run time_base",
        "word",
        "hybrid",
        "AFFAF.",
        "executive",
        "A timer's lateness is in the bound of a core that sleeps, in all modes of a run if in one; where"
        " nothing sleeps nothing is late. A core of several tasks sleeps whatever is written, and so does, in"
        " plan and bound, one that shares a CPU of this machine; under `hybrid` the lateness is the margin.",
    ),
    _row("Run interference", "names", "none", "..SA..", "prepare-linux"),
    _row("Run configurations", "names", "all that are possible", "..SA..", "prepare-linux"),
    _row("Run seed", "number", "1", ".AAAA.", "simulator", "The same seed has the same releases everywhere."),
    _row("Run cpus", "numbers", "the quietest", "...S..", "prepare-linux"),
    # Parts of others.
    _row(
        "TimeByExecution local offloaded three-phase",
        "time",
        "not executed so",
        "AAAAAA",
        "1–4",
        "The one of the task's way of executing counts, or of its fallback.",
    ),
    _row("EnergyByExecution local offloaded three-phase", "energy", "not known", "......", "placement"),
    _row(
        "Figure_Duration_ value", "time", "required", "AAAAAA", "system-yaml", "As the key that it stands at."
    ),
    _row("Figure_Size_ value", "bytes", "required", "AAAAAA", "system-yaml", "As the key that it stands at."),
    _row(
        "Figure_Energy_ value", "energy", "required", "......", "placement", "As the key that it stands at."
    ),
    _row("Figure_DataRate_ value", "rate", "required", "......", "system-yaml", "As a device's rate."),
)

_HEAD = """\
# What each key means on each target

Made from `consort.plan.meanings` by `python -m consort.plan.meanings`; a test holds it against the schema
and against what is refused.

`consort check` reads every key; [the reference](system-yaml.md) explains them.
Numbers are of [theorems](../explanation/analyses.md).

| in a column | the key |
| --- | --- |
| acts | decides what the target does |
| partly | acts; some values or combinations are refused |
| figure | is assumed by a bound or a simulation, and nothing executes by it |
| refused | is refused, with its place and the reason, by `consort check --for` too |
| – | has nothing to do with it |

*kernel* is the scratchpad kernel of a board; three-phase cores of this machine run the same one.

| key | unit | without it | analyze | simulate | virtual | linux | board | kernel | theorem, page |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
# Where a description has the parts of the schema.
_PARTS = {
    "System": "",
    "Target": "targets.*",
    "Task": "tasks.*",
    "Types": "tasks.*.types",
    "Burst": "tasks.*.burst",
    "Footprint": "tasks.*.footprint",
    "Dispatch": "tasks.*.dispatch",
    "Section": "tasks.*.sections.*",
    "Asked": "tasks.*.requests",
    "CacheSets": "tasks.*.cache_sets",
    "Accesses": "tasks.*.accesses",
    "RemoteState": "tasks.*.remote_state",
    "FileInput": "inputs of a file",
    "Column": "inputs of a file, columns.*",
    "FunctionInput": "inputs of a function",
    "Golden": "tasks.*.golden",
    "Resource": "resources.*",
    "Accelerator": "accelerators.*",
    "Operation": "accelerators.*.operations.*",
    "Client": "accelerators.*.clients.*",
    "Channel": "channels.*",
    "SystemDevice": "devices.*",
    "Chain": "chains.*",
    "Scheduling": "scheduling.*",
    "Cache": "scheduling.*.cache",
    "Bandwidth": "scheduling.*.bandwidth",
    "Supply": "scheduling.*.supply",
    "Mode": "modes.*",
    "Override": "modes.*.overrides.*",
    "ModeChanges": "mode_changes",
    "FailOver": "mode_changes.fail_over",
    "ModeAsker": "mode_changes.asked_by",
    "ModeRequest": "mode_changes.requests",
    "Run": "run",
    "TimeByExecution": "a time by execution",
    "EnergyByExecution": "an energy by execution",
    "Figure_Duration_": "a time with its source",
    "Figure_Size_": "a size with its source",
    "Figure_Energy_": "an energy with its source",
    "Figure_DataRate_": "a rate with its source",
}


def _named(row: Row) -> str:
    part = _PARTS[row.keys[0].partition(".")[0]]
    names = ", ".join(f"`{key.partition('.')[2]}`" for key in row.keys)
    where = part if " " in part else f"`{part}`"  # a path has stars, which are emphasis else
    return f"{where}: {names}" if part else names


def page() -> str:
    """The text of docs/reference/meanings.md."""
    lines = []
    reasons: dict[str, list[str]] = {}
    for row in ROWS:
        cells = " | ".join(CELLS[cell] for cell in row.cells)
        lines.append(f"| {_named(row)} | {row.unit or '–'} | {row.absent} | {cells} | {row.explained} |")
        if row.why:
            reasons.setdefault(row.why, []).append(_named(row))
    said = [f"- {'; '.join(names)}. {why}" for why, names in reasons.items()]
    return _HEAD + "\n".join(lines) + "\n\n## Why rows differ\n\n" + "\n".join(said) + "\n"


if __name__ == "__main__":
    print(page(), end="")
