# SPDX-License-Identifier: Apache-2.0
"""Channels on a link: what a block takes, what a chain through it takes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import free
import numpy as np
import pytest
from consort.analysis.result import Bound
from consort.analysis.system import analyze_system
from consort.base.errors import BadInput
from consort.cli import main
from consort.model import BadDescription, Platform, System, platform_from_data, system_from_data
from consort.plan import plan, problems_of
from consort.simulate.build import prepare
from consort.simulate.chains import measure_chains
from consort.simulate.engine import simulate
from consort.simulate.recording import in_turn
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each

US = 10**6
LINK = {
    "between": ["near", "far"],
    "sides": {"x86": "near", "a72": "far"},
    "setup": "10us",
    "per_descriptor": "1us",
    "descriptor": "4KiB",
    "rate": "1GB/s",
}
# 8 KiB: the setup, two descriptors, and the bytes at a nanosecond each.
BLOCK = (10 + 2) * US + 8192 * 1000
TASKS: dict[str, Any] = {
    "a": {"period": "1ms", "on": "x86-0", "wcet": "100us"},
    "b": {"period": "1ms", "on": "a72-0", "wcet": "50us"},
}


def cores(processor: str) -> dict[str, Any]:
    return {"processor": processor, "count": 2, **free.NO_SWITCH}


def platform_data(link: dict[str, Any]) -> dict[str, Any]:
    return {
        "consort": 1,
        "name": "pair",
        "processors": {"x86": {"isa": "x86_64"}, "a72": {"isa": "aarch64"}},
        "cores": {"x86": cores("x86"), "a72": cores("a72")},
        "memories": {
            "near": {"kind": "ddr", "access": {"base": "100ns", "rate": "1GB/s"}},
            "far": {"kind": "ddr", "access": {"base": "200ns", "rate": "1GB/s"}},
            "free": free.MEMORY,
        },
        "links": {"link-0": link},
        "devices": {"camera": {}},
        "exchanges": free.signals("x86", "a72"),
    }


def platform(**link: Any) -> Platform:
    return platform_from_data(platform_data({k: v for k, v in (LINK | link).items() if v is not None}))


def channel(source: str = "a", reader: str = "b", **more: Any) -> dict[str, Any]:
    return {"memory": "link-0", "size": "8KiB", "from": source, "to": [reader], **more}


CHAIN = {"c": {"path": ["a", "b"], "reaction": "3ms", "age": "3ms"}}


def describe(
    channels: dict[str, Any],
    tasks: dict[str, Any] | None = None,
    where: Platform | None = None,
    chains: dict[str, Any] | None = None,
) -> System:
    parts = {
        "tasks": TASKS if tasks is None else tasks,
        "channels": channels,
        "chains": CHAIN if chains is None else chains,
    }
    return system_from_data(
        {"consort": 1, "platform": "pair", **parts}, platform=platform() if where is None else where
    )


def found(system: System) -> dict[str, Bound]:
    return {f"{bound.task}: {bound.kind}": bound for bound in analyze_system(system)}


def test_a_block_takes_both_memories_and_the_link() -> None:
    bounds = found(describe({"m": channel()}))
    word, copy = (100_000 + 4_000, 200_000 + 4_000), (100_000 + 8_192_000, 200_000 + 8_192_000)
    expected = 3 * word[0] + copy[0] + BLOCK + word[1] + 3 * word[1] + copy[1]
    assert bounds["m: latency"].response == expected
    places = {used.place for used in bounds["m: latency"].figures}
    assert {f"links.link-0.{key}" for key in ("setup", "descriptor", "per_descriptor", "rate")} <= places
    for kind in ("reaction time", "data age"):
        # Two periods, two response times, and the way over the link.
        assert bounds[f"c: {kind}"].response == 2 * 1000 * US + 150 * US + BLOCK
        assert {used.place for used in bounds[f"c: {kind}"].figures} >= {"links.link-0.rate"}


def test_the_latency_of_a_link_is_a_part_of_each_transfer() -> None:
    plain = found(describe({"m": channel()}))
    later = found(describe({"m": channel()}, where=platform(latency="30us")))
    for name in ("m: latency", "c: reaction time", "c: data age"):
        before, after = plain[name].response, later[name].response
        assert before is not None and after is not None and after == before + 30 * US
        assert "links.link-0.latency" in {used.place for used in later[name].figures}


def test_blocks_of_other_channels_go_first() -> None:
    tasks = TASKS | {"d": {"period": "2ms", "on": "a72-1", "wcet": "1us"}}
    tasks |= {"e": {"period": "2ms", "on": "x86-1", "wcet": "1us"}}
    alone = found(describe({"m": channel()}))
    both = found(describe({"m": channel(), "n": channel("d", "e", size="1KiB")}, tasks))
    other = (10 + 1) * US + 1024 * 1000
    for name in ("m: latency", "c: reaction time"):
        mine, before = both[name].response, alone[name].response
        assert mine is not None and before is not None and mine == before + other


@pytest.mark.parametrize("key", ["setup", "per_descriptor", "rate"])
def test_a_figure_that_nobody_gave_makes_the_bounds_none_and_is_named(key: str) -> None:
    system = describe({"m": channel()}, where=platform(**{key: None}))
    bounds = found(system)
    for name in ("m: latency", "c: reaction time", "c: data age"):
        assert bounds[name].response is None and not bounds[name].schedulable
        assert bounds[name].missing == (f"links.link-0.{key}",)
        assert f"links.link-0.{key}" in bounds[name].notes[0]
    prepared = prepare(system)
    with pytest.raises(BadInput, match=f"links.link-0.{key}"):
        measure_chains(simulate(prepared, 10**10, trace=True))


def test_without_a_size_and_without_the_memory_s_figures_there_is_no_bound() -> None:
    unsized = {key: value for key, value in channel().items() if key != "size"}
    assert found(describe({"m": unsized}))["m: latency"].missing == ("channels.m.size",)
    data = platform_data(LINK)
    del data["memories"]["far"]["access"]
    bounds = found(describe({"m": channel()}, where=platform_from_data(data)))
    assert bounds["m: latency"].missing == ("memories.far.access",)
    assert bounds["c: reaction time"].response is not None, "the reader's accesses are in its execution time"


def test_a_link_that_does_not_keep_up_has_no_bound() -> None:
    bounds = found(describe({"m": channel(size="1MB")}))
    for name in ("m: latency", "c: reaction time"):
        assert bounds[name].response is None and "link-0 may take" in bounds[name].notes[0]
    # The next block comes 900 us after the last one: 875 us are short enough, with setup and descriptors.
    assert found(describe({"m": channel(size="660kB")}))["m: latency"].response is not None


def test_a_writer_without_a_bound_gives_none() -> None:
    late = TASKS | {"a": TASKS["a"] | {"wcet": "1100us"}}
    bound = found(describe({"m": channel()}, late))["m: latency"]
    assert bound.response is None and "no response time that is guaranteed" in bound.notes[0]


def test_a_transfer_without_descriptors_given_has_one() -> None:
    system = describe({"m": channel()}, where=platform(descriptor=None))
    reaction = found(system)["c: reaction time"].response
    assert reaction == 2 * 1000 * US + 150 * US + BLOCK - 1 * US


def seen(system: System, **options: Any) -> Any:
    simulation = simulate(prepare(system), 50 * 10**9, trace=True, **options)
    return measure_chains(simulation)["c"]


def test_the_simulator_knows_the_link() -> None:
    # The writer's data just misses the reader that begins when it ends: by a link it is a period later.
    tasks = TASKS | {"b": TASKS["b"] | {"offset": "100us"}}
    over = seen(describe({"m": channel()}, tasks))
    free_of_cost = seen(describe({"m": channel(memory="far")}, tasks))
    assert over.reaction == free_of_cost.reaction + 1000 * US
    # A job of the writer may be quick, and find the block of a slow one in a mailbox.
    queue = channel(kind="queue", capacity=2)
    for system in (describe({"m": queue}, tasks), describe({"m": channel()})):
        bound = found(system)["c: reaction time"].response
        assert bound is not None and seen(system).reaction <= bound


@given(
    costs=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    gaps=st.lists(st.lists(st.integers(0, 120), min_size=1, max_size=12), min_size=4, max_size=4),
)
def test_no_block_waits_longer_than_the_bound(costs: list[int], gaps: list[list[int]]) -> None:
    """Theorem 19, against a link that serves its queues in turn."""
    bound = sum(costs)
    written = []
    for extra in gaps[: len(costs)]:
        # Blocks of a queue are at least the bound apart.
        written.append(np.cumsum([extra[0], *(bound + more for more in extra[1:])], dtype=np.int64))
    arrived = in_turn(written, costs)
    for cost, times, there in zip(costs, written, arrived, strict=True):
        assert (there - times >= cost).all()
        assert (there - times <= bound).all()
        assert (np.diff(there) > 0).all(), "in the order of writing"
    # One at a time.
    ends = np.sort(np.concatenate(arrived))
    begins = np.sort(np.concatenate([t - c for c, t in zip(costs, arrived, strict=True)]))
    assert (begins[1:] >= ends[:-1]).all()


def test_the_bound_of_the_wait_is_reached() -> None:
    written = [np.array([0]), np.array([1]), np.array([1])]
    assert [int(there[0]) for there in in_turn(written, [10, 20, 30])] == [10, 30, 60]


SPORADIC = {"kind": "sporadic"}
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ("a snapshot", channel(**SPORADIC), {}, {}, "a snapshot lies in memory that both sides reach"),
    ("one side", channel(), {"b": {"on": "x86-1"}}, {}, "x86-0 and x86-1 are both at the end 'near'"),
    ("no side", channel(), {}, {"sides": {"x86": "near"}}, "does not say at which end a72 is (a72-0)"),
    (
        "no memories",
        channel(),
        {},
        {"between": ["x86", "a72"], "sides": None},
        "joins 'x86' and 'a72'; a channel lies on a link between two memories",
    ),
    ("a device", channel(source="camera"), {}, {}, "a device is at one end"),
    (
        "logical execution time",
        channel(kind="queue", capacity=4, communication="let"),
        {},
        {},
        "under logical execution time",
    ),
]


@for_each(
    ("described", "tasks", "link", "said"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
@for_each("target", ["analysis", "linux", "virtual", "board"])
def test_what_a_link_cannot_carry_is_refused_everywhere(
    target: str, described: dict[str, Any], tasks: dict[str, Any], link: dict[str, Any], said: str
) -> None:
    changed = {name: task | tasks.get(name, {}) for name, task in TASKS.items()}
    system = describe({"m": described}, changed, platform(**link), {})
    problems = [str(problem) for problem in problems_of(system, target, stand_ins=True)]
    assert any("channels.m.memory" in problem and said in problem for problem in problems), problems


def test_requests_to_a_worker_do_not_travel_over_a_link() -> None:
    offloaded = {"master": "x86-0", "on": "a72-0", "execution": "offloaded"}
    tasks = {"t": {"period": "1ms", "wcet": "100us", **offloaded}}
    ends = {"t.in": {"memory": "link-0", "size": "4B"}, "t.out": {"memory": "free", "size": "4B"}}
    with pytest.raises(BadDescription, match="the requests and answers of 't'"):
        plan(describe(ends, tasks, chains={}), "analysis")


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"sides": {"x87": "near"}}, "the processor 'x87' is not known; did you mean 'x86'?"),
        ({"sides": {"x86": "free"}}, "'free' is not an end of the link 'link-0'; write near or far"),
        ({"descriptor": "0B"}, "the descriptor is 0"),
    ],
)
def test_a_platform_that_is_wrong_about_its_link_is_refused(link: dict[str, Any], said: str) -> None:
    with pytest.raises(BadDescription) as caught:
        platform(**link)
    assert said in str(caught.value)


def test_a_link_is_not_named_like_a_memory() -> None:
    data = platform_data(LINK)
    data["links"]["far"] = data["links"].pop("link-0")
    with pytest.raises(BadDescription, match="'far' is a memory too"):
        platform_from_data(data)


def test_a_board_has_no_engine_for_a_link() -> None:
    said = [str(one) for one in problems_of(describe({"m": channel()}, chains={}), "board", stand_ins=True)]
    wanted = "board moves no blocks over a link: linux and virtual do"
    assert any("channels.m.memory" in one and wanted in one for one in said), said


def test_check_takes_a_link_for_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    described = {"consort": 1, "platform": "pair.yaml", "tasks": TASKS, "channels": {"m": channel()}}
    for name, data in (("pair", platform_data(LINK)), ("system", described)):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(data), encoding="utf-8")
    for words in (("check",), ("check", "--for", "linux", "--stand-ins"), ("analyze",)):
        with pytest.raises(SystemExit) as ended:
            main([*words, str(tmp_path / "system.yaml")])
        printed = capsys.readouterr()
        assert not ended.value.code, printed.out + printed.err
