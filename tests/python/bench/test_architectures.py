# SPDX-License-Identifier: Apache-2.0
"""`consort bench cross-isa-architectures`: its rows follow from the model."""

from __future__ import annotations

from consort_bench.architectures import moved, run
from consort_bench.cross_isa_points import LARGE, SMALL, model_of
from consort_bench.qdma import DIRECTIONS, MIB
from consort_bench.registry import Options


def test_rows_are_of_the_model_in_the_slower_direction() -> None:
    model = model_of()
    last = moved(model)[-1]
    assert last["bytes"] == 64 * MIB and last["provenance"] == "derived"
    for key, descriptor in (("at_once_us", LARGE), ("in_pieces_us", SMALL)):
        times = [model.blocking_ns(direction, 64 * MIB, descriptor) / 1000 for direction in DIRECTIONS]
        assert last[key] == max(times) > min(times)
    page = max(model.blocking_ns(direction, SMALL, SMALL) for direction in DIRECTIONS) / 1000
    assert last["by_pages_us"] == 16384 * page
    # A state that fills no page costs one all the same.
    assert moved(model)[0]["by_pages_us"] == page


def test_more_bytes_take_longer_and_each_way_costs_more_than_the_one_before() -> None:
    rows = moved(model_of())[1:]
    for key in ("at_once_us", "in_pieces_us", "by_pages_us"):
        times = [row[key] for row in rows]
        assert times == sorted(times)
    assert all(row["at_once_us"] <= row["in_pieces_us"] <= row["by_pages_us"] for row in rows)


def test_its_goal_is_the_error_of_the_fit() -> None:
    (limit,) = run(Options("cross-isa-architectures")).goals
    assert limit["met"] and limit["provenance"] == "derived"
