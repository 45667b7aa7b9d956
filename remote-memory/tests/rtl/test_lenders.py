# SPDX-License-Identifier: Apache-2.0
"""Bad lenders: what one answers, or does not, harms nothing that goes over another link, and all ends."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from consort_remote import build
from consort_remote.run import harness
from effort import PATIENCE

ROOT = Path(__file__).parents[2]
TOP = Path(__file__).parent / "lender_top.sv"
OPTIONS = ("-Wno-PINCONNECTEMPTY",)
# A wrong block may leave signals without a use.
OPTIONS_OF_WRONG = ("-Wno-fatal", "-Wno-lint")


@pytest.fixture(scope="module")
def lenders() -> Path:
    return build.simulation("lender_top", harness("lenders.cpp"), None, OPTIONS, (TOP,))


def ran(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *words], capture_output=True, text=True, timeout=PATIENCE)


def found(program: Path, *words: str) -> dict[str, int]:
    result = ran(program, *words)
    assert result.returncode == 0, result.stdout + result.stderr
    counted: dict[str, int] = json.loads(result.stdout)
    return counted


def test_nobody_answers_what_another_lender_was_asked(lenders):
    assert found(lenders, "stolen", "1") == {"reads": 64, "writes": 64, "wrong": 0, "early": 0}


def test_more_beats_than_were_asked_for_go_nowhere(lenders):
    assert found(lenders, "longer", "1") == {"reads": 32, "wrong": 0}


def test_data_of_a_read_that_ended_without_them_go_nowhere(lenders):
    assert found(lenders, "late", "1") == {"reads": 24, "wrong": 0}


def test_a_lender_that_does_not_answer_loses_its_link_and_every_access_ends(lenders):
    counted = found(lenders, "silent", "1")
    assert (counted["rounds"], counted["errors"], counted["downs"]) == (8, 24, 8)
    # Once to twice the time, and what the access and its answers take beside it.
    assert counted["answer_after"] < counted["shortest"]
    assert counted["longest"] <= 2 * counted["answer_after"] + 200


def test_frames_of_any_content_over_one_link_change_nothing_over_the_other(lenders):
    counted = found(lenders, "noise", "1", "20000")
    assert counted["wrong"] == 0
    assert counted["accesses"] > 2000


@pytest.mark.parametrize("seed", ["1", "2"])
def test_accesses_over_both_links_at_once_all_end_and_those_over_the_honest_one_rightly(lenders, seed):
    counted = found(lenders, "mixed", seed, "2000")
    assert (counted["accesses"], counted["wrong"]) == (2000, 0)
    assert 0 < counted["errors_there"] < counted["over_the_bad_link"]


@pytest.mark.slow
def test_a_bad_lender_harms_nothing_over_wires_that_keep_words_while_they_pause():
    queued = build.simulation("lender_top", harness("lenders.cpp"), {"Queued": 1}, OPTIONS, (TOP,))
    assert found(queued, "stolen", "1") == {"reads": 64, "writes": 64, "wrong": 0, "early": 0}
    assert found(queued, "noise", "1", "20000")["wrong"] == 0
    counted = found(queued, "mixed", "3", "20000")
    assert (counted["accesses"], counted["wrong"]) == (20_000, 0)
    assert 0 < counted["errors_there"] < counted["over_the_bad_link"]


# ---- Wrong blocks ----

WRONG = [
    ("asked_tags", "assign mine = links[rsp_index_i] == rsp_link_i;", "assign mine = 1'b1;", "stolen"),
    ("read_places", "counts_o && place_o != past_q;", "counts_o;", "longer"),
    ("asked_tags", "tick_i && old_q && waits_i ?", "1'b0 ?", "silent"),
    ("port_read", " && !(failing && rsp_index_i == index)", "", "late"),
    ("cblock", ".rsp_resp_i(resp_of(resp_q))", ".rsp_resp_i(resp_q)", "mixed"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "right", "wrong", "what"), WRONG)
def test_a_block_that_believes_its_lenders_is_found_out(tmp_path, module, right, wrong, what):
    source = build.module(ROOT, module)
    text = source.read_text()
    assert text.count(right) == 1
    changed = tmp_path / source.name
    changed.write_text(text.replace(right, wrong))
    program = build.simulation("lender_top", harness("lenders.cpp"), None, OPTIONS_OF_WRONG, (TOP, changed))
    result = ran(program, what, "1", *(["2000"] if what == "mixed" else []))
    counted = json.loads(result.stdout) if result.returncode == 0 else {}
    assert result.returncode != 0 or counted["wrong"] + counted.get("early", 0) > 0
