# SPDX-License-Identifier: Apache-2.0
"""What ``consort run`` needs of a description beyond what an analysis needs."""

from __future__ import annotations

from collections.abc import Iterator

from consort.model.description import System
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
    for name, task in system.tasks.items():
        here = ("tasks", name)
        for key, example in (("step", "step.hpp::servo::step"), ("input", "{function: inputs.py::inputs}")):
            if getattr(task, key) is None:
                yield here, f"to run the task its {key!r} is needed; add it, for example '{key}: {example}'"
        if task.sporadic:
            yield (
                (*here, "min_interarrival"),
                "only periodic tasks are run; write 'period', or `consort simulate` it",
            )
        if task.execution == "three-phase":
            yield (
                (*here, "execution"),
                "this machine has no scratchpads; write local or offloaded, or `consort simulate` it",
            )
        for key in ("on", "master"):
            core = getattr(task, key)
            if core is not None and platform.core(core).description.cpu is None:
                yield (
                    (*here, key),
                    f"{core!r} is no core of this machine; use the platform linux-host, or `consort simulate`"
                    " it",
                )
