# SPDX-License-Identifier: Apache-2.0
"""The program that is made for no description: it runs all of stand-ins alone, by their plan images."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from consort.run import application
from consort.run.build import MOST_VERSIONS, reads_its_plan
from run_support import Ran, ran, write

# A channel of each kind that stand-ins have, and a device that is only described.
DESCRIBED: dict[str, Any] = {
    "tasks": {
        "first": {
            "period": "10ms",
            "wcet": "1ms",
            "bcet": "100us",
            "on": "master-0",
            "writes": ["kept", "newest", "logical"],
        },
        "second": {
            "period": "10ms",
            "wcet": "2ms",
            "bcet": "1ms",
            "on": "master-0",
            "reads": ["kept", "newest", "frames"],
            "writes": ["boxed"],
        },
        "third": {
            "min_interarrival": "15ms",
            "wcet": "1ms",
            "on": "master-1",
            "reads": ["newest", "logical"],
        },
        "fourth": {"period": "20ms", "wcet": "1ms", "on": "master-1", "reads": ["boxed"]},
        "away": {
            "period": "20ms",
            "wcet": {"host": {"offloaded": "3ms", "local": "4ms"}},
            "on": "worker-0",
            "master": "master-1",
            "execution": "offloaded",
            "on_miss": "local-fallback",
        },
    },
    "devices": {"camera": {"kind": "camera"}},
    "channels": {
        "away.in": {"kind": "periodic", "size": "4B"},
        "away.out": {"kind": "periodic", "size": "4B"},
        "kept": {"kind": "queue", "capacity": 16, "size": "100B"},
        "newest": {"kind": "sporadic", "size": "64B"},
        "logical": {"kind": "sporadic", "size": "4B", "communication": "let"},
        "boxed": {"kind": "sporadic", "size": "8B", "implementation": "double-buffer"},
        "frames": {
            "kind": "subscription",
            "from": "camera",
            "to": ["second"],
            "flow": 17,
            "capacity": 4,
            "size": "16B",
            "min_interarrival": "11ms",
        },
    },
    "run": {"iterations": 100, "interference": [], "seed": 3},
}


def described(folder: Path) -> Path:
    return write(folder, DESCRIBED)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(application, "build_application", lambda *_, **__: pytest.fail("it was compiled"))
        path = described(tmp_path_factory.mktemp("stand-ins") / "system")
        return ran(path, "offloaded-off", stand_ins=True, target="virtual")


def tables(found: Ran) -> dict[str, bytes]:
    # The plan names the folder of its description.
    kept = (path for path in sorted(found.raw.path.iterdir()) if path.name != "plan.json")
    return {path.name: path.read_bytes() for path in kept}


def test_nothing_is_compiled_for_a_description(found: Ran) -> None:
    assert found.verdict.ok, found.verdict.reasons
    assert [channel["name"] for channel in found.prepared.described["channels"]] == [
        name for name in DESCRIBED["channels"] if "." not in name
    ]
    assert len(found.raw.tables["jobs"].rows) > 300


@pytest.mark.slow
def test_its_record_is_that_of_a_program_made_for_the_description(
    found: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "reads_its_plan", lambda _: False)
    made = ran(described(tmp_path / "system"), "offloaded-off", stand_ins=True, target="virtual")
    assert made.prepared.program != found.prepared.program
    assert tables(made) == tables(found)


def test_an_image_of_another_program_is_refused(found: Ran, tmp_path: Path) -> None:
    config = json.loads((found.scratch / "config.json").read_text(encoding="utf-8"))
    config["tasks"] = config["tasks"][::-1]
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "raw").mkdir()
    command = [found.prepared.program, "--config", tmp_path / "config.json", "--raw", tmp_path / "raw"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, list((tmp_path / "raw").iterdir())) == (2, [])
    assert "the plan image is of another program" in ended.stderr


def test_a_damaged_image_is_refused(found: Ran, tmp_path: Path) -> None:
    image = tmp_path / "plan.img"
    image.write_bytes((found.scratch / "plan.img").read_bytes()[:-8])
    command = [found.prepared.program, "--describe", "--image", image]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2 and "the plan image is damaged" in ended.stderr


def test_what_it_has_not_is_compiled(found: Ran) -> None:
    made = found.prepared.plan
    assert reads_its_plan(made)
    # Where time goes by itself, a block takes the time of its size.
    here = replace(made, target="linux")
    assert not reads_its_plan(here)
    words = {name: replace(channel, bytes=4) for name, channel in here.channels.items()}
    assert reads_its_plan(replace(here, channels=words))
    assert not reads_its_plan(replace(here, target="board", channels=words))
    logical = replace(made.channels["logical"], capacity=MOST_VERSIONS + 1)
    assert not reads_its_plan(replace(made, channels={**made.channels, "logical": logical}))
