# SPDX-License-Identifier: Apache-2.0
"""The channels and chains of a plan as the rows of a record number them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter, ValidationError

from consort.base.errors import BadInput
from consort.model.figures import Provenance
from consort.model.quantities import DataRate, Duration, Energy, Frequency, Size
from consort.plan.types import Plan, PlannedChain, PlannedChannel


def carried(plan: Plan) -> list[PlannedChannel]:
    """The channels that a run carries: those of tasks' own data. Exchanges with workers go with the tasks."""
    return [channel for channel in plan.channels.values() if channel.exchange_of is None]


def steps_of_chains(plan: Plan) -> tuple[tuple[PlannedChannel, ...], tuple[PlannedChain, ...]]:
    """A channel for each step from task to task of a chain, and the chains with them in their paths."""
    channels: dict[str, PlannedChannel] = {}
    chains = []
    for chain in plan.chains.values():
        path = list(chain.path[:1])
        for writer, reader in pairwise(chain.path):
            name = f"{writer} to {reader}" + (" (let)" if chain.communication == "let" else "")
            channels[name] = PlannedChannel(
                name=name,
                # No more is claimed of it than that a read gets a block.
                implementation="snapshot",
                writer=writer,
                readers=(reader,),
                writer_core=plan.tasks[writer].core,
                reader_cores=(plan.tasks[reader].core,),
                capacity=None,
                memory=None,
                bytes=None,
                communication=chain.communication,
                described=False,
            )
            path += [name, reader]
        chains.append(replace(chain, path=tuple(path)))
    return tuple(channels.values()), tuple(chains)


# Raised where an older reader would take a plan for another one.
FORM = 2
# The figures of a description; the unit tells which it is.
Value = Duration | Size | DataRate | Frequency | Energy | int


@cache
def _plans() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


@cache
def _figures() -> TypeAdapter[Any]:
    return TypeAdapter(dict[str, tuple[Value, Provenance | None]])


def stored(plan: Plan) -> dict[str, Any]:
    """The plan as plain data; `restored` gives an equal one."""
    data = _plans().dump_python(plan, mode="json", by_alias=True, exclude_unset=True, exclude={"figures"})
    figures = _figures().dump_python(dict(plan.figures), mode="json")
    return {"form": FORM, **data, "figures": figures}


def restored(data: Any, *, file: object = None) -> Plan:
    """The plan that `stored` made; `BadInput` with `file` where it is none, or one of another version."""
    form = data.get("form") if isinstance(data, dict) else None
    where = None if file is None else str(file)
    if form != FORM:
        text = f"recorded by another version: the plan's form is {form!r}, this version reads {FORM}"
        raise BadInput(f"{text}; record the run again", file=where, field="form")
    parts = {key: value for key, value in data.items() if key != "form"}
    try:
        figures = _figures().validate_python(parts.get("figures"))
        return _plans().validate_python(parts | {"figures": figures})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"the plan is damaged: {first['msg']}", file=where, field=place or None) from None
