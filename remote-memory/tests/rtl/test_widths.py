# SPDX-License-Identifier: Apache-2.0
"""Converters of AXI4 data widths: no byte, order or error is lost, and the narrower bus is never idle."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from consort_remote import build
from effort import PATIENCE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


# One pair of widths of each kind, up and down by two and by four; all twelve under `make test-slow`.
FEW = pytest.param(4, 1500, id="few")
ALL = pytest.param(12, 30_000, id="all", marks=pytest.mark.slow)


def run(count: int, *words: object, more: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    few = count == 4
    program = build.simulation(
        "widths_top",
        HERE / "widths_user.cpp",
        {"Few": int(few)},
        more=(HERE / "widths_top.sv", *more),
        defines=("-DFEW",) if few else (),
    )
    command = [str(program), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


def pairs(count: int, *words: object) -> list[dict[str, Any]]:
    done = run(count, *words)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert len({(pair["slave"], pair["master"]) for pair in found}) == count
    return found


@pytest.mark.parametrize(("count", "accesses"), [FEW, ALL])
def test_bytes_orders_and_errors_are_those_of_the_memory(count: int, accesses: int) -> None:
    for pair in pairs(count, "random", count, accesses):
        assert pair["finished"] >= accesses
        assert pair["errors"] > accesses / 20
        # All kinds of bursts, and beats of every width that the bus has.
        assert min(pair["bursts"]) > accesses / 10
        widths = [count > 0 for count in pair["sizes"]]
        assert widths == [8 << size <= pair["slave"] for size in range(7)]


@pytest.mark.parametrize(("count", "accesses"), [FEW, ALL])
@pytest.mark.parametrize("what", ["reads", "writes"])
def test_the_narrower_bus_moves_a_beat_a_cycle(what: str, count: int, accesses: int) -> None:
    bursts = accesses // 4
    for pair in pairs(count, what, bursts):
        assert pair["beats"] / pair["cycles"] > 0.95, pair
        # Words of a wider memory are whole.
        assert pair["memory_beats"] == bursts * 1024 * 8 // pair["master"], pair


WRONG = [
    # The order of one id, lanes, ends of words, strobes of words before, answers of parts.
    ("axi_inflight", "before_none || (pop_i && earlier == found)", "1'b1"),
    ("axi_walk", "(beat & wrap)", "beat"),
    ("axi_split", "other.len = 8'(words - 13'd257)", "other.len = 8'(words - 13'd256)"),
    ("axi_split", "first.len = 8'(words - ahead - 13'd1)", "first.len = 8'(words - 13'd1)"),
    ("axi_upsize", "!read.merged || r_last ||", "!read.merged ||"),
    ("axi_upsize", "kept_q <= w_complete ? '0 : word;", "kept_q <= word;"),
    ("axi_upsize", "|| !a.cache[1] || a.lock) return 1'b0;", ") return 1'b1;"),
    ("axi_downsize", "here ? beat.data : place.fresh ? '0", "here ? '0 : place.fresh ? '0"),
    ("axi_downsize", "worse(m_b_i.resp, worst_q[b_index])", "m_b_i.resp & worst_q[b_index]"),
    ("axi_downsize", "worse(beat.of.resp, place.worst)", "beat.of.resp & place.worst"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "right", "wrong"), WRONG)
def test_a_wrong_converter_is_found(tmp_path: Path, module: str, right: str, wrong: str) -> None:
    source = build.module(ROOT, module)
    text = source.read_text(encoding="utf-8")
    assert text.count(right) == 1, right
    changed = tmp_path / source.name
    changed.write_text(text.replace(right, wrong), encoding="utf-8")
    assert run(4, "random", 1, 4000, more=(changed,)).returncode != 0
