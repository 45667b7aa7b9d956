# SPDX-License-Identifier: Apache-2.0
"""Devices, bindings of members, stand-ins, arrivals: what is said of right and of wrong descriptions."""

from __future__ import annotations

import shutil
from pathlib import Path

import jsonschema
import pytest
from consort.model import FunctionInput, System, load_system, system_schema
from ruamel.yaml import YAML

HERE = Path(__file__).parent
TEXT = (HERE / "devices.yaml").read_text(encoding="utf-8")


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("devices.hpp", "devices.py", "devices.csv"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "system.yaml").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return Path("system.yaml")


@pytest.fixture
def system(described: Path) -> System:
    return load_system(described)


def test_forms_of_device(system: System) -> None:
    assert {name: device.form for name, device in system.devices.items()} == {
        "arm": "plant",
        "wishes": "function",
        "line": "recording",
        "remote": "driver",
        "seen": "sink",
    }
    assert system.devices["wishes"].arguments == {"seed": 3}
    assert str(system.devices["remote"].driver) == "devices.hpp::Remote"
    # An input by a function is one of a task, not a device.
    assert not isinstance(system.devices["wishes"].function, FunctionInput)


def test_bindings(system: System) -> None:
    control = system.tasks["control"]
    assert control.bound_to("reads") == [
        ("wish", "wishes"),
        ("angle", "arm.angle"),
        ("load", "line"),
        ("gain", "gains"),
    ]
    assert system.tasks["tune"].bound_to("writes") == [("", "gains")]
    assert (system.writer("gains"), system.readers("gains")) == ("tune", ["control"])
    assert (system.writer("news"), system.readers("news")) == ("control", ["log"])


def test_written_and_read_again(system: System, described: Path) -> None:
    system.to_yaml("again.yaml")
    assert load_system("again.yaml").to_json() == system.to_json()
    jsonschema.validate(YAML(typ="safe").load(described.read_text(encoding="utf-8")), system_schema())
    jsonschema.validate(system.to_json(), system_schema())


def test_a_mode_without_a_device_s_task_is_without_the_device(described: Path) -> None:
    described.write_text(TEXT + "modes: {quiet: {tasks: [tune]}}\n", encoding="utf-8")
    quiet = load_system(described).in_mode("quiet")
    assert "arm" not in quiet.devices
    assert quiet.channels == {}
    assert quiet.tasks["tune"].bound_to("reads") == [("", "remote")]
