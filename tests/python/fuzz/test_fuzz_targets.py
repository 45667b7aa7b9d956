# SPDX-License-Identifier: Apache-2.0
"""The fuzz targets on the same mutants of good inputs each time; `make fuzz` runs them longer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from mutate import mutants
from targets import TARGETS, tried

SHORT = {"run-json": 60, "run-folder": 60}


@pytest.mark.parametrize("name", TARGETS)
def test_mutants_are_read_or_refused(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    seeds = target.seeds(tmp_path)
    assert seeds
    # A target that took nothing would find nothing.
    assert any(tried(target, seed, tmp_path) for seed in seeds)
    refused = 0
    for index, data in enumerate(mutants(seeds, 1, SHORT.get(name, 400))):
        try:
            refused += not tried(target, data, tmp_path)
        except Exception as error:
            kept = tmp_path / f"finding-{index}"
            kept.write_bytes(data)
            raise AssertionError(f"mutant {index}, kept in {kept}: {error!r}") from error
    assert refused > 0
