# SPDX-License-Identifier: Apache-2.0
"""What ``consort run`` needs of a description beyond what an analysis needs."""

from __future__ import annotations

from collections.abc import Iterator

from consort.model.description import System, Task
from consort.model.document import Document, Location, read_document
from consort.model.problems import BadDescription


def need_runnable(system: System) -> None:
    """`BadDescription` with all that keeps a right description from being run."""
    problems = list(what_keeps_it_from_running(system))
    if problems:
        document = read_document(system.file) if system.file.is_file() else Document.of_data({}, system.file)
        raise BadDescription(
            document.problem(place, text, at_key=len(place) == 2) for place, text in problems
        )


def what_keeps_it_from_running(system: System) -> Iterator[tuple[Location, str]]:
    """Where and why a right description cannot be run."""
    platform = system.platform_description
    # Such a system brings its own machine: threads play its cores, whatever they are.
    three_phase = all(task.execution == "three-phase" for task in system.tasks.values())
    for name, task in system.tasks.items():
        here = ("tasks", name)
        for key, example in (("step", "step.hpp::servo::step"), ("input", "{function: inputs.py::inputs}")):
            if getattr(task, key) is None and not (three_phase and key == "input"):
                yield here, f"to run the task its {key!r} is needed; add it, for example '{key}: {example}'"
        if task.sporadic:
            yield (
                (*here, "min_interarrival"),
                "only periodic tasks are run; write 'period', or `consort simulate` it",
            )
        if three_phase:
            yield from _three_phase(name, task)
            continue
        if task.execution == "three-phase":
            yield (
                (*here, "execution"),
                "three-phase tasks are run in systems that have no others; write local or offloaded, or"
                " `consort simulate` it",
            )
        for key in ("on", "master"):
            core = getattr(task, key)
            if core is not None and platform.core(core).description.cpu is None:
                yield (
                    (*here, key),
                    f"{core!r} is no core of this machine; use the platform linux-host, or `consort simulate`"
                    " it",
                )


def _three_phase(name: str, task: Task) -> Iterator[tuple[Location, str]]:
    if task.golden is not None:
        text = "outputs of three-phase tasks are held against the same steps in a row; remove it"
        yield ("tasks", name, "golden"), text
    if task.step is not None and "::" not in task.step.function:
        text = "a three-phase step is a static function of a class, such as step.hpp::filter::Task::step"
        yield ("tasks", name, "step"), text
    for key in ("period", "deadline", "offset"):
        value = getattr(task, key)
        if value is not None and value.picoseconds % 1000:
            yield (
                ("tasks", name, key),
                "is not a whole number of nanoseconds, as this machine's timers take; round it",
            )
