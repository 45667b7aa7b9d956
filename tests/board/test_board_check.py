# SPDX-License-Identifier: Apache-2.0
"""`consort board check`: boards are what their folders say, and what is not so is named."""

from __future__ import annotations

import json

import jsonschema
import pytest
from board_support import ROOT, board, consort
from consort.base.errors import SystemFails
from consort.board.boards import board_names
from consort.board.count import check_board
from consort.board.description import board_schema
from consort.model import Frequency
from consort.model.emulation import BOARD_FILE
from consort.model.load import schema_text
from ruamel.yaml import YAML


def silent(_text: str, _share: float | None = None) -> None:
    pass


@pytest.mark.parametrize("name", board_names())
def test_the_schema_accepts_each_board(name: str) -> None:
    file = ROOT / "ports" / name / BOARD_FILE
    text = file.read_text(encoding="utf-8")
    jsonschema.validate(YAML(typ="safe").load(text), board_schema())
    named = [line for line in text.splitlines() if "$schema=" in line]
    schema = ROOT / "schema" / "board.schema.json"
    assert [(file.parent / line.split("=")[1]).resolve() for line in named] == [schema]


@pytest.mark.representative
def test_the_schema_in_the_tree_is_the_models() -> None:
    schema = (ROOT / "schema" / "board.schema.json").read_text(encoding="utf-8")
    assert schema == schema_text(board_schema()), "run: consort schema board > schema/board.schema.json"
    jsonschema.Draft202012Validator.check_schema(board_schema())


@pytest.mark.representative
def test_a_board_that_is_as_described() -> None:
    board("mps2")
    done = consort("board", "check", "mps2", "--json")
    assert done.returncode == 0, done.stderr
    (core,) = json.loads(done.stdout)["cores"]
    assert core["problems"] == [] and core["clock_reads_ticks"] > 0


def test_a_clock_that_is_not_the_cores() -> None:
    spec = board("versal")
    core = spec.core("a72").model_copy(update={"clock": Frequency.parse("50MHz")})
    wrong = spec.model_copy(update={"named_cores": {**spec.named_cores, "a72": core}})
    found = {core.core: core.problems for core in check_board(wrong, silent)}
    assert found["r5f"] == ()
    (problem,) = found["a72"]
    assert "62500000 ticks a second, board.yaml says 50000000" in problem


def test_a_core_that_says_what_is_wrong_ends_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    # A program that fails stands for a port whose clock stands still or whose memory loses what is written.
    source = ROOT / "tests" / "board" / "fails.cpp"
    monkeypatch.setattr("consort.board.count.program_source", lambda _name: source)
    with pytest.raises(SystemFails, match="m4f failed: the clock stands still"):
        check_board(board("mps2"), silent)
