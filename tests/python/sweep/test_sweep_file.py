# SPDX-License-Identifier: Apache-2.0
"""Sweep files: what they mean, and what is said of wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from consort.model import BadDescription
from consort.model.load import schema_text
from consort.sweep.load import load_sweep
from consort.sweep.model import sweep_schema
from consort.sweep.values import expand, nanoseconds, number
from loops import for_each
from sweep_support import SMALL

ROOT = Path(__file__).parents[3]
VEHICLE = ROOT / "examples" / "vehicle" / "system.yaml"


def wrong(tmp_path: Path, text: str) -> str:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(BadDescription) as caught:
        load_sweep(file)
    return str(caught.value).replace(str(tmp_path) + "/", "")


BROKEN = [
    ("tasks: [3, 6]", "tasks: [3, six]", "6:10: task_sets.tasks: the text 'six' stands here; a whole number"),
    ("tasks: [3, 6]", "tasks: []", "task_sets.tasks: this is empty"),
    ("tasks: [3, 6]", "task: 3", "did you mean 'tasks'?"),
    ("utilisation: [0.7, 0.9, 1.0]", "utilisation: 70", "70 is out of range; 0.001 to 4 is possible"),
    ("utilisation: [0.7, 0.9, 1.0]", "utilisation: {from: 1, to: 0.5, step: 0.1}", "exchange them"),
    ("utilisation: [0.7, 0.9, 1.0]", "utilisation: {from: 0.1, to: 0.5}", "either 'step' or 'steps'"),
    ("utilisation: [0.7, 0.9, 1.0]", "utilisation: {from: 0.1, to: 0.5, stp: 1}", "did you mean 'step'?"),
    ("slot: [100us, 200us]", "slot: 100", "100 has no unit; a duration is a number"),
    ("  slot: [100us, 200us]\n", "", "task_sets.slot: three-phase analyses need the slot"),
    ("fixed-priority, edf", "fixed-priorty, edf", "did you mean 'fixed-priority'?"),
    ("fixed-priority, edf", "edf, edf", "'edf' stands twice"),
    ("x: utilisation", "x: utilization", "did you mean 'utilisation'?"),
    ("y: share", "y: shares", "did you mean 'share'?"),
    ("where: {tasks: 6}", "where: {task: 6}", "did you mean 'tasks'?"),
    ("where: {tasks: 6}", "where: {tasks: 5}", "plots.share.where.tasks: tasks is never 5 here; swept: 3, 6"),
    ("where: {tasks: 6}", "where: {slot: 150us}", "slot is never 150us here"),
    ("where: {tasks: 6}", "where: {analysis: edt}", "analysis is never edt here; did you mean 'edf'?"),
    ("task_sets:", "programs:", "unknown key 'tasks'"),
    (
        "slot: [100us, 200us]",
        "slot: 100us\n  duration: 1s",
        "task_sets.duration: no analysis of this sweep uses it",
    ),
    ("sweep: 1", "sweep: 2", "the number 2 is not a version"),
    ("sweep: 1\n", "", "begins with 'sweep: 1'"),
]


@for_each(("right", "broken", "said"), BROKEN)
def test_what_is_wrong_is_said_with_what_would_be_right(tmp_path, right, broken, said):
    assert right in SMALL
    assert said in wrong(tmp_path, SMALL.replace(right, broken))


def test_exactly_one_thing_is_swept(tmp_path):
    assert "nothing to be swept" in wrong(tmp_path, "sweep: 1\nanalyses: [edf]\n")
    both = SMALL + "attack: {}\n"
    assert "task_sets and attack" in wrong(tmp_path, both)


DESCRIBED = """\
sweep: 1
description:
  file: {file}
  mode: limp-home
  change:
    {change}
analyses: [bounds]
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tasks.brak.wcet: 1ms", "'brak' of 'tasks.brak.wcet' is not there; did you mean 'brake'?"),
        ("tasks.brake.wcet: [1ms, 1m]", "with '1m': "),
        ("scale.wcets: 2", "'wcets' cannot be scaled; did you mean 'wcet'?"),
        ("scale.wcet.brak: 2", "'brak' is unknown here; did you mean 'brake'?"),
        ("scale.wcet: 2ms", "is not a factor"),
        ("scale.wcet: 0", "is out of range"),
        ("platform.links.pci.rate: 1GB/s", "did you mean 'pcie'?"),
    ],
)
def test_a_change_that_cannot_be_made_is_named(tmp_path, change, said):
    assert said in wrong(tmp_path, DESCRIBED.format(file=VEHICLE, change=change))


def test_simulation_needs_to_know_how(tmp_path):
    text = DESCRIBED.format(file=VEHICLE, change="scale.wcet: 1").replace("[bounds]", "[simulation]")
    assert "add 'simulate: {duration: 1s}'" in wrong(tmp_path, text)
    text = DESCRIBED.format(file=VEHICLE, change="scale.wcet: 1").replace("mode: limp-home", "mode: limp-hom")
    assert "limp-home" in wrong(tmp_path, text)


def test_what_a_changed_description_does_not_use_is_refused(tmp_path):
    text = DESCRIBED.format(file=VEHICLE, change="scale.wcet: 2")
    for key, value, why in (
        ("sets", 100, "a description is not a random set"),
        ("block", 10, "a description is not a random set"),
        ("seed", 3, "nothing is random"),
    ):
        said = wrong(tmp_path, f"{text}{key}: {value}\n")
        assert f"{key}: {why}" in said and "remove it" in said
    said = wrong(tmp_path, "sweep: 1\nblock: 10\nattack: {until_refuted: true}\nanalyses: [three-phase]\n")
    assert "block: a search that its first finding ends is not divided" in said


def test_options_that_cannot_act_are_refused(small, consort):
    for alone in (["--list"], ["--cell", "0123"]):
        for option, value in (("--out", "x"), ("--workers", "1"), ("--scheduler", "tcp://a:1")):
            done = consort("sweep", small, *alone, option, value)
            assert done.returncode == 2 and f"{option}: {alone[0]} keeps nothing" in done.stderr
    listed = json.loads(consort("sweep", small, "--list", "--json").stdout)
    lines = consort("sweep", small, "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [one["cell"] for one in listed]


def test_ranges_are_exact():
    def read(value):
        return number(0, 10, 1, value)

    assert expand(read, {"from": 0.05, "to": 1, "step": 0.05}) == tuple(
        round(0.05 * k, 2) for k in range(1, 21)
    )
    assert expand(read, {"from": 1, "to": 4, "steps": 3, "scale": "log"}) == (1, 2, 4)
    assert expand(nanoseconds, {"from": "1us", "to": "1ms", "steps": 4, "scale": "log"}) == (
        1000,
        10000,
        100000,
        1000000,
    )
    # A value that stands twice is meant once.
    assert expand(read, [1, 2, 1.0]) == (1.0, 2.0)


def test_schema_is_that_of_the_model_and_accepts_files():
    schema = sweep_schema()
    file = ROOT / "schema" / "sweep.schema.json"
    assert file.read_text(encoding="utf-8") == schema_text(schema), (
        "run: consort schema sweep > schema/sweep.schema.json"
    )
    from consort.model.reading import read_document

    checker = jsonschema.Draft202012Validator(schema)
    for path in [*ROOT.glob("experiments/**/*sweep*.yaml"), *ROOT.glob("bench/sweeps/*.yaml")]:
        assert not list(checker.iter_errors(read_document(path).data)), path
        load_sweep(path)
    assert list(checker.iter_errors(json.loads('{"sweep": 1, "analyses": ["edf"]}')))
