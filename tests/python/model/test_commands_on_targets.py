# SPDX-License-Identifier: Apache-2.0
"""Commands lay a description on one of its targets by `--on`, and `check` on all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from consort.cli import main
from test_targets import written

LOOP = Path(__file__).parents[3] / "examples" / "drive" / "loop.yaml"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(written(tmp_path).name)


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


def test_check_checks_every_target_and_says_which(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("check", str(file)) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("system.yaml:")
    assert "targets.other.memories: on 'other': 'shm' has no entry, and is not a memory or link of" in said[0]
    assert "add 'shm: ddr'; memories: ddr, ocm" in said[0] and said[1:] == ["consort: 1 error in system.yaml"]
    assert ended("check", str(file), "--on", "versal") == 0
    assert "servo: every 1ms, deadline 1ms, offloaded on a72-0, master r5f-0" in capsys.readouterr().out
    assert ended("check", str(file), "--on", "linux-host") == 0


def test_a_target_that_there_is_not_is_refused_with_the_nearest(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {
        "generate": ["--for", "linux", "--window", "0x4000000", "--out", "there"],
        "export": ["--to", "amalthea", "-o", "there"],
    }
    for command in ("check", "analyze", "simulate", "plan", "show", "run", "profile", *more):
        assert ended(command, str(file), "--on", "versall", *more.get(command, ())) == 2
        assert "there is no target 'versall'; did you mean 'versal'?" in capsys.readouterr().err


def test_a_description_of_one_platform_says_where_others_are_described(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = json.loads(file.read_text(encoding="utf-8"))
    del alone["targets"]
    file.write_text(json.dumps(alone), encoding="utf-8")
    assert ended("run", str(file), "--on", "versal") == 2
    assert "other platforms are described under 'targets'" in capsys.readouterr().err


def test_commands_lay_the_description_on_the_target(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on = (str(file), "--on", "versal")
    assert ended("plan", *on, "--for", "analysis", "--json") == 0
    assert json.loads(capsys.readouterr().out)["cores"].keys() == {"r5f-0", "a72-1", "a72-0"}
    assert ended("analyze", *on, "--json") == 4
    assert "tasks.panel.wcet" in capsys.readouterr().out
    assert ended("export", *on, "--to", "amalthea", "-o", "there.amxmi", "--json") == 0
    assert "a72-0" in Path("there.amxmi").read_text(encoding="utf-8")
    capsys.readouterr()
    assert ended("generate", *on, "--for", "linux", "--window", "0x4000000", "--out", "there") == 2
    assert "tasks take all 2 cores of 'a72'" in capsys.readouterr().err
    assert ended("show", *on, "-o", "-") == 0
    assert "a72-0" in capsys.readouterr().out


def test_the_page_of_a_simulation_shows_the_system_on_its_target(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on = (str(LOOP), "--on", "versal")
    assert ended("show", *on, "-o", "-") == 0
    drawn = capsys.readouterr().out
    assert ended("simulate", *on, "--root", "runs", "--duration", "1ms") in (0, 4)
    (kept,) = Path("runs").glob("*/system.svg")
    assert kept.read_text(encoding="utf-8") == drawn and "a72-0" in drawn
