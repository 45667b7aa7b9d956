# SPDX-License-Identifier: Apache-2.0
"""Errors of broken descriptions: the corpus in broken.yaml word for word, and no crash for others."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from consort.base.errors import BadInput
from consort.commands.lines import placed
from consort.model import BadDescription, load_platform, load_system
from corpus import BASES, Case, cases
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loops import for_each
from ruamel.yaml import YAML

HERE = Path(__file__).parent
BASE = (HERE / "base.yaml").read_text(encoding="utf-8")
CORPUS = [case for file in BASES for case in cases(file)]
DESIGN = {
    "system.yaml": (HERE / "design.yaml").read_text(encoding="utf-8"),
    "chip.yaml": (HERE / "chip.yaml").read_text(encoding="utf-8"),
}


def errors(path: str | Path) -> list[str]:
    with pytest.raises(BadDescription) as caught:
        load_system(path)
    assert caught.value.exit_status == 2
    assert str(caught.value) == "\n".join(str(problem) for problem in caught.value.problems)
    return str(caught.value).split("\n")


@pytest.mark.representative
@for_each("case", CORPUS, ids=[case.name for case in CORPUS])
def test_corpus(case: Case, tmp_path: Path) -> None:
    assert case.errors(tmp_path / "case") == case.says
    if case.changed != "system.yaml":
        # A system that is placed on it says the same, and more only where what the system names is gone.
        placed = replace(case, changed="system.yaml").errors(tmp_path / "case")
        assert set(case.says) <= set(placed)


def test_the_design_is_right(folder: Path) -> None:
    for name, text in DESIGN.items():
        (folder / name).write_text(text, encoding="utf-8")
    system = load_system("system.yaml")
    assert system.platform_description == load_platform(Path("chip.yaml"))


def test_the_corpus_is_no_smaller_than_it_was() -> None:
    least = {"broken.yaml": 100, "broken_designs.yaml": 150, "broken_devices.yaml": 25}
    for file in BASES:
        names = [case.name for case in cases(file)]
        assert len(names) == len(set(names)) >= least[file]
    assert sum(case.changed != "system.yaml" for case in CORPUS) >= 30


@for_each("case", CORPUS, ids=[case.name for case in CORPUS])
def test_every_message_says_where_and_what_would_be_right(case: Case) -> None:
    for line in case.says:
        file, row, column, message = line.split(":", 3)
        assert file.endswith((".yaml", ".py"))
        assert int(row) >= 1
        assert int(column) >= 1
        assert ";" in message


def test_missing_file(folder: Path) -> None:
    assert errors("sytem.yaml") == [
        "sytem.yaml: there is no such file; the folder holds bad-board.yaml, board.yml, system.yaml"
    ]
    assert errors("nowhere/system.yaml") == [
        "nowhere/system.yaml: there is no such file; give the path of a system description"
    ]


def test_folder_instead_of_a_file(folder: Path) -> None:
    assert errors("data") == ["data: this is a folder; give the path of a system description"]


def test_path_below_a_file(folder: Path) -> None:
    assert errors("step.hpp/system.yaml") == [
        "step.hpp/system.yaml: the file cannot be read: Not a directory;"
        " give the path of a system description"
    ]


def test_not_utf8(folder: Path) -> None:
    Path("system.yaml").write_bytes(b"consort: 1\nplatform: \xff\n")
    assert errors("system.yaml") == ["system.yaml: byte 21 is not UTF-8; save the file as UTF-8"]


def test_deep_nesting(folder: Path) -> None:
    Path("system.yaml").write_text("[" * 20_000, encoding="utf-8")
    assert errors("system.yaml") == ["system.yaml:1:65: the YAML is nested more than 64 deep; flatten it"]


def test_aliases_that_multiply(folder: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    Path("system.yaml").write_text("\n".join(lines), encoding="utf-8")
    assert errors("system.yaml") == [
        "system.yaml:6:25: the description has more than 400000 values with its aliases (*name) written out;"
        " a description of that size is refused"
    ]


def test_json_form(folder: Path) -> None:
    Path("system.yaml").write_text(BASE.replace("50us", "50", 1), encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        load_system("system.yaml")
    assert isinstance(caught.value, BadDescription)
    assert caught.value.to_json() == [
        {
            "file": "system.yaml",
            "line": 6,
            "column": 13,
            "field": "tasks.servo.period",
            "message": "50 has no unit; a duration is a number with one of ps, ns, us, ms, s,"
            " for example 50us",
        }
    ]


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every location in plain data."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, part in inside for place in places(part, (*here, key)))]


PLAIN = YAML(typ="safe").load(BASE)
PLACES = [place for place in places(PLAIN) if place]
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


def with_junk(data: Any, place: tuple[Any, ...], junk: Any) -> str:
    """The text of a description with junk at a place."""
    data = copy.deepcopy(data)
    target = data
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = junk
    # JSON is YAML, but for the spelling of numbers that are none.
    return json.dumps(data).replace("-Infinity", "-.inf").replace("Infinity", ".inf").replace("NaN", ".nan")


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(PLACES), JUNK)
def test_junk_anywhere_is_reported_and_never_crashes(folder: Path, place: tuple[Any, ...], junk: Any) -> None:
    Path("system.yaml").write_text(with_junk(PLAIN, place, junk), encoding="utf-8")
    try:
        load_system("system.yaml")
    except BadDescription as error:
        assert all(problem.message for problem in error.problems)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(BASE) - 1), st.integers(0, 12), st.text(max_size=6))
def test_damaged_text_is_reported_and_never_crashes(folder: Path, at: int, lost: int, put: str) -> None:
    Path("system.yaml").write_text(
        BASE[:at] + put.encode("utf-8", "replace").decode() + BASE[at + lost :], encoding="utf-8"
    )
    try:
        load_system("system.yaml")
    except BadDescription as error:
        assert all(problem.message for problem in error.problems)


DESIGN_PLAIN = YAML(typ="safe").load(DESIGN["system.yaml"])
CHIP_PLAIN = YAML(typ="safe").load(DESIGN["chip.yaml"])


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([place for place in places(DESIGN_PLAIN) if place]), JUNK)
def test_junk_anywhere_in_a_design(folder: Path, place: tuple[Any, ...], junk: Any) -> None:
    Path("chip.yaml").write_text(DESIGN["chip.yaml"], encoding="utf-8")
    Path("system.yaml").write_text(with_junk(DESIGN_PLAIN, place, junk), encoding="utf-8")
    try:
        load_system("system.yaml")
    except BadDescription as error:
        assert all(problem.message for problem in error.problems)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([place for place in places(CHIP_PLAIN) if place]), JUNK)
def test_junk_anywhere_in_a_platform(folder: Path, place: tuple[Any, ...], junk: Any) -> None:
    Path("chip.yaml").write_text(with_junk(CHIP_PLAIN, place, junk), encoding="utf-8")
    Path("system.yaml").write_text(DESIGN["system.yaml"], encoding="utf-8")
    try:
        load_system("system.yaml")
    except BadDescription as error:
        assert all(problem.message for problem in error.problems)


def test_a_field_alone_is_found_in_its_file(tmp_path: Path) -> None:
    """A fault that only a target or a step's type tells names a field; its line is looked up at the end."""
    file = tmp_path / "system.yaml"
    file.write_text(
        "tasks:\n  a: {wcet: 1ms}\nchannels:\n  x.y:\n    size: 4B\nrun:\n  cpus: [0, 1]\n", encoding="utf-8"
    )
    places = {
        "tasks.a.wcet": (2, 13),
        "tasks.a.deadline": (2, 3),
        "tasks.ab": (1, 1),
        "channels[x.y].size": (5, 11),
        "channels.x.y.kind": (4, 3),
        "run.cpus[1]": (7, 13),
        "run.cpus[7]": (7, 3),
        "run.iterations": (6, 1),
        "runs": (None, None),
        "--board": (None, None),
        "": (None, None),
    }
    for field, place in places.items():
        (found,) = placed(BadInput("no", file=file, field=field)).problems
        assert (found.line, found.column, found.field or "", found.message) == (*place, field, "no"), field
    several = placed(
        BadDescription([BadInput(str(n), file=file, field=field) for n, field in enumerate(places)])
    )
    assert {(p.field or "", (p.line, p.column)) for p in several.problems} == set(places.items())


def test_a_field_of_what_cannot_be_read_keeps_its_words(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    gone = BadInput("no", file=file, field="tasks.a")
    assert placed(gone).problems == [gone]
    file.write_text("tasks: {a: [", encoding="utf-8")
    assert placed(gone).problems == [gone]
    known = BadInput("no", file=file, line=3, column=1, field="tasks.a")
    assert placed(known).problems == [known]
    code = BadInput("no", file=tmp_path / "system.py", field="tasks.a")
    assert placed(code).problems == [code]
