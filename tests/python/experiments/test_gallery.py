# SPDX-License-Identifier: Apache-2.0
"""docs/gallery.md lists every figure and table of the papers; its pictures show what the tables hold."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
KEPT = ROOT / "docs" / "images" / "gallery"
# How many figures and tables each paper has.
PAPERS = {
    "Taming": (4, 1),
    "Low latency": (7, 0),
    "Scratchpad OS": (7, 5),
    "REMAP": (13, 2),
    "Cross-ISA": (3, 0),
}
ROMAN = ["I", "II", "III", "IV", "V"]


def rows() -> list[tuple[str, str, str, str]]:
    """Paper, figure or table, what there is, and the command."""
    found, paper = [], ""
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0] != "paper" and not cells[0].startswith("---"):
            paper = cells[0].partition(" (")[0] or paper
            found.append((paper, *cells[1:]))
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_and_table_has_a_row(paper: str) -> None:
    figures, tables = PAPERS[paper]
    named: list[str] = []
    for of, subject, there, command in rows():
        if of != paper:
            continue
        numbers = re.match(r"(Figures?|Table) (\w+)(?: and (\w+))?,", subject)
        assert numbers is not None, subject
        named += [f"{numbers[1][:6].rstrip('s')} {one}" for one in numbers.groups()[1:] if one]
        assert there and (command or there.startswith("no result")), subject
    assert named == sorted(set(named), key=named.index), "each once"
    wanted = [f"Figure {n}" for n in range(1, figures + 1)] + [f"Table {n}" for n in ROMAN[:tables]]
    assert sorted(named) == sorted(wanted)


def test_commands_are_those_that_there_are() -> None:
    from consort.cli import COMMANDS
    from consort_bench.registry import EXPERIMENTS

    said = [words for *_, command in rows() for words in re.findall(r"`consort ([^`]+)`", command)]
    assert len(said) > 15
    for words in said:
        name, *more = words.split()
        assert name in COMMANDS, words
        if name == "bench":
            assert more[0] in EXPERIMENTS, words
        for file in (word for word in more if word.endswith(".yaml")):
            assert (ROOT / file).is_file(), words


def test_pictures_are_those_of_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import gallery

    made = {file.name: file for file in gallery.draw(tmp_path)}
    assert set(made) == {file.name for file in KEPT.iterdir()}
    assert set(made) == set(re.findall(r"\(images/gallery/([^)]+)\)", PAGE))
    for name, file in made.items():
        # Not byte by byte: another Matplotlib draws the same with other numbers.
        kept = re.findall(r">([^<>\n]+)</text>", (KEPT / name).read_text(encoding="utf-8"))
        assert len(kept) > 10 and re.findall(r">([^<>\n]+)</text>", file.read_text()) == kept, name
