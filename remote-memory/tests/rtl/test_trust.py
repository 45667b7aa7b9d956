# SPDX-License-Identifier: Apache-2.0
"""Things not taken for granted: order and answers of a memory, the requests of the other end, the wire."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from consort_remote import build, run
from effort import PATIENCE

HOSTILE = Path(__file__).parent / "hostile_top.sv"
ROOT = Path(__file__).parents[2]


def test_accesses_of_one_id_keep_their_order_at_a_memory_that_does_them_in_another():
    found = run.same_id_order(2000)
    assert found["tries"] == 2000
    assert found["reordered_writes"] == found["reordered_reads"] == 0


def test_writes_overtake_one_of_another_id_whose_memory_answers_late():
    # The harness fails where one of the late id, of the same port to another memory, is answered before it.
    found = run.late_writes(cycles=20_000, rounds=6)
    assert found["others"] == found["overtaken"] == 6 * 40
    assert found["longest"] < 2_000
    assert found["shortest_late"] > 19_000


@pytest.mark.parametrize(
    ("stalls", "beats"),
    [
        (0, 256),
        (3_000, 1),
        (30_000, 16),
        pytest.param(30_000, 1, marks=pytest.mark.slow),
        pytest.param(30_000, 256, marks=pytest.mark.slow),
    ],
)
def test_a_link_that_takes_no_answers_keeps_no_other_from_their_memory(stalls, beats):
    found = run.neighbour(run.Neighbour(stalls, beats))
    assert found["longest"] <= run.NEIGHBOUR_BOUND
    assert found["accesses"] > 100_000 // run.NEIGHBOUR_BOUND


@pytest.mark.slow
def test_an_mblock_that_sets_no_room_aside_lets_one_link_keep_another_waiting(tmp_path):
    source = build.module(ROOT, "answer_room")
    right = "fits_o = len_i[7:4] == '0 ? plenty_q : fits_q;"
    assert source.read_text().count(right) == 1
    changed = tmp_path / source.name
    changed.write_text(source.read_text().replace(right, "fits_o = plenty_q || fits_q || 1'b1;"))
    assert run.neighbour(run.Neighbour(30_000, 16), (changed,))["longest"] > run.NEIGHBOUR_BOUND


@pytest.mark.parametrize("shape", [1, 2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_memory_that_takes_nothing_for_long_causes_no_repetition_and_no_error(shape):
    found = run.stalled(30_000, shape)
    assert found["asked"] == 128 * shape
    assert (found["errors"], found["replays"], found["downs"]) == (0, 0, 0)


@pytest.mark.parametrize("shape", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_of_a_silent_memory_every_access_ends_in_time_and_late_answers_are_dropped(shape, seed):
    found = run.silence(seed, shape)
    assert found["outstanding"] > 200
    assert found["errors"] > 100
    assert found["late"] > 20
    # Twice the time, what came to the memory meanwhile, and two cycles for each beat of an answer.
    assert found["answer_after"] < found["longest"] <= 2 * found["answer_after"] + 8192


@pytest.mark.parametrize("shape", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_a_memory_answers_to_ids_that_asked_nothing_goes_nowhere(shape):
    # The harness fails where a byte is wrong, an access is stuck or a link stays down.
    found = run.strays(1, shape)
    assert found["strays"] > 5_000
    assert found["errors"] == 0 and found["transactions"] > 1_000


def test_after_the_fence_of_a_detached_window_nothing_reaches_the_memory():
    # The harness fails where something does.
    found = run.fence(1)
    assert found["rounds"] == 12
    assert found["waited_for"] >= 6


def test_what_a_request_cannot_say_is_refused_and_device_memory_stays_that():
    assert run.unsaid() == {"exclusive_refused": 2, "too_large_unmapped": 4, "attributes": 20}


def test_each_fault_is_in_the_log_and_raises_the_interrupt():
    found = run.fault_log()
    assert found["checked"] == 21
    assert found["lost"] == 40
    # Long before the link would have noticed by itself.
    assert found["ended_in_cycles"] < found["down_after"] // 100


@pytest.mark.representative
@pytest.mark.parametrize("seed", [1, 2])
def test_a_borrower_cannot_write_frames(seed):
    found = run.attack(40_000, 2e-5, seed)
    assert found["tries"] >= 40_000
    assert found["corrupted"] > 100
    assert (found["reached"], found["errors"], found["downs"], found["refused"]) == (0, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_a_borrower_cannot_write_frames_in_a_million_tries(seed):
    found = run.attack(1_000_000, 2e-5, seed)
    assert found["corrupted"] > 3000
    assert (found["reached"], found["errors"], found["downs"], found["refused"]) == (0, 0, 0, 0)


def test_a_wire_that_passes_control_frames_alone_ends_every_access_in_time():
    for found in run.stuck_link():
        assert found["errors"] > 10
        assert found["replays"] > 5
        # An end notices in its time, falls silent, and the other one notices in its own.
        assert found["down_after"] < found["cycles"] <= 2 * found["down_after"] + 2048


@pytest.mark.representative
def test_a_block_that_is_reset_alone_begins_a_new_session_whatever_the_other_end_waits():
    # The harness fails where an access hangs, fails or is wrong.
    found = run.resets()
    assert found["accesses"] > 500
    assert found["longest"] < 2000


@pytest.fixture(scope="module")
def hostile() -> Path:
    options = ("-Wno-PINCONNECTEMPTY",)
    return build.simulation("hostile_top", run.harness("hostile.cpp"), None, options, (HOSTILE,))


@pytest.mark.slow
def test_a_hostile_cblock_reaches_nothing_with_wide_offsets_either(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide")
    more = (HOSTILE, build.configuration(ROOT, folder, OffsetWidth=38))
    options, defines = ("-Wno-PINCONNECTEMPTY",), ("-DOFFSET_WIDTH=38",)
    stops_nobody(build.simulation("hostile_top", run.harness("hostile.cpp"), None, options, more, defines), 4)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_a_hostile_cblock_reaches_nothing_but_its_segment_and_stops_nobody(hostile, seed):
    stops_nobody(hostile, seed)


@pytest.mark.slow
def test_a_hostile_cblock_reaches_nothing_over_wires_that_keep_words_while_they_pause():
    options = ("-Wno-PINCONNECTEMPTY",)
    more = (HOSTILE,)
    stops_nobody(build.simulation("hostile_top", run.harness("hostile.cpp"), {"Queued": 1}, options, more), 5)


def stops_nobody(hostile: Path, seed: int) -> None:
    # The harness fails if the memory is asked for anything else; the checkers if it is not an AXI4 burst.
    result = subprocess.run(
        [str(hostile), "20000", str(seed)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout)
    assert found["frames"] >= 20_000
    assert found["honest"] > 500
    assert found["refused"] > 5_000
    assert found["reached"] > 1_000
