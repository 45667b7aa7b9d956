# SPDX-License-Identifier: Apache-2.0
"""A run that does not show whether the system holds says so, with an exit status of its own."""

from __future__ import annotations

import json
from pathlib import Path

from run_support import consort

DESCRIPTION = """\
consort: 1
assumed: a test
platform: linux-host
scheduling: {master: {context_switch: 0us}}
tasks:
  seen: {period: 10ms, wcet: 1ms, bcet: 1ms, on: master-0, step: stand-in}
  late: {period: 10ms, offset: 1s, wcet: 1ms, bcet: 1ms, on: master-0, step: stand-in}
run: {iterations: 10}
"""


def test_a_task_that_the_run_ended_before_leaves_it_undecided(tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    file.write_text(DESCRIPTION, encoding="utf-8")
    options = ["run", str(file), "--for", "virtual", "--root", str(tmp_path / "runs")]
    said = consort(*options, "--json")
    assert said.returncode == 4, said.stderr
    assert json.loads(said.stdout)["verdict"]["ok"] == "undecided"
    ended = consort(*options, "-v")
    assert ended.returncode == 4
    text = " ".join(ended.stdout.split())
    assert "Undecided: it is not known whether the system holds: late: the run was over before" in text
    assert "∅ never seen" in text and "✗" not in text
    assert "undecided" in consort("runs", "--root", str(tmp_path / "runs")).stdout
    for number in ("101", "nan"):
        wrong = consort(*options, "--undecided-above", number)
        assert wrong.returncode == 2 and "--undecided-above" in wrong.stderr
