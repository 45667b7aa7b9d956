# SPDX-License-Identifier: Apache-2.0
"""The table of meanings: a row for each key of the schema, and what it calls refused is what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput
from consort.model import BadDescription, load_system
from consort.plan import plan, problems_of
from consort.plan.meanings import CELLS, ROWS, TARGETS, page
from consort.simulate.build import prepare
from consort.simulate.modes import prepare_modes
from keys_of_descriptions import DESCRIPTIONS, SCHEMA, SOURCES, WALK, all_keys, keys
from loops import for_each

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "meanings.md"
# The kernel's refusals are those of a board, which needs an emulator.
TRIED = ("analyze", "simulate", "virtual", "linux", "board")


def refused_places(name: str, target: str) -> list[str]:
    """The places at which a description of the walk is refused for a target."""
    system = load_system(WALK / f"{name}.yaml")
    try:
        if target == "analyze":
            plan(system, "analysis")
        elif target == "simulate":
            prepare(plan(system, "analysis")) if system.mode_changes is None else prepare_modes(system)
    except BadDescription as error:
        return [problem.field or "" for problem in error.problems]
    except BadInput as error:
        return [error.field or ""]
    if target not in ("virtual", "linux", "board"):
        return []
    return [problem.field or "" for problem in problems_of(system, target, stand_ins=True)]


@cache
def refused(target: str) -> dict[str, str]:
    """The keys, as the schema names them, at which some description is refused."""
    found = {}
    for name in DESCRIPTIONS:
        # The longer a place, the nearer it is.
        places = dict(
            sorted(((spelled(place), key) for place, key, _ in keys(name)), key=lambda one: len(one[0]))
        )
        for field in refused_places(name, target):
            key = next(key for place, key in reversed(places.items()) if covers(place, field))
            found.setdefault(key, f"{name}: {field}")
    return found


def covers(place: str, field: str) -> bool:
    """True if a key is the refused one, or the one that contains it."""
    return field == place or field.startswith((f"{place}.", f"{place}["))


def spelled(place: tuple[Any, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def test_every_key_has_one_row() -> None:
    described = [key for row in ROWS for key in row.keys]
    assert len(described) == len({*described})
    wanted = {key for key in all_keys("System", SCHEMA, set()) if key.partition(".")[2] not in SOURCES}
    assert sorted(wanted ^ {*described}) == []


# What an empty list, or a number of bytes, means.
WRITTEN_OTHERWISE = {
    "RemoteState.cache": "1MiB",
    "Channel.to": "what tasks read and write",
    "Golden.tolerance": "to the bit",
    "Mode.overrides": "all tasks; nothing differs",
    "Run.cpus": "the quietest",
    "SystemDevice.description": "not said",
    "System.targets": "the platform alone",
    "Target.cores": "each keeps its own",
    "Target.memories": "each keeps its own",
    "Task.min_distances": "multiples of min_interarrival",
    "Task.reads": "what channels say",
    "Task.writes": "what channels say",
}


def absent_by_schema(part: str, key: str, schema: dict[str, Any]) -> str | None:
    """What the schema says of a key that is absent; None: nothing."""
    definition = SCHEMA if part == "System" else SCHEMA["$defs"][part]
    if key in definition.get("required", ()):
        return "required"
    if "default" not in schema:
        return None
    default = schema["default"]
    if default in ([], {}, ""):
        return "nothing of it" if part == "System" and default == {} else "none"
    if isinstance(default, dict):
        return str(default["value"])
    return "no" if default is False else str(default)


def test_a_row_says_of_a_key_that_is_absent_what_the_schema_says() -> None:
    wrong = []
    for row in ROWS:
        for name in row.keys:
            part, _, key = name.partition(".")
            properties = (SCHEMA if part == "System" else SCHEMA["$defs"][part])["properties"]
            wanted = WRITTEN_OTHERWISE.get(name, absent_by_schema(part, key, properties[key]))
            if wanted is not None and row.absent != wanted:
                wrong.append((name, row.absent, wanted))
            if wanted is None and row.absent == "required":
                wrong.append((name, row.absent, "not required"))
    assert wrong == []


def test_a_row_of_unlike_meanings_says_why() -> None:
    assert [row.keys for row in ROWS if row.unlike and not row.why] == []


@for_each("target", TRIED)
def test_what_is_refused_has_a_row_that_says_so(target: str) -> None:
    cell = {key: row.cells[TARGETS.index(target)] for row in ROWS for key in row.keys}
    wrong = {key: place for key, place in refused(target).items() if cell[key] not in "RS"}
    assert wrong == {}


# Where that is refused which a part, or a key, is needed for.
OWNERS = {
    "Resource": "System.resources",
    "Section": "System.resources",
    "Task.sections": "System.resources",
    "Accelerator": "System.accelerators",
    "Operation": "System.accelerators",
    "Client": "System.accelerators",
    "Asked": "System.accelerators",
    "Task.requests": "System.accelerators",
    "Accesses": "Scheduling.bandwidth",
    "Task.accesses": "Scheduling.bandwidth",
    "Bandwidth": "Scheduling.bandwidth",
    "Cache": "Scheduling.cache",
    "CacheSets": "Scheduling.cache",
    "Task.cache_sets": "Scheduling.cache",
    "RemoteState": "Task.remote_state",
    "Supply": "Scheduling.supply",
    "ModeAsker": "ModeChanges.asked_by",
    "Burst": "Task.burst",
    "FailOver": "ModeChanges.fail_over",
    "ModeRequest": "ModeChanges.requests",
    "ModeChanges": "System.mode_changes",
}


def needed_for(key: str) -> Iterator[str]:
    """The key, what it is a part of, and what that is needed for."""
    named: str | None = key
    while named is not None:
        yield named
        named = OWNERS.get(named) or OWNERS.get(named.partition(".")[0])


@for_each("target", TRIED)
def test_what_a_row_calls_refused_is(target: str) -> None:
    """The key itself, or what it is needed for."""
    seen = {*refused(target)}
    for row in ROWS:
        if row.cells[TARGETS.index(target)] == "R":
            for key in row.keys:
                assert seen & {*needed_for(key)}, f"{target}: {key} is refused by nothing"


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m consort.plan.meanings > " + str(
        PAGE.name
    )
    links = re.findall(r"\]\(([^)]+\.md)\)", page())
    assert all((PAGE.parent / link).is_file() for link in links)
    assert all(word in page() for word in CELLS.values())


def test_a_row_names_theorems_or_a_page() -> None:
    docs = PAGE.parents[1]
    table = (docs / "explanation" / "analyses.md").read_text(encoding="utf-8").partition("## Words")[0]
    first = (row.split("|")[1] for row in table.splitlines() if row.startswith("|"))
    spans = re.findall(r"\d+(?:–\d+)?", " ".join(first))
    theorems = {number for span in spans for number in _numbers(span)}
    pages = {page.stem for page in docs.rglob("*.md")}
    for row in ROWS:
        for part in row.explained.split(", "):
            known = theorems if part[0].isdigit() else pages
            assert {*_numbers(part)} <= known if part[0].isdigit() else part in known, (row.keys, part)


def _numbers(span: str) -> range:
    first, _, last = span.partition("–")
    return range(int(first), int(last or first) + 1)
