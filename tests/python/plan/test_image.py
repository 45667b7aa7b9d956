# SPDX-License-Identifier: Apache-2.0
"""The plan image: what it holds, and which images are refused."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort import _engine
from consort.model import load_system, system_from_data
from consort.plan import ModePlans, plan, plan_in_modes
from consort.plan.image import Encoder, fnv1a
from consort.run.plan_image import plan_image

WALK = Path(__file__).parent / "walk"
LAYOUTS = _engine.plan_layouts()
MS = 10**9


# A task that another processor computes, one that rests in a mode, and one that is another in it.
DESCRIBED: dict[str, Any] = {
    "consort": 1,
    "platform": "board.yaml",
    "tasks": {
        "away": {
            "period": "10ms",
            "wcet": {"w": {"offloaded": "1ms"}, "m": {"local": "2ms"}},
            "on": "w-0",
            "master": "m-0",
            "execution": "offloaded",
            "on_miss": "local-fallback",
        },
        "often": {
            "min_interarrival": "2ms",
            "jitter": "100us",
            "wcet": "100us",
            "on": "m-0",
            "writes": ["blocks"],
        },
        "steady": {"period": "20ms", "wcet": "1ms", "on": "m-1", "reads": ["blocks"]},
    },
    "channels": {
        "blocks": {"kind": "sporadic", "size": "16B"},
        "away.in": {"memory": "shm", "size": "4B"},
        "away.out": {"memory": "shm", "size": "4B"},
    },
    "modes": {
        "all": {"tasks": ["away", "often", "steady"]},
        "slow": {
            "tasks": ["away", "steady"],
            "overrides": {"steady": {"period": "40ms", "wcet": "3ms", "offset": "1ms"}},
        },
    },
    "mode_changes": {"start": "slow", "agreement": "1ms", "requests": [{"at": "60ms", "to": "all"}]},
}


def image_of(described: dict[str, Any]) -> tuple[ModePlans, bytes]:
    system = system_from_data(described, file=WALK / "system.yaml")
    if system.mode_changes is None:
        plans = ModePlans(plan(system, "virtual", stand_ins=True))
    else:
        plans = plan_in_modes(system, "virtual", stand_ins=True)
    return plans, plan_image(plans, LAYOUTS, (), 200 * MS)


@pytest.fixture(scope="module")
def image() -> bytes:
    return image_of({key: value for key, value in DESCRIBED.items() if not key.startswith("mode")})[1]


def member(table: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(m for m in LAYOUTS["rows"][table]["members"] if m["name"] == name)
    return found


def changed(image: bytes, name: str, value: int) -> bytes:
    """The image with another value in its head."""
    one = member("head", name)
    made = bytearray(image)
    struct.pack_into({"u4": "<I", "u8": "<Q"}[one["type"]], made, one["offset"], value)
    return bytes(made)


def column(image: bytes, table: str, name: str) -> list[int]:
    """A member of all rows of a table."""
    place = LAYOUTS["tables"].index(table)
    head = {m["name"]: m["offset"] for m in LAYOUTS["rows"]["head"]["members"]}
    at, count = (
        struct.unpack_from("<I", image, head[f"places[{place}].{part}"])[0] for part in ("offset", "count")
    )
    one, step = member(table, name), LAYOUTS["rows"][table]["bytes"]
    kind = np.dtype(f"<{one['type']}")
    return [int(np.frombuffer(image, kind, 1, at + row * step + one["offset"])[0]) for row in range(count)]


def test_equal_plans_have_equal_images(image: bytes) -> None:
    again = image_of({key: DESCRIBED[key] for key in ("consort", "platform", "tasks", "channels")})[1]
    assert again == image
    assert [task["jobs"] for task in _engine.run_plan(image)["modes"][0]] == [20, 75, 10]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("magic", 0, "this is not a plan image"),
        ("version", 1, "another version"),
        ("layout", 1, "laid out otherwise"),
        ("hash", 1, "damaged"),
        ("bytes", 8, "damaged"),
    ],
)
def test_another_programs_image_is_refused(image: bytes, name: str, value: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        _engine.run_plan(changed(image, name, value))


def test_what_is_cut_off_or_changed_is_refused(image: bytes) -> None:
    for damaged in (image[:-8], image + bytes(8), image[:-1] + bytes([image[-1] ^ 1]), b""):
        with pytest.raises(ValueError, match=r"damaged|not a plan image"):
            _engine.run_plan(damaged)


def test_a_table_outside_of_the_image_is_refused(image: bytes) -> None:
    with pytest.raises(ValueError, match="damaged"):
        _engine.run_plan(changed(image, "places[1].count", 2**31))


def test_0_is_the_most_urgent_rank() -> None:
    made = plan(load_system(WALK / "thresholds.yaml"), "virtual", stand_ins=True)
    image = plan_image(ModePlans(made), LAYOUTS, (), 20 * MS)
    ranks = dict(zip(made.tasks, column(image, "tasks", "rank"), strict=True))
    thresholds = dict(zip(made.tasks, column(image, "tasks", "threshold"), strict=True))
    for core in made.cores.values():
        assert [ranks[name] for name in core.tasks] == list(range(len(core.tasks)))
    # A task that a threshold keeps waiting is less urgent than it says, and more urgent than the task.
    assert any(thresholds[name] < ranks[name] for name in made.tasks)
    assert all(thresholds[name] <= ranks[name] for name in made.tasks)


def test_each_mode_has_tables_of_its_own() -> None:
    plans, image = image_of(DESCRIBED)
    count = len(plans.whole.tasks)
    for place, made in enumerate(plans.modes.values()):
        mine = slice(place * count, (place + 1) * count)
        for key in ("period", "deadline", "offset", "jitter", "wcet"):
            written = dict(zip(plans.whole.tasks, column(image, "tasks", key)[mine], strict=True))
            assert {name: written[name] for name in made.tasks} == {
                name: getattr(task, f"{key}_ps") for name, task in made.tasks.items()
            }
        rests = column(image, "tasks", "rests")[mine]
        assert [name for name, rest in zip(plans.whole.tasks, rests, strict=True) if not rest] == [
            name for name in plans.whole.tasks if name in made.tasks
        ]


@pytest.mark.parametrize("target", ["virtual", "linux"])
def test_a_master_that_falls_back_has_its_own_time(target: str) -> None:
    described = {key: value for key, value in DESCRIBED.items() if not key.startswith("mode")}
    made = plan(system_from_data(described, file=WALK / "system.yaml"), target, stand_ins=True)
    image = plan_image(ModePlans(made), LAYOUTS, (), 200 * MS)
    times = {key: column(image, "tasks", key)[list(made.tasks).index("away")] for key in ("wcet", "fallback")}
    assert times == {"wcet": MS, "fallback": 2 * MS}


def test_a_row_without_a_member_is_no_row() -> None:
    with pytest.raises(KeyError, match="arbitration"):
        Encoder(LAYOUTS)._rows("dmas", [{}])


def test_the_hash_is_fnv_1a() -> None:
    assert fnv1a(b"foobar") == 0x85944171F73967E8
