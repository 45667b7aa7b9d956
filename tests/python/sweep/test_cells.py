# SPDX-License-Identifier: Apache-2.0
"""Cells: what is computed once, seeds, keys, and that a cell alone gives what it gives in the sweep."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest
from consort import _engine
from consort.analysis.generate import set_block
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import load_sweep
from consort.sweep.work import evaluate
from scipy import stats


@pytest.fixture
def cells(small) -> Cells:
    return Cells(spec_of(load_sweep(small)))


def test_what_does_not_depend_on_a_parameter_is_computed_once(cells):
    analyses = [one.analysis for one in cells.combinations]
    # Six groups of sets; two slots for the analysis that has one.
    assert analyses.count("edf") == 6 and analyses.count("three-phase") == 12
    assert len(cells) == 24 * 3 == len({cells.key(*cell) for cell in cells})


def test_all_analyses_judge_the_same_sets_and_blocks_differ(cells):
    group = range(4)
    assert len({cells.seed(c, 0) for c in group}) == 1
    assert len({cells.seed(c, b) for c in range(len(cells.combinations)) for b in range(3)}) == 6 * 3


def test_keys_follow_from_what_is_computed_alone(small, cells):
    here = {cells.key(*cell) for cell in cells}
    text = small.read_text()
    small.write_text(
        text.replace("[0.7, 0.9, 1.0]", "[1.0, 0.9]").replace("plots:\n", "title: other\nplots:\n")
    )
    fewer = Cells(spec_of(load_sweep(small)))
    assert {fewer.key(*cell) for cell in fewer} < here
    small.write_text(text.replace("seed: 7", "seed: 8"))
    assert not here & {key for c in [Cells(spec_of(load_sweep(small)))] for key in (c.key(*x) for x in c)}


def test_figures_are_those_of_the_engine(cells):
    """Recomputed by hand for one cell of each analysis."""
    for combination, one in enumerate(cells.combinations[:4]):
        p = one.parameters
        rng = np.random.Generator(np.random.PCG64(cells.seed(combination, 1)))
        c, t = set_block(100, p["tasks"], p["utilisation"], "log-uniform", rng)
        if one.analysis == "three-phase":
            expected = _engine.spm_schedulable(c, t, 2 * p["slot"], p["slot"], "corrected")
        elif one.analysis == "edf":
            expected = _engine.edf_schedulable(c=c, t=t, d=t)
        else:
            expected = _engine.fp_schedulable(c=c, t=t, d=t)
        assert evaluate(cells, combination, 1) == [(100, int(expected.sum()))]


def test_edf_is_decided_exactly_at_a_utilisation_of_one():
    c = np.array([[1, 2, 3], [1, 2, 4], [10**9, 10**9, 10**9 + 1]], dtype=np.int64)
    t = np.array([[3, 6, 9], [3, 6, 9], [3 * 10**9] * 3], dtype=np.int64)
    exact = [sum(map(Fraction, map(int, a), map(int, b))) <= 1 for a, b in zip(c, t, strict=True)]
    assert _engine.edf_schedulable(c=c, t=t, d=t).tolist() == exact == [True, False, False]


def test_a_cell_alone_gives_what_it_gives_in_the_sweep(small, consort, tmp_path):
    assert consort("sweep", small, "--out", tmp_path / "out", "--workers", 0).returncode == 0
    rows = pq.read_table(tmp_path / "out" / "result.parquet").to_pylist()
    listed = consort("sweep", small, "--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [row["cell"] for row in rows]
    for row in rows[:: len(rows) // 4]:
        alone = json.loads(consort("sweep", small, "--cell", row["cell"]).stdout)
        assert alone["rows"] == [{"sets": row["sets"], "schedulable": row["schedulable"]}]
    unknown = consort("sweep", small, "--cell", "none")
    assert unknown.returncode == 2 and "--cell: no cell has the key 'none'" in unknown.stderr


@pytest.mark.parametrize("law", ["log-uniform", "uniform", "automotive"])
def test_blocks_of_sets_follow_their_laws(law):
    rng = np.random.Generator(np.random.PCG64(5))
    c, t = set_block(4000, 4, 0.8, law, rng)
    assert (c >= 1).all() and (np.diff(t, axis=1) >= 0).all()
    assert (c / t).sum(axis=1) == pytest.approx(0.8, abs=1e-5)
    shares = (c / t / 0.8).ravel()
    assert stats.kstest(shares[::7], stats.beta(1, 3).cdf).pvalue > 1e-4
    if law == "log-uniform":
        assert stats.kstest(np.log(t.ravel()[::7]), stats.uniform(np.log(10e6), np.log(10)).cdf).pvalue > 1e-4


def test_sets_of_a_seed_never_change():
    """Figures that were computed with them would be of other sets: a deliberate change takes a new format."""
    c, t = set_block(2, 3, 0.7, "log-uniform", np.random.Generator(np.random.PCG64(42)))
    assert c.tolist() == [[3816099, 13532659, 14959369], [6556524, 3183680, 6048088]]
    assert t.tolist() == [[12421595, 57695203, 94541470], [13431163, 28208886, 61103249]]
