# SPDX-License-Identifier: Apache-2.0
"""Rules about chains: their tasks are there, and their way is whole."""

from __future__ import annotations

from collections.abc import Callable

from consort.model.channel_rules import Problems, ends_of, free_channels, misspelt_in
from consort.model.problems import nearest
from consort.model.quantities import Duration
from consort.model.view import View


def _chains(view: View) -> Problems:
    if not isinstance(view.document.get("tasks"), dict):
        return
    tasks = list(view.document.get("tasks"))
    for chain in view.mapping("chains"):
        here = ("chains", chain)
        path = view.sequence(*here, "path")
        for index, task in enumerate(path):
            place = (*here, "path", index)
            if not isinstance(task, str):
                continue
            if task not in tasks:
                yield view.problem(place, f"{task!r} is no task; {nearest(task, tasks, 'tasks')}")
            elif task in path[:index]:
                yield view.problem(
                    place, f"{task!r} stands twice; a chain passes each task once, remove one of them"
                )
        for key in ("reaction", "age"):
            limit = view.parsed(Duration, *here, key)
            if limit is not None and limit.value == 0:
                yield view.problem((*here, key), f"the {key} is 0; more than 0 is needed")
        if view.text(*here, "communication") == "let":
            for index, task in enumerate(path):
                if isinstance(task, str) and "min_interarrival" in view.mapping("tasks", task):
                    yield view.problem(
                        (*here, "path", index),
                        f"logical execution time needs periodic tasks, and {task!r} is sporadic; write"
                        " 'communication: implicit'",
                    )


def links_of_chains(view: View) -> Problems:
    """Consecutive tasks of a chain share a channel: what passes along it passes there, in every mode."""
    names = free_channels(view)
    writers, readers = ends_of(view)
    ways = {
        (writer, reader)
        for name in names
        for writer in writers.get(name, ())
        for reader in readers.get(name, ())
    }
    misspelt = misspelt_in(view)
    tasks = [task for task in view.tasks() if task not in misspelt]
    for chain in view.mapping("chains"):
        path = view.sequence("chains", chain, "path")
        for index in range(1, len(path)):
            first, second = path[index - 1], path[index]
            if first not in tasks or second not in tasks or second in path[:index] or (first, second) in ways:
                continue
            hint = "the other way there is one, turn them round" if (second, first) in ways else ""
            yield view.problem(
                ("chains", chain, "path", index),
                f"no channel leads from {first!r} to {second!r}; {hint or 'add one, or correct the path'}",
            )


CHAIN_RULES: tuple[Callable[[View], Problems], ...] = (_chains,)
