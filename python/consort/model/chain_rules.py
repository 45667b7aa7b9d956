# SPDX-License-Identifier: Apache-2.0
"""Rules about chains: their tasks are there, and their way is whole."""

from __future__ import annotations

from consort.base.problems import nearest
from consort.model.channel_rules import ends_of, free_channels, misspelt_in
from consort.model.description import System
from consort.model.document import Location
from consort.model.exclusions import excluded
from consort.model.view import Problems, View, typed


@typed
def _chains(view: View, system: System) -> Problems:
    tasks = view.names("tasks")
    for name, chain in system.chains.items():
        here: Location = ("chains", name)
        for index, task in enumerate(chain.path):
            place = (*here, "path", index)
            if task not in tasks:
                yield from view.say(place, f"{task!r} is no task; {nearest(task, tasks, 'tasks')}")
            elif task in chain.path[:index]:
                text = f"{task!r} stands twice; a chain passes each task once, remove one of them"
                yield from view.say(place, text)
            described = system.tasks.get(task)
            sporadic = described is not None and described.min_interarrival is not None
            if sporadic and chain.communication == "let":
                yield from view.say(place, excluded("communication: let", "min_interarrival", task=task))
        for key, limit in (("reaction", chain.reaction), ("age", chain.age)):
            if limit is not None and limit.value == 0:
                yield from view.say((*here, key), f"the {key} is 0; more than 0 is needed")


@typed
def links_of_chains(view: View, system: System) -> Problems:
    """Consecutive tasks of a chain share a channel: what passes along it passes there, in every mode."""
    names = free_channels(system)
    writers, readers = ends_of(system)
    ways = {
        (writer, reader)
        for name in names
        for writer in writers.get(name, ())
        for reader in readers.get(name, ())
    }
    misspelt = misspelt_in(view, system)
    tasks = [task for task in system.tasks if task not in misspelt]
    for name, chain in system.chains.items():
        for index in range(1, len(chain.path)):
            first, second = chain.path[index - 1 : index + 1]
            known = first in tasks and second in tasks and second not in chain.path[:index]
            if not known or (first, second) in ways:
                continue
            remedy = "add one, or correct the path"
            if (second, first) in ways:
                remedy = "the other way there is one, turn them round"
            text = f"no channel leads from {first!r} to {second!r}; {remedy}"
            yield from view.say(("chains", name, "path", index), text)


CHAIN_RULES = (_chains,)
