# SPDX-License-Identifier: Apache-2.0
"""The packetizations of the paper: beats counted in the RTL are Table I's, and data come through."""

from __future__ import annotations

import pytest
from consort.remote import formulas
from consort.remote.run import paper_beats

FORMULAS = {
    "b2b": formulas.b2b,
    "pipelined": formulas.pipelined,
    "pipelined without the fill beat": formulas.pipelined_without_fill,
}


@pytest.fixture(scope="module")
def beats() -> dict[tuple[str, int], tuple[int, int]]:
    return {(row.packetization, row.burst): (row.write_beats, row.read_beats) for row in paper_beats()}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_burst_takes_the_beats_of_the_formula(name, beats):
    wrong = {b: beats[name, b] for b in range(1, 257) if beats[name, b] != FORMULAS[name](b)}
    assert not wrong


@pytest.mark.parametrize(
    ("formula", "burst", "percent"),
    [
        # Section V of the paper: "29% and 23%", "up to approximately 66% ... compared to 50%".
        (formulas.b2b, 1, 29),
        (formulas.b2b, 256, 50),
        (formulas.pipelined, 256, 66),
    ],
)
def test_figure_7_as_the_text_prints_it(formula, burst, percent):
    assert round(100 * formulas.utilisation(burst, *formula(burst))) == percent


def test_pipelined_gains_an_eighth_for_a_cache_line():
    gain = formulas.utilisation(4, *formulas.pipelined(4)) / formulas.utilisation(4, *formulas.b2b(4)) - 1
    assert 0.11 < gain < 0.125  # printed: 12 %


def test_without_the_fill_beat_pipelining_never_loses():
    for burst in range(1, 257):
        b2b = formulas.utilisation(burst, *formulas.b2b(burst))
        assert formulas.utilisation(burst, *formulas.pipelined_without_fill(burst)) >= b2b
