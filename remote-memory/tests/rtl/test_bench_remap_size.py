# SPDX-License-Identifier: Apache-2.0
"""The report of `consort bench remap-size`; the synthesis itself takes minutes and is not run here."""

from __future__ import annotations

from consort_bench.registry import Options
from consort_remote.synthesis import Cost
from consort_remote_bench import remap_size


def test_each_data_width_of_a_port_and_of_a_memory_has_a_row_with_its_size(monkeypatch):
    asked = []

    def estimate(top, parameters, flow):
        asked.append((top, parameters))
        return Cost(len(asked), 0, 0, 0, (), {}, 1000)

    monkeypatch.setattr(remap_size, "estimate", estimate)
    result = remap_size.run(Options(name="remap-size"))
    rows = [row for row in result.rows if row["block"] == "axi_resize"]
    widths = [(row["slavewidth"], row["masterwidth"]) for row in rows]
    others = (64, 256, 512)
    assert sorted(widths) == sorted([(w, 128) for w in others] + [(128, w) for w in others])
    # Each with the size of its own synthesis.
    for row in rows:
        top, parameters = asked[row["luts"] - 1]
        assert top == "consort_axi_resize"
        assert (parameters["SlaveWidth"], parameters["MasterWidth"]) == (
            row["slavewidth"],
            row["masterwidth"],
        )
        assert row["provenance"] == "counted"
    # Levels are rows' figures: the goal of a clock is that of the placed blocks.
    assert [goal["name"] for goal in result.goals] == [
        "cblock_luts",
        "cblock_ramb36",
        "cblock_cell_delay_default_flow",
    ]
    assert all("levels" in row for row in result.rows)
