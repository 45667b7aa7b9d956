# SPDX-License-Identifier: Apache-2.0
"""Rules about the devices of a system: the kind of each, and the tasks that read and write it."""

from __future__ import annotations

from consort.model.channel_rules import bindings, misspelt_in
from consort.model.description import System
from consort.model.document import Location
from consort.model.exclusions import excluded
from consort.model.sources import DEVICE_FORMS, READ_FORMS, WRITTEN_FORMS
from consort.model.view import Problems, View, typed

Users = dict[str, dict[str, Location]]


@typed
def _forms(view: View, system: System) -> Problems:
    for name, device in system.devices.items():
        here: Location = ("devices", name)
        forms = [form for form in DEVICE_FORMS if getattr(device, form) is not None]
        for form in forms[1:]:
            text = f"a device is one of {', '.join(DEVICE_FORMS)}, and this one is a {forms[0]} already; keep"
            yield from view.say((*here, form), f"{text} one of them", at_key=True)
        # Keys that belong to one form of device.
        for key, form in (("arguments", "function"), ("period", "plant")):
            if getattr(device, key) and form not in forms and not view.wrong_within(*here, form):
                text = f"{key!r} belongs to a device that is a {form}; remove it, or add {form!r}"
                yield from view.say((*here, key), text, at_key=True)
        if device.plant is not None and device.period is None and not view.wrong_within(*here, "period"):
            text = "a plant advances once in each period; add it, for example 'period: 50us'"
            yield from view.say(here, text, at_key=True)
        if device.period is not None and device.period.value == 0:
            yield from view.say((*here, "period"), "the period is 0; more than 0 is needed")


def _users(system: System) -> tuple[Users, Users]:
    """The tasks that read and that write each device, at once or through a channel."""
    readers: Users = {}
    writers: Users = {}
    for task in system.tasks:
        for key, users in (("reads", readers), ("writes", writers)):
            for place, name in bindings(system, task, key):
                channel = system.channels.get(name)
                ends: tuple[str, ...]
                if channel is None:
                    ends = (name if name in system.devices else name.rpartition(".")[0],)
                else:
                    ends = channel.to if key == "writes" else (channel.from_ or "",)
                for device in ends:
                    if device in system.devices:
                        users.setdefault(device, {}).setdefault(task, place)
    for name, channel in system.channels.items():
        writer = channel.from_ or ""
        for index, reader in enumerate(channel.to):
            if writer in system.devices and reader in system.tasks:
                readers.setdefault(writer, {}).setdefault(reader, ("channels", name, "to", index))
            if reader in system.devices and writer in system.tasks:
                writers.setdefault(reader, {}).setdefault(writer, ("channels", name, "from"))
    return readers, writers


@typed
def _directions(view: View, system: System) -> Problems:
    readers, writers = _users(system)
    for name, device in system.devices.items():
        form = device.form
        if form is None:
            continue
        for users, forms, does in ((readers, READ_FORMS, "reads"), (writers, WRITTEN_FORMS, "writes")):
            for place in users.get(name, {}).values() if form not in forms else ():
                yield from view.say(place, f"{name!r} is a {form}, which nothing {does}; name another")
        if form == "plant":
            yield from _loop(view, system, name, readers.get(name, {}), writers.get(name, {}))


def _loop(
    view: View, system: System, name: str, readers: dict[str, Location], writers: dict[str, Location]
) -> Problems:
    """A plant is in the loop of one task, which makes a closed loop deterministic."""
    first = next(iter(readers), None)
    if first is None:
        if view.tasks_missing(system) or name in misspelt_in(view, system):
            return
        text = "nothing reads the plant; name it under 'reads' of a task"
        yield from view.say(("devices", name), text, at_key=True)
        return
    for task, place in [*list(readers.items())[1:], *writers.items()]:
        if task != first:
            text = (
                f"the plant {name!r} is in the loop of {first!r} already, and a plant has one task that reads"
            )
            yield from view.say(place, f"{text} and writes it; give the data on through a channel")
    task_of = system.tasks[first]
    if task_of.min_interarrival is not None:
        yield from view.say(readers[first], excluded("a plant", "min_interarrival", task=first))
    step, period = system.devices[name].period, task_of.period
    if step is not None and period is not None and step.value and period.value % step.value:
        text = (
            f"the period {period} of {first!r} is no whole multiple of the plant's {step}; a job advances the"
        )
        yield from view.say(("devices", name, "period"), f"{text} plant by whole steps")


@typed
def _parts(view: View, system: System) -> Problems:
    """Only of a plant's blocks single members are read and written: its types say which there are."""
    for task in system.tasks:
        for key in ("reads", "writes"):
            for place, name in bindings(system, task, key):
                device, dot, part = name.rpartition(".")
                if not dot or device not in system.devices:
                    continue
                form = system.devices[device].form
                if form != "plant":
                    what = "only described" if form is None else f"a {form}"
                    text = (
                        f"{part!r} would be a member of a plant, and {device!r} is {what}; write {device!r}"
                    )
                    yield from view.say(place, text)


DEVICE_RULES = (_forms, _directions, _parts)
