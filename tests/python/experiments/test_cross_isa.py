# SPDX-License-Identifier: Apache-2.0
"""The QDMA's model: fitted to two printed figures, held against the others; and how measurements are read."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace

import pytest
from consort.base.toolchain.builds import need_source_tree
from consort.model import load_platform
from consort_bench import cross_isa
from consort_bench.cross_isa_points import (
    largest_error,
    model_of,
    plateau,
    points,
    published,
    sensitivity,
)
from consort_bench.programs import cpp_program
from consort_bench.qdma import DIRECTIONS, KIB, MIB, PACKETS, PROVENANCE, TRANSFERS, NoFit, Qdma, fitted
from effort import PATIENCE


def test_published_values_stand_in_the_text_and_plots_give_none() -> None:
    for name in ("figure2", "figure3"):
        rows = published(name)
        assert {row.provenance for row in rows} == {"published"}
        assert all("text" in row.note or "words" in row.note for row in rows if row.value is not None)
        plots = [row for row in rows if "plot" in row.note]
        assert plots and all(row.value is None for row in plots)


def test_fitted_points_are_met_and_the_others_predicted_within_ten_percent() -> None:
    model = model_of()
    rows = points(model, "figure2") + points(model, "figure3")
    assert [(row["point"], row["direction"]) for row in rows if row["fitted"]] == [
        ("plateau", "Versal->x86"),
        ("improvement", "Versal->x86"),
    ]
    assert largest_error(rows, of_fitted=True) < 0.01
    assert 0 < largest_error(rows, of_fitted=False) < 10
    assert sum(not row["fitted"] for row in rows) == 4


def test_the_fit_finds_the_parameters_that_made_the_figures() -> None:
    made = replace(Qdma(), engine_ns=40.0, post_and_fetch_ns=300.0)
    direction = DIRECTIONS[1]
    found = fitted(plateau(made, direction), made.improvement(direction))
    assert found.engine_ns == pytest.approx(40.0)
    assert found.post_and_fetch_ns == pytest.approx(300.0)


def test_figures_that_the_link_cannot_give_are_refused() -> None:
    with pytest.raises(NoFit, match="the link alone carries no more than"):
        fitted(3.8, 20)
    with pytest.raises(NoFit, match="no cost of a descriptor"):
        fitted(3.3, 99)
    with pytest.raises(NoFit, match="cost nothing"):
        fitted(1.0, 0.1)


def test_throughput_grows_with_size_and_packets_in_flight_up_to_the_plateau() -> None:
    model = model_of()
    for direction in DIRECTIONS:
        top = plateau(model, direction)
        for outstanding in (1, 2, 8, 64):
            curve = [model.throughput(direction, packet, outstanding) for packet in PACKETS]
            assert curve == sorted(curve) and curve[-1] <= top
            more = [model.throughput(direction, packet, 2 * outstanding) for packet in PACKETS]
            assert all(a <= b for a, b in zip(curve, more, strict=True))
        # One in flight is a blocking transfer.
        assert model.throughput(direction, 4096, 1) == 4096 / model.blocking_ns(direction, 4096, 4 * KIB)


def test_a_transfer_of_one_descriptor_gains_nothing_and_a_large_one_the_descriptors() -> None:
    model = model_of()
    for direction in DIRECTIONS:
        for size in TRANSFERS:
            small, large = (model.blocking_ns(direction, size, d) for d in (4 * KIB, 2 * MIB))
            if size == 4 * KIB:
                assert small == large
                continue
            fewer = size // (4 * KIB) - max(1, size // (2 * MIB))
            each = model.engine_ns + model.post_and_fetch_ns
            fetched = 52 / model.wire if direction == "x86->Versal" else 0.0
            assert small - large == pytest.approx(fewer * (each + fetched))


def test_each_parameter_has_its_provenance() -> None:
    assert set(PROVENANCE) == set(Qdma.__dataclass_fields__)
    assert {kind for _, kind, _ in PROVENANCE.values()} == {"published", "assumed", "derived"}


def test_the_fit_is_computed_again_for_what_is_assumed() -> None:
    rows = sensitivity()
    assert len(rows) == 9
    ours = next(r for r in rows if (r["payload_b"], r["setup_ns"]) == (Qdma().payload, Qdma().setup_ns))
    assert ours["engine_ns"] == round(model_of().engine_ns, 1)
    assert len({row["descriptor_ns"] for row in rows}) == 9


POINT = {"direction": "to_peer", "packet": 64, "packets": 100}


def test_rates_are_medians_and_goals_are_ratios_of_one_run() -> None:
    raw = {
        "points": [
            POINT | {"outstanding": 0, "ns": [100]},
            POINT | {"outstanding": 1, "ns": [6400, 3200, 640]},
            POINT | {"outstanding": 64, "ns": [200]},
        ]
    }
    rows = cross_isa.throughput_rows(raw)
    one = rows[1]
    assert (one["gb_per_s"], one["least"], one["most"]) == (2.0, 1.0, 10.0)
    assert one["direction"] == "x86->Versal" and one["provenance"] == "measured"
    assert cross_isa.gain(rows) == 16.0
    assert cross_isa.over_bare_copy(rows) == 0.5


def test_blocking_times_are_compared_as_in_the_model() -> None:
    raw = {
        "points": [
            {"direction": "from_peer", "bytes": 4096, "small_ns": [1000], "large_ns": [1000]},
            {"direction": "from_peer", "bytes": 8192, "small_ns": [1000, 9000, 2000], "large_ns": [1000]},
        ]
    }
    rows = cross_isa.blocking_rows(raw)
    assert [row["improvement_percent"] for row in rows] == [0.0, 50.0]
    assert cross_isa.improvement(rows) == 25.0


@pytest.mark.slow
def test_the_program_moves_every_content_and_refuses_what_it_cannot_do() -> None:
    program = str(cpp_program("link_transfers", "bench/link"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=PATIENCE)

    for what in ("throughput", "blocking", "modify"):
        done = run(what, "1")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["content_errors"] == 0
    for arguments in ((), ("throughput",), ("throughput", "0"), ("nothing", "1")):
        assert run(*arguments).returncode == 2


def test_the_platform_s_link_takes_what_the_model_says() -> None:
    """Its figures are the fit's: whole descriptors of 4 KiB, in the direction that was fitted."""
    platform, model = (
        load_platform(need_source_tree("platforms") / "platforms" / "embedded-plus.yaml"),
        model_of(),
    )
    for size in TRANSFERS:
        time = platform.links["pcie"].picoseconds(size)
        assert time is not None
        assert time / 1000 == pytest.approx(model.blocking_ns("Versal->x86", size, 4 * KIB), rel=2e-3)
