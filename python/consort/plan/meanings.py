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
    cells: str
    why: str = ""

    @property
    def unlike(self) -> bool:
        """True if one reader acts by the key and another only assumes it."""
        return bool({"A", "S"} & {*self.cells}) and "F" in self.cells


def _row(keys: str, cells: str, why: str = "") -> Row:
    part, *names = keys.split()
    assert len(cells) == len(TARGETS) and {*cells} <= CELLS.keys(), keys
    return Row(tuple(f"{part}.{name}" for name in names), cells, why)


_REAL = "Here the real cost is what it is; the judge holds what was measured against the bound."
_PLAYED = "Nothing plays it where steps execute: it is an assumption of the bound, and the run says so."

ROWS: tuple[Row, ...] = (
    # The description as a whole.
    _row("System consort", "......"),
    _row("System name description", "......", "They are printed."),
    _row("System platform", "AAASSS"),
    _row(
        "System scheduling resources accelerators devices tasks channels chains modes mode_changes run",
        "ASSSSS",
        "Their keys have rows of their own.",
    ),
    # Releases.
    _row("Task period", "AASSSA"),
    _row("Task min_interarrival", "AAASAR"),
    _row("Task min_distances burst", "AAAARR"),
    _row("Burst count within", "AAAARR"),
    _row("Task deadline", "AAASSA"),
    _row("Task offset", "AAASSA"),
    _row("Task jitter", "AAASAR"),
    _row(
        "Task arrival",
        "AASSRR",
        "Blocks of tasks release at the same instants everywhere. A device's blocks come as a generator's in"
        " simulations and as the channel's min_interarrival says on Linux: a bound holds for both.",
    ),
    # Urgency.
    _row("Task priority", "AAASAA"),
    _row("Task preemption_threshold", "AAAAA."),
    # Execution.
    _row(
        "Task wcet",
        "AAASAA",
        "Real steps take what they take, and the judge holds them against it; no time scale stretches it.",
    ),
    _row(
        "Task bcet",
        "AAAAA.",
        "Without it a simulated time does not vary, which is one of the executions that a bound is of. No job"
        " takes less than a picosecond. A kernel's stand-ins always take the wcet.",
    ),
    _row(
        "Task energy",
        "......",
        "It is of `consort place` and of the figures that `consort plan` prints.",
    ),
    _row("Task step types", "..SSSS"),
    _row("Types in state out", "..AAAA"),
    _row("Task footprint", "AAAAAA"),
    _row(
        "Footprint code data inputs outputs",
        "AAAAAA",
        "One that is unlike the compiled type is refused when it is compiled.",
    ),
    _row("Footprint stack", "....A."),
    _row("Task on execution master", "AASSSS"),
    _row("Task dispatch", "AAAFFF", _REAL),
    _row("Dispatch send receive", "AAAFFF", _REAL),
    _row("Task self_suspension", "AASFF.", _PLAYED),
    _row("Task suspensions", "AASFF.", _PLAYED),
    _row(
        "Task on_miss",
        "AAAAA.",
        "Of offloaded tasks alone; it is refused for others, whose output is written when the job ends. A"
        " bound is of answers that come in time.",
    ),
    _row(
        "Task restart_worker",
        "...AR.",
        "Where no worker dies there is none to start again.",
    ),
    # Resources that tasks share.
    _row("Resource protocol", "AARRRR"),
    _row("Task sections", "AARRRR"),
    _row("Section length times", "AARRRR"),
    _row("Task requests", "AARRRR"),
    _row("Asked accelerator operation times", "AARRRR"),
    _row("Accelerator on arbitration memory operations clients", "AARRRR"),
    _row("Operation wcet bcet request answer", "AARRRR"),
    _row("Client priority slot budget period", "AARRRR"),
    _row("Task cache_sets", "AARFF.", _REAL),
    _row("CacheSets evicting useful", "AARFF.", _REAL),
    _row("Task accesses", "ARRRR."),
    _row("Accesses most", "ARRRR."),
    _row("Task remote_state", "ARRSR."),
    _row(
        "RemoteState memory cache prefetch faults",
        "ARRSR.",
    ),
    # Reads and writes of tasks.
    _row("Task reads writes", ".ASSSR"),
    _row("Task input golden", "..AAAR"),
    _row(
        "FileInput file time time_unit columns rate interpolation",
        "..SSAR",
        "A task whose period differs between modes of a run is refused: rows are made once.",
    ),
    _row("Column column scale offset", "..AAAR"),
    _row("FunctionInput function arguments", "..AAAR"),
    _row("Golden function arguments tolerance", "..AAAR"),
    _row("Channel kind implementation", "AASSSS"),
    _row("Channel from to", "AASSSS"),
    _row(
        "Channel memory",
        "AASSF.",
        "On this machine every memory is shared memory, on a board the window that all of its cores have; the"
        " figures are those of the memory that is described.",
    ),
    _row("Channel size", "AAAAAA"),
    _row("Channel capacity", "AASSSS"),
    _row("Channel communication", "AASSSR"),
    _row("Channel flow", ".....A"),
    _row(
        "Channel min_interarrival",
        "FFSAAA",
        "Bounds and simulations count with the distance of the task that its blocks release, which check"
        " holds against this one.",
    ),
    _row(
        "SystemDevice kind rate description",
        "......",
        "They describe: a device's blocks come by the channel's min_interarrival.",
    ),
    _row("SystemDevice recording function arguments plant sink", "..SSSR"),
    _row("SystemDevice driver", "..RASR"),
    _row("SystemDevice period", "..AAAR"),
    _row(
        "Chain path",
        "AAAAAR",
        "A channel leads from each task to the next; what passes along a chain passes there.",
    ),
    _row("Chain reaction age", "AAAAAR"),
    _row("Chain communication", "AASSSR"),
    # Cores.
    _row("Scheduling policy", "AASSSA"),
    _row("Scheduling context_switch", "AAAFF.", _REAL),
    _row("Scheduling cache_reload cache", "AARFF.", _REAL),
    _row("Cache replacement ways block", "AARFF.", _REAL),
    _row("Scheduling bandwidth", "ARRRR."),
    _row("Bandwidth budget period shortest longest", "ARRRR."),
    _row("Scheduling slot", "AASSSA"),
    _row("Scheduling arbitration", "AAAAAA"),
    _row(
        "Scheduling wait",
        "AAASS.",
        "On this machine a core of one thread, and one by deadlines, may not sleep where others wait; with a"
        " time scale every wait sleeps, because cores share CPUs.",
    ),
    _row("Scheduling service", "AASSS."),
    _row("Scheduling supply", "AARRR."),
    _row("Supply kind budget period", "AARRR."),
    # Modes.
    _row("Mode tasks overrides", "AASSA."),
    _row(
        "Override period min_interarrival deadline offset jitter priority preemption_threshold wcet bcet on"
        " execution master",
        "AASSA.",
        "Each is of the mode that is entered. What one program cannot have differently in two modes is"
        " refused.",
    ),
    _row(
        "ModeChanges start agreement requests",
        "AASSR.",
        "A request after the run's end leaves the run undecided.",
    ),
    _row("ModeChanges within", "AAAAR."),
    _row("ModeChanges state_through", "AAAAR."),
    _row(
        "ModeChanges fail_over detection",
        "AFFSR.",
        "In simulations and in virtual time no core dies.",
    ),
    _row("FailOver core to", "AFFSR.", "As fail_over."),
    _row("ModeChanges asked_by", "ARSSR."),
    _row("ModeAsker task member modes", "ARSSR."),
    _row("ModeRequest at to", "AASSR."),
    # Runs.
    _row(
        "Run iterations",
        "..AAAA",
        "A simulation has --duration.",
    ),
    _row(
        "Run time_base",
        "AFFAF.",
        "A timer's lateness is in the bound of a core that sleeps, in all modes of a run if in one; where"
        " nothing sleeps nothing is late. `spin` is believed, but on this machine, where a core of several"
        " tasks sleeps all the same.",
    ),
    _row("Run interference configurations", "..SA.."),
    _row("Run seed", ".AAAA.", "The same seed has the same releases everywhere."),
    _row("Run cpus", "...S.."),
    # Parts of others.
    _row(
        "TimeByExecution local offloaded three-phase",
        "AAAAAA",
        "The one of the task's way of executing counts, or of its fallback.",
    ),
    _row("EnergyByExecution local offloaded three-phase", "......"),
    _row("Figure_Duration_ value", "AAAAAA", "As the key that it stands at."),
    _row("Figure_Size_ value", "AAAAAA", "As the key that it stands at."),
    _row("Figure_Energy_ value", "......", "As the key that it stands at."),
    _row("Figure_DataRate_ value", "......", "As a device's rate."),
)

_HEAD = """\
# What each key means on each target

Made from `consort.plan.meanings` by `python -m consort.plan.meanings`; a test holds it against the schema
and against what is refused.

`consort check` reads every key; [the reference](system-yaml.md) explains it, with its unit and its default.

| in a column | the key |
| --- | --- |
| acts | decides what the target does |
| partly | acts; some values or combinations are refused |
| figure | is assumed by a bound or a simulation, and nothing executes by it |
| refused | is refused, with its place and the reason, by `consort check --for` too |
| – | has nothing to do with it |

*kernel* is the scratchpad kernel of a board; three-phase cores of this machine run the same one.

| key | analyze | simulate | virtual | linux | board | kernel |
| --- | --- | --- | --- | --- | --- | --- |
"""
_PARTS = {"System": "", "Task": "tasks.*: ", "Channel": "channels.*: ", "Chain": "chains.*: ", "Run": "run: "}
_PARTS |= {"Scheduling": "scheduling.*: ", "Mode": "modes.*: ", "ModeChanges": "mode_changes: "}
_PARTS |= {"SystemDevice": "devices.*: ", "Resource": "resources.*: ", "Accelerator": "accelerators.*: "}


def page() -> str:
    """The text of docs/reference/meanings.md."""
    lines, unread = [], []
    for row in ROWS:
        part = row.keys[0].partition(".")[0]
        names = ", ".join(f"`{key.partition('.')[2]}`" for key in row.keys)
        where = _PARTS.get(part, f"{part}: ")
        cells = " | ".join(CELLS[cell] for cell in row.cells)
        if {*row.cells} == {"."}:
            unread.append(where + names)
        else:
            lines.append(f"| {where}{names} | {cells} |")
    reasons: dict[str, list[str]] = {}
    for row in ROWS:
        if row.why:
            reasons.setdefault(row.why, []).extend(f"`{key.partition('.')[2]}`" for key in row.keys)
    said = [f"- {', '.join(dict.fromkeys(names))}: {why}" for why, names in reasons.items()]
    for_no_target = f"\n\nRead by no target: {'; '.join(unread)}.\n"
    return _HEAD + "\n".join(lines) + for_no_target + "\n## Why rows differ\n\n" + "\n".join(said) + "\n"


if __name__ == "__main__":
    print(page(), end="")
