# SPDX-License-Identifier: Apache-2.0
"""Channels on a link, run: every block arrives once, whole and within its bound, whatever its engine does.

No time of this machine is asserted. In virtual time the times are those of the simulator, exactly.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.base.errors import BadInput
from consort.judge import Verdict, judge
from consort.model import load_system
from consort.plan import problems_of
from consort.record import Ran as PlanThatRan
from consort.report.live import live_data, live_lines
from consort.run.config import LinkFault, parse_link_fault
from consort.run.flow import bounds_of
from consort.simulate.recording import in_turn
from made_plan import made_plan
from ruamel.yaml import YAML
from run_support import Ran, consort, ran

pytestmark = pytest.mark.realtime

EXAMPLE = Path(__file__).parents[3] / "examples" / "link"
MS = 1_000_000
PS = 10**12
# Both tasks' jobs, in the time that a run takes here.
JOBS = 60
# The capacity of the example's queue.
CAPACITY = 4


def described(folder: Path, **changes: Any) -> Path:
    """The example, shorter; `changes` go over its parts."""
    shutil.copytree(EXAMPLE, folder)
    file = folder / "system.yaml"
    data = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    data["run"] = {"iterations": JOBS, "time_base": "sleep"}
    for part, given in changes.items():
        data[part] = {**data.get(part, {}), **given} if isinstance(given, dict) else given
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


# A second pair of tasks the other way round, whose blocks are on the link at the same time.
BACK = {
    "tasks": {
        "answer": {
            "step": "steps.hpp::line::scan",
            "period": "20ms",
            "on": "peer-1",
            "wcet": {"peer": "1ms"},
            "writes": {"scanned": "answers"},
        },
        "check": {
            "step": "steps.hpp::line::inspect",
            "period": "20ms",
            "offset": "9ms",
            "on": "x86-1",
            "wcet": {"x86": "1ms"},
            "reads": {"seen": "answers"},
        },
    },
    "channels": {"answers": {"memory": "link-0", "size": "1032B"}},
}


def two_ways(folder: Path) -> Path:
    file = described(folder)
    data = json.loads(file.read_text(encoding="utf-8"))
    for part, given in BACK.items():
        data[part] |= given
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def whole(found: Ran, reader: str = "inspect") -> np.ndarray:
    """The reader's outputs: no block was torn, and none came twice or out of order."""
    outputs = found.outputs(reader)
    assert (outputs["wrong"] == 0).all()
    assert (np.diff(outputs["number"].astype(np.int64)) >= 0).all()
    return outputs


def held_to_bounds(found: Ran, *provoked: str) -> Verdict:
    made = found.prepared.plan
    return judge(found.raw, bounds_of(made), expected_events=provoked)


@pytest.fixture(scope="module")
def virtual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    yield ran(two_ways(tmp_path_factory.mktemp("links") / "link"), target="virtual")


def test_in_virtual_time_every_block_arrives_when_the_simulator_says(virtual: Ran) -> None:
    whole(virtual)
    whole(virtual, "check")
    written, costs = [], []
    for channel, ps in (("lines", (2000 + 1 + 1.032) * 10**6), ("answers", (2000 + 1 + 1.032) * 10**6)):
        written.append(virtual.operations(channel, "write")["time"].astype(np.int64))
        costs.append(int(ps))
    # The platform's figures, in ticks of a picosecond.
    for channel, expected in zip(("lines", "answers"), in_turn(written, costs), strict=True):
        arrived = virtual.operations(channel, "delivered")
        assert arrived.size >= expected.size - 1, "all but what was under way at the end"
        assert arrived["time"].tolist() == expected[: arrived.size].tolist()
        assert arrived["sequence"].tolist() == list(range(1, arrived.size + 1))


def test_in_virtual_time_each_delivery_is_held_to_its_bound(virtual: Ran) -> None:
    verdict = held_to_bounds(virtual)
    rows = {(r.subject, r.quantity): r for r in verdict.rows}
    for channel in ("lines", "answers"):
        row = rows[(channel, "delivery")]
        assert row.outcome == "holds" and row.bound is not None and 0 < row.seen <= row.bound
    # Two blocks at one instant: the second one waits for the first, as the bound says.
    assert max(rows[(c, "delivery")].seen or 0 for c in ("lines", "answers")) > 2.1 * MS
    assert verdict.ok
    assert virtual.counters["link_blocks"] >= 3 * JOBS // 2 - 2
    assert (virtual.counters["link_failures"], virtual.counters["link_deaths"]) == (0, 0)


def test_a_block_is_read_no_earlier_than_it_arrived(virtual: Ran) -> None:
    arrived = virtual.operations("lines", "delivered")
    read = virtual.operations("lines", "read")
    when = dict(zip(arrived["sequence"].tolist(), arrived["time"].tolist(), strict=True))
    seen = read[read["sequence"] > 0]
    assert seen.size > JOBS - 3
    assert all(when[row["sequence"]] <= row["time"] for row in seen)


def test_on_this_machine_every_block_arrives_whole(tmp_path: Path) -> None:
    found = ran(described(tmp_path / "link"), realtime=False)
    outputs = whole(found)
    writes, dropped = (found.operations("lines", kind).size for kind in ("write", "write-dropped"))
    assert writes + dropped == found.jobs("scan").size
    reads = found.operations("lines", "read", "inspect")
    taken = reads[reads["count"] > 0]["sequence"]
    assert taken.tolist() == list(range(1, taken.size + 1))
    assert outputs["lines"][-1] == taken.size > 0
    # All that was written was read, but for what lies on either side of the link at the end.
    assert writes - taken.size <= 2 * CAPACITY
    delivered = found.operations("lines", "delivered")["sequence"]
    assert delivered.tolist() == list(range(1, delivered.size + 1))
    assert found.operations("lines", "read-corrupt").size == 0
    assert found.counters["link_blocks"] == delivered.size
    row = next(r for r in held_to_bounds(found).rows if r.quantity == "delivery")
    assert row.count == delivered.size and row.bound is not None


@pytest.mark.slow
@pytest.mark.parametrize("at_ms", [0, 150, 333])
def test_an_engine_that_is_killed_is_followed_by_another(tmp_path: Path, at_ms: int) -> None:
    fault = LinkFault("link-0", "kill", at_ms * MS)
    found = ran(described(tmp_path / "link"), realtime=False, link_faults=[fault])
    died = found.events("link-died")
    assert died["cause"].tolist() == [0] and found.counters["link_deaths"] == 1
    whole(found)
    delivered = found.operations("lines", "delivered")
    assert (delivered["time"] > died["time"][0]).any(), "it went on"
    # Moved twice at most where the first engine had not recorded what it had moved; never lost.
    assert set(delivered["sequence"].tolist()) | {0} >= set(range(1, int(delivered["sequence"].max()))), (
        "a block is missing"
    )


@pytest.mark.slow
def test_an_engine_without_a_sign_of_life_is_ended_and_the_verdict_names_it(tmp_path: Path) -> None:
    fault = LinkFault("link-0", "stop", 100 * MS)
    file = described(tmp_path / "link", run={"iterations": 150, "time_base": "sleep"})
    found = ran(file, realtime=False, link_faults=[fault])
    died = found.events("link-died")
    assert died["cause"].tolist() == [1]
    whole(found)
    # No room is left meanwhile: the writer drops blocks and goes on, and no job waits for the engine.
    assert found.operations("lines", "write-dropped").size > 0
    assert (found.operations("lines", "delivered")["time"] > died["time"][0]).any()
    verdict = held_to_bounds(found, "link-died")
    assert not verdict.ok
    named = "the engine of link-0 ended after it gave no sign of life"
    assert any(named in reason for reason in verdict.reasons), verdict.reasons


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "outcome"), [("fail", 3), ("hang", 4)])
def test_a_transaction_with_an_error_loses_one_block_and_is_named(
    tmp_path: Path, kind: Any, outcome: int
) -> None:
    file = described(tmp_path / "link", run={"iterations": 150, "time_base": "sleep"})
    found = ran(file, realtime=False, link_faults=[LinkFault("link-0", kind, 100 * MS)])
    failed = found.events("link-failed")
    assert failed["cause"].tolist() == [outcome] and found.counters["link_failures"] == 1
    outputs = whole(found)
    written = found.operations("lines", "write")["sequence"].tolist()
    delivered = set(found.operations("lines", "delivered")["sequence"].tolist())
    missing = [number for number in written if number not in delivered and number < max(delivered)]
    assert len(missing) <= 1, "of the block, or of the word behind it"
    assert not set(missing) & set(outputs["number"].tolist())


def test_a_watcher_sees_what_links_carried_and_what_failed() -> None:
    configuration = {"key": "k", "title": "t"}
    nothing = PlanThatRan.of(made_plan({}), {"duration_ns": 10**9})
    head = {"elapsed_ns": 5, "records_lost": 0, "blocks_corrupt": 0}
    counted = {"link_blocks": 1200, "link_failures": 2, "link_deaths": 1}
    data = live_data("run", configuration, nothing, "running", head | counted, [], [])
    assert {key: data[key] for key in counted} == counted
    assert data["failing"] == ["2 transactions over links failed", "engines of links died (1)"]
    assert any("1,200 blocks arrived" in line for line in live_lines(data))


def test_what_a_link_of_this_machine_does_not_do_is_refused(tmp_path: Path) -> None:
    arrival = described(tmp_path / "arrival")
    data = json.loads(arrival.read_text(encoding="utf-8"))
    data["tasks"]["inspect"] |= {"min_interarrival": "10ms", "arrival": "lines"}
    del data["tasks"]["inspect"]["offset"], data["tasks"]["inspect"]["period"]
    arrival.write_text(json.dumps(data), encoding="utf-8")
    said = [str(one) for one in problems_of(load_system(arrival), "linux")]
    assert any("inspect is released by the blocks" in one for one in said), said


def test_faults_of_links_that_are_not_there_are_refused(tmp_path: Path) -> None:
    file = described(tmp_path / "link")
    for text, said in (
        ("link-0:kill", "write link-0:kill@1s"),
        ("link-0:burn@1s", "kill, stop, fail, hang"),
        ("link-9:kill@1s", "no channel is on 'link-9'"),
    ):
        done = consort("run", file, "--link-fault", text)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    done = consort("run", file, "--for", "virtual", "--link-fault", "link-0:kill@1s")
    assert done.returncode == 2 and "--link-fault" in done.stderr
    with pytest.raises(BadInput):
        parse_link_fault("link-0", 1)
    assert parse_link_fault("link-0:kill", 5) == LinkFault("link-0", "kill", 5)


def test_in_virtual_time_a_missing_figure_is_named(tmp_path: Path) -> None:
    file = described(tmp_path / "link")
    platform = file.parent / "two-memories.yaml"
    text = platform.read_text(encoding="utf-8")
    platform.write_text(
        "\n".join(line for line in text.splitlines() if "setup:" not in line) + "\n", encoding="utf-8"
    )
    done = consort("run", file, "--for", "virtual")
    assert done.returncode == 2 and "links.link-0.setup" in done.stderr, done.stderr
