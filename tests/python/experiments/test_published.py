# SPDX-License-Identifier: Apache-2.0
"""The published values are those that the papers print."""

from __future__ import annotations

from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort_bench.published import Published, experiment_folder, read_published

TABLE1 = ("taming-edge-computing", "table1")
FIGURES = [("low-latency-icc", f"figure{n}") for n in (3, 4, 5)]
ALL = [TABLE1, ("taming-edge-computing", "figure2"), *FIGURES]


def published(paper: str, name: str) -> list[Published]:
    return read_published(experiment_folder(paper, name) / "published.csv")


def one(rows: list[Published], statistic: str, **of: str) -> Published:
    found = [r for r in rows if r.statistic == statistic and of.items() <= r.of.items()]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(("paper", "name"), ALL)
def test_every_row_is_published_and_names_its_source(paper: str, name: str) -> None:
    rows = published(paper, name)
    assert rows
    for row in rows:
        # Figure 2 prints no numbers: what stands there is computed.
        assert row.provenance == ("derived" if name == "figure2" else "published")
        assert row.source
        assert row.unit
        assert row.value is None or row.value > 0


@pytest.mark.parametrize(("paper", "name"), ALL)
def test_every_experiment_says_how_it_is_redone(paper: str, name: str) -> None:
    text = (experiment_folder(paper, name) / "README.md").read_text(encoding="utf-8")
    assert f"consort bench {name}" in text


def test_table_1_is_whole() -> None:
    rows = published(*TABLE1)
    sizes = ["0", "1", "8", "16", "32", "64", "128", "256", "512", "1024"]
    columns = [("Jailhouse", "off"), ("Jailhouse", "on"), ("Linux RT", "off")]
    expected = {(s, p, i, st) for s in sizes for p, i in columns for st in ("min", "max", "mean")}
    have = [(r.of["size"], r.of["platform"], r.of["interference"], r.statistic) for r in rows]
    assert len(have) == len(expected)
    assert set(have) == expected
    assert {r.unit for r in rows} == {"us"}


@pytest.mark.parametrize(
    ("size", "platform", "interference", "statistic", "text"),
    [
        ("0", "Jailhouse", "off", "min", "0.91"),
        ("0", "Linux RT", "off", "max", "2.48"),
        ("1", "Jailhouse", "on", "max", "1.76"),
        ("8", "Jailhouse", "on", "min", "2.84"),
        ("8", "Linux RT", "off", "max", "4.5"),
        ("64", "Jailhouse", "off", "mean", "8.76"),
        ("128", "Linux RT", "off", "max", "69.42"),
        ("512", "Jailhouse", "on", "max", "73.40"),
        ("1024", "Jailhouse", "off", "max", "125.10"),
        ("1024", "Linux RT", "off", "max", "296.54"),
        ("1024", "Linux RT", "off", "mean", "122.258"),
    ],
)
def test_table_1_is_verbatim(size: str, platform: str, interference: str, statistic: str, text: str) -> None:
    row = one(published(*TABLE1), statistic, size=size, platform=platform, interference=interference)
    assert row.text == text


def test_table_1_is_in_order_within_each_cell() -> None:
    rows = published(*TABLE1)
    for row in rows:
        if row.statistic == "mean":
            low, high = one(rows, "min", **row.of).value, one(rows, "max", **row.of).value
            assert low is not None and high is not None and row.value is not None
            assert low <= row.value <= high


def test_the_odd_digits_are_noted() -> None:
    odd = {r.text for r in published(*TABLE1) if len(r.text.partition(".")[2]) != 2}
    assert odd == {"122.258", "4.5"}
    assert all(r.note for r in published(*TABLE1) if r.text in odd)


def test_figure_2_is_derived_from_table_1() -> None:
    table = published(*TABLE1)
    rows = published("taming-edge-computing", "figure2")
    assert len(rows) == 18
    for row in rows:
        mean = one(table, "mean", **row.of).value
        assert mean is not None
        assert row.value == pytest.approx(float(row.of["size"]) / mean, abs=5e-5)
        assert row.provenance == "derived" and "size / mean" in row.note


def test_figure_3_medians() -> None:
    rows = published("low-latency-icc", "figure3")
    memories = ("DDR", "OCM", "DDR/CCI", "TCM")
    expected = {
        ("APU->RPU", "idle"): (1010, 670, 880, 480),
        ("RPU->APU", "idle"): (1000, 490, 840, 600),
        ("APU->RPU", "STREAM"): (1140, 670, 1210, 480),
        ("RPU->APU", "STREAM"): (1100, 560, 1130, 580),
    }
    assert len(rows) == 16
    for (direction, load), values in expected.items():
        for memory, value in zip(memories, values, strict=True):
            assert one(rows, "median", direction=direction, load=load, memory=memory).ns == value


def test_figure_4_medians_and_words() -> None:
    rows = published("low-latency-icc", "figure4")
    assert one(rows, "median", direction="APU->RPU", load="idle").ns == 1970
    assert one(rows, "median", direction="RPU->APU", load="idle").ns == 1070
    assert [r.value for r in rows if r.of["load"] == "STREAM"] == [None, None]


def test_figure_5_has_no_numbers() -> None:
    rows = published("low-latency-icc", "figure5")
    assert all(row.value is None and row.note for row in rows)


HEADING = "memory,statistic,value,unit,provenance,source,note\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("memory,value\nDDR,1\n", "has no column statistic"),
        (HEADING + "DDR,median,fast,ns,published,x,\n", "'fast' is not a number"),
        (HEADING + "DDR,median,1,ns,guessed,x,\n", "'guessed' is not a kind of provenance"),
        (HEADING + "DDR,median,,ns,published,x,\n", "neither a value nor a note"),
        (HEADING + "DDR,median,1\n", "another number of cells"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "published.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=words) as caught:
        read_published(file)
    assert "published.csv" in str(caught.value)
