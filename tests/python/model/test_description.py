# SPDX-License-Identifier: Apache-2.0
"""Valid descriptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from consort.model import (
    BadDescription,
    Duration,
    FileInput,
    Frequency,
    FunctionInput,
    Tolerance,
    load_platform,
    load_system,
)
from consort.model.load import schema_text, system_schema
from consort.model.platform import known_platforms, platform_folders
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "servo" / "system.yaml"
SCHEMA = ROOT / "schema" / "system.schema.json"

SEVERAL = """\
consort: 1
platform: linux-host
tasks:
  fast: &offloaded
    step: step.hpp::fast::step
    period: 100us
    deadline: 80us
    on: worker-0
    execution: offloaded
    master: master-0
    input: {function: inputs.py::inputs, arguments: {seed: 1, level: 0.5, name: x, wide: true}}
  slow:
    step: step.hpp::slow::step
    period: 1ms
    on: worker-1
    execution: offloaded
    master: master-0
    on_miss: local-fallback
    input: {function: inputs.py::inputs}
  extra: *offloaded
  watch:
    step: step.hpp::watch
    period: 10ms
    on: master-0
    input: {function: inputs.py::inputs}
run: {cpus: {master-0: 0, worker-1: 3}}
"""


def write(folder: Path, text: str) -> Path:
    (folder / "system.yaml").write_text(text, encoding="utf-8")
    return folder / "system.yaml"


def plain(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def test_example() -> None:
    system = load_system(EXAMPLE)
    servo = system.tasks["servo"]
    assert servo.period == Duration.parse("50us")
    assert servo.released_by == "master-0"
    assert isinstance(servo.input, FileInput)
    assert servo.input.rate == Frequency(20_000)
    assert system.path(servo.step_to_run.file).is_file()
    assert system.platform_description.name == "linux-host"
    assert system.configurations() == ("local-off", "local-on", "offloaded-off", "offloaded-on")


def test_example_names_its_schema() -> None:
    comments = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if "$schema=" in line]
    assert [(EXAMPLE.parent / line.split("=")[1]).resolve() for line in comments] == [SCHEMA]


def test_several_workers_and_kinds_of_job(folder: Path) -> None:
    system = load_system(write(folder, SEVERAL))
    assert system.cores() == ["master-0", "worker-0", "worker-1"]
    assert system.workers() == ["worker-0", "worker-1"]
    assert system.tasks["extra"] == system.tasks["fast"]
    assert system.tasks["watch"].execution == "local"
    assert system.run.cpus == {"master-0": 0, "worker-1": 3}
    assert system.configurations() == ("local-off", "offloaded-off")
    given = system.tasks["fast"].input
    assert isinstance(given, FunctionInput)
    assert given.arguments == {"seed": 1, "level": 0.5, "name": "x", "wide": True}
    assert [type(value) for value in given.arguments.values()] == [int, float, str, bool]


def test_defaults(folder: Path) -> None:
    system = load_system(write(folder, SEVERAL))
    slow = system.tasks["slow"]
    assert slow.deadline == slow.period
    assert system.tasks["fast"].on_miss == "hold-last-output"
    assert system.channel("slow.in").memory == "shm"
    assert system.run.iterations == 100_000


def test_base_says_what_it_says(folder: Path) -> None:
    system = load_system("system.yaml")
    servo = system.tasks["servo"]
    assert isinstance(servo.input, FileInput)
    assert servo.input.column("reference").column == "set_point"
    assert servo.input.column("reference").scale == 1.0
    assert servo.input.column("position").scale == 0.5
    assert servo.golden is not None
    assert servo.golden.tolerance == {"command": Tolerance(4, "ulp")}
    assert system.run.interference == ("stream", "loopback-copy")
    assert system.file == Path("system.yaml")


@pytest.mark.parametrize("text", [None, SEVERAL])
def test_round_trip(folder: Path, text: str | None) -> None:
    path = folder / "system.yaml" if text is None else write(folder, text)
    system = load_system(path)
    written = system.to_json()
    again = load_system(write(folder, json.dumps(written)))
    assert again.to_json() == written
    assert again.tasks == system.tasks
    assert again.run == system.run
    jsonschema.validate(written, system_schema())


def test_nothing_changes_once_read(folder: Path) -> None:
    system = load_system("system.yaml")
    with pytest.raises(ValueError, match="frozen"):
        system.platform = "other"


def test_byte_order_mark_and_windows_line_ends(folder: Path) -> None:
    text = (folder / "system.yaml").read_text(encoding="utf-8")
    (folder / "system.yaml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert load_system("system.yaml").tasks["servo"].period == Duration.parse("50us")


def test_own_platform_beside_the_description(folder: Path) -> None:
    text = SEVERAL.replace("linux-host", "board.yml").replace("worker-", "a72-").replace("master-0", "a72-9")
    with pytest.raises(
        BadDescription, match="'a72-9' is not a core of platform board; a72 cores: a72-0 to a72-1"
    ):
        load_system(write(folder, text))


def test_platforms() -> None:
    assert "linux-host" in known_platforms()
    for file in (file for place in platform_folders() for file in place.glob("*.yaml")):
        platform = load_platform(file)
        assert platform.core_names()
    host = load_platform(ROOT / "platforms" / "linux-host.yaml")
    assert {"master-0", "worker-0", "worker-1"} <= set(host.core_names())
    assert all(group.cpu == "auto" for group in host.cores.values())


def test_platform_rules(folder: Path) -> None:
    (folder / "card.yaml").write_text(
        "consort: 1\nname: cart\nprocessors: {a72: {isa: aarch64}}\n"
        "cores: {a: {processor: a27, count: 1}}\nmemories: {}\n",
        encoding="utf-8",
    )
    with pytest.raises(BadDescription) as caught:
        load_platform(Path("card.yaml"))
    assert str(caught.value).split("\n") == [
        "card.yaml:2:7: name: 'cart' is not the file's name; write 'card'",
        "card.yaml:4:24: cores.a.processor: the processor 'a27' is not known; did you mean 'a72'?",
    ]


def test_checked_in_schema_is_the_models() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), (
        "run: consort schema > schema/system.schema.json"
    )


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(system_schema())
    assert system_schema()["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]


def test_schema_accepts_what_is_right(folder: Path) -> None:
    for path in (EXAMPLE, folder / "system.yaml", write(folder, SEVERAL)):
        jsonschema.validate(plain(path), system_schema())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("50us", "50"),
        ("50us", "50 usec"),
        ("20kHz", "20us"),
        ("4ulp", "4"),
        ("on_miss:", "on-miss:"),
        ("    step: step.hpp::servo::step\n", ""),
        ("consort: 1", "consort: 2"),
        ("offloaded", "offload"),
        ("    master: master-0\n", ""),
        ("execution: offloaded", "execution: local"),
        ("servo.in:", "servo.input:"),
        ("kind: periodic", "kind: once"),
        ("step.hpp::", "step.cpp::"),
        ("servo:\n", "my servo:\n"),
        ("iterations: 1000", "iterations: 0"),
        ("loopback-copy", "loopback"),
        ("{reference: set_point", "{1st: set_point"),
        ("run:\n", "run: null\nx:\n"),
    ],
)
def test_schema_refuses_what_is_wrong(folder: Path, old: str, new: str) -> None:
    text = (folder / "system.yaml").read_text(encoding="utf-8")
    assert old in text
    data = plain(write(folder, text.replace(old, new, 1)))
    assert list(jsonschema.Draft202012Validator(system_schema()).iter_errors(data))


def test_schema_describes_every_key() -> None:
    schema = system_schema()
    for part in (schema, *schema["$defs"].values()):
        for key, field in part.get("properties", {}).items():
            assert field.get("description"), f"{part['title']}.{key}"
