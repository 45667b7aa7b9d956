# SPDX-License-Identifier: Apache-2.0
"""Rules about the devices of a system: what each is, and which tasks read and write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from consort.errors import BadInput
from consort.model.document import Location
from consort.model.quantities import Duration
from consort.model.sources import DEVICE_FORMS, READ_FORMS, WRITTEN_FORMS
from consort.model.view import View

Problems = Iterator[BadInput]
# What belongs to one form of device.
_OWN = {"arguments": "function", "period": "plant"}


def _forms(view: View) -> Problems:
    for name in view.mapping("devices"):
        here: Location = ("devices", name)
        given = view.mapping(*here)
        forms = [form for form in DEVICE_FORMS if form in given]
        for form in forms[1:]:
            yield view.problem(
                (*here, form),
                f"a device is one of {', '.join(DEVICE_FORMS)}, and this one is a {forms[0]} already; keep"
                " one of them",
                at_key=True,
            )
        for key, form in _OWN.items():
            if given.get(key) and form not in given:
                yield view.problem(
                    (*here, key),
                    f"{key!r} belongs to a device that is a {form}; remove it, or add {form!r}",
                    at_key=True,
                )
        if "plant" in given and "period" not in given:
            yield view.problem(
                here,
                "a plant advances once in each period; add it, for example 'period: 50us'",
                at_key=True,
            )
        period = view.parsed(Duration, *here, "period")
        if period is not None and period.value == 0:
            yield view.problem((*here, "period"), "the period is 0; more than 0 is needed")


def form_of(view: View, device: str) -> str | None:
    """The form of a device; None for one that is only described."""
    given = view.mapping("devices", device)
    return next((form for form in DEVICE_FORMS if form in given), None)


def _users(view: View) -> tuple[dict[str, dict[str, Location]], dict[str, dict[str, Location]]]:
    """The tasks that read and that write each device, at once or through a channel."""
    readers: dict[str, dict[str, Location]] = {}
    writers: dict[str, dict[str, Location]] = {}
    channels = view.mapping("channels")
    for task in view.tasks():
        for key, users, end in (("reads", readers, "from"), ("writes", writers, "to")):
            for place, name in view.bindings(task, key):
                devices = [name if name in view.mapping("devices") else name.rpartition(".")[0]]
                if name in channels:
                    other = view.get("channels", name, end)
                    devices = other if isinstance(other, list) else [other]
                for device in devices:
                    if isinstance(device, str) and device in view.mapping("devices"):
                        users.setdefault(device, {}).setdefault(task, place)
    for name in channels:
        writer, to = view.text("channels", name, "from"), view.sequence("channels", name, "to")
        for index, reader in enumerate(to):
            if writer in view.mapping("devices") and reader in view.tasks():
                readers.setdefault(str(writer), {}).setdefault(reader, ("channels", name, "to", index))
            if isinstance(reader, str) and reader in view.mapping("devices") and writer in view.tasks():
                writers.setdefault(reader, {}).setdefault(str(writer), ("channels", name, "from"))
    return readers, writers


def _directions(view: View) -> Problems:
    readers, writers = _users(view)
    for name in view.mapping("devices"):
        form = form_of(view, name)
        if form is None:
            continue
        if form not in READ_FORMS:
            for place in readers.get(name, {}).values():
                yield view.problem(place, f"{name!r} is a {form}, which nothing reads; name another")
        if form not in WRITTEN_FORMS:
            for place in writers.get(name, {}).values():
                yield view.problem(place, f"{name!r} is a {form}, which nothing writes; name another")
        if form == "plant":
            yield from _loop(view, name, readers.get(name, {}), writers.get(name, {}))


def _loop(view: View, name: str, readers: dict[str, Location], writers: dict[str, Location]) -> Problems:
    """A plant is in the loop of one task, which makes a closed loop deterministic."""
    first = next(iter(readers), None)
    if first is None:
        yield view.problem(
            ("devices", name), "nothing reads the plant; name it under 'reads' of a task", at_key=True
        )
        return
    for task, place in [*list(readers.items())[1:], *writers.items()]:
        if task != first:
            yield view.problem(
                place,
                f"the plant {name!r} is in the loop of {first!r} already, and a plant has one task that reads"
                " and writes it; give the data on through a channel",
            )
    if "min_interarrival" in view.mapping("tasks", first):
        yield view.problem(
            readers[first],
            f"a plant advances with the periods of its task, and {first!r} is sporadic; write 'period'",
        )
    step = view.parsed(Duration, "devices", name, "period")
    period = view.parsed(Duration, "tasks", first, "period")
    if step is not None and period is not None and step.value and period.value % step.value:
        yield view.problem(
            ("devices", name, "period"),
            f"the period {period} of {first!r} is no whole multiple of the plant's {step}; a job advances the"
            " plant by whole steps",
        )


def _parts(view: View) -> Problems:
    """Only of a plant's blocks single members are read and written: its types say which there are."""
    for task in view.tasks():
        for key in ("reads", "writes"):
            for place, name in view.bindings(task, key):
                device, dot, part = name.rpartition(".")
                if not dot or device not in view.mapping("devices"):
                    continue
                form = form_of(view, device)
                if form != "plant":
                    yield view.problem(
                        place,
                        f"{part!r} would be a member of a plant, and {device!r} is"
                        f" {'only described' if form is None else f'a {form}'}; write {device!r}",
                    )


DEVICE_RULES: tuple[Callable[[View], Problems], ...] = (_forms, _directions, _parts)
