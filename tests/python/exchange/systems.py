# SPDX-License-Identifier: Apache-2.0
"""Right systems of many shapes, for properties of exporters."""

from __future__ import annotations

from typing import Any

from consort.model import System, platform_from_data, system_from_data
from hypothesis import strategies as st

PLATFORM = {
    "consort": 1,
    "name": "board",
    "description": "two kinds of core",
    "processors": {"big": {"isa": "aarch64", "clock": "1500MHz"}, "little": {"isa": "armv7-r"}},
    "cores": {"big": {"processor": "big", "count": 2}, "rt": {"processor": "little", "count": 1}},
    "memories": {"ram": {"kind": "sram", "size": "64KiB"}, "dram": {"kind": "ddr", "address": 4096}},
}
CORES = {"big-0": "big", "big-1": "big", "rt-0": "little"}


def system_of(data: dict[str, Any], platform: dict[str, Any] | None = None) -> System:
    return system_from_data(data, file="system.yaml", platform=platform_from_data(platform or PLATFORM))


def durations(least: int, most: int) -> st.SearchStrategy[int]:
    """Microseconds mostly, and now and then any picoseconds."""
    return st.one_of(
        st.integers(-(-least // 10**6), most // 10**6).map(lambda n: n * 10**6), st.integers(least, most)
    )


@st.composite
def tasks(draw: st.DrawFn, names: list[str], priorities: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, name in enumerate(names):
        interval = draw(durations(10**9, 10**11))
        task: dict[str, Any] = {}
        if draw(st.booleans()):
            task["period"] = f"{interval}ps"
            if draw(st.booleans()):
                task["offset"] = f"{draw(durations(0, interval))}ps"
        else:
            task["min_interarrival"] = f"{interval}ps"
        deadline = draw(st.one_of(st.none(), durations(interval // 2, 2 * interval)))
        if deadline is not None:
            task["deadline"] = f"{deadline}ps"
        if draw(st.booleans()):
            task["jitter"] = f"{draw(durations(0, interval))}ps"
        if "period" not in task and draw(st.booleans()):
            # A burst of two, and then a pause.
            task["min_distances"] = [f"{interval}ps", f"{draw(durations(2 * interval + 1, 9 * interval))}ps"]
        worst = draw(durations(10**6, interval // 2))
        best = draw(durations(0, worst))
        if draw(st.booleans()):
            task["wcet"] = f"{worst}ps"
            if draw(st.booleans()):
                task["bcet"] = f"{best}ps"
        else:
            task["wcet"] = {"big": f"{worst}ps", "little": f"{worst}ps"}
            task["bcet"] = {"big": f"{best}ps"}
        if draw(st.booleans()):
            task["footprint"] = {"code": "4KiB"}
            task["energy"] = "12uJ"
        if priorities:
            task["priority"] = draw(st.integers(-5, 5)) * 100 + place
        task["on"] = draw(st.sampled_from(list(CORES)))
        found[name] = task
    return found


@st.composite
def systems(draw: st.DrawFn) -> System:
    names = draw(
        st.lists(
            st.from_regex(r"\A[A-Za-z][A-Za-z0-9_-]{0,8}\Z"), min_size=1, max_size=5, unique_by=str.lower
        )
    )
    data: dict[str, Any] = {"consort": 1, "platform": "board.yaml"}
    if draw(st.booleans()):
        data["description"] = draw(
            st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8)
        )
    policy = draw(st.sampled_from(["fixed-priority", "fixed-priority-non-preemptive", "edf"]))
    if policy != "fixed-priority":
        data["scheduling"] = {"big": {"policy": policy}, "rt": {"policy": policy, "context_switch": "2us"}}
    data["tasks"] = draw(tasks(names, policy != "edf" and draw(st.booleans())))
    channels: dict[str, Any] = {}
    for index in range(draw(st.integers(0, 3)) if len(names) > 1 else 0):
        writer, *readers = draw(st.permutations(names))
        channel = {"kind": "sporadic", "from": writer, "to": readers[: draw(st.integers(1, len(readers)))]}
        if draw(st.booleans()):
            channel |= {"size": "96B", "memory": "ram"}
        if draw(st.booleans()):
            channel |= {"kind": "queue", "capacity": 4}
        channels[f"c{index}"] = channel
    if channels:
        data["channels"] = channels
        first = next(iter(channels.values()))
        chain = {"path": [first["from"], first["to"][0]], "age": "1s"}
        data["chains"] = {"whole": chain} if draw(st.booleans()) else {}
    return system_of(data)
