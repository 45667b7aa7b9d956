# SPDX-License-Identifier: Apache-2.0
"""Tasks whose states lie in remote memory: attached by the run, counted in its record, and judged."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from consort.base.errors import BadInput
from consort.base.packages import Server
from consort.model import BadDescription
from consort.model.platform import find_platform, load_platform
from consort.record.ran import EVENTS
from consort_remote.for_runs import parse_servers
from effort import PATIENCE, wait_for
from run_support import Ran, beside_time, consort, ran, write

pytestmark = pytest.mark.realtime

PAGED = Path(__file__).parent / "paged"
CONSORT = Path(sys.executable).with_name("consort")
JOBS = 300


def described(folder: Path, state: dict[str, Any] | None = None, parts: Any = None, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("step.hpp", "paged.py"):
        shutil.copy(PAGED / name, folder)
    host = load_platform(find_platform("linux-host", Path()))
    data = host.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
    data["name"] = "far-host"
    fault = {"page": {"value": "200us", "assumed": "for this test"}}
    data["memories"]["far"] = {"kind": "remote", "size": "64MiB", "fault": fault}
    (folder / "far-host.yaml").write_text(json.dumps(data), encoding="utf-8")
    task = {
        "step": "step.hpp::paged::step",
        "period": "4ms",
        "wcet": "500us",
        "on": "master-0",
        "remote_state": {"memory": "far", "faults": 4, **(state or {})},
        "input": {"function": "paged.py::inputs", "arguments": {"rows": JOBS}},
        "golden": {"function": "paged.py::golden"},
        **changes,
    }
    run = {"iterations": JOBS, "time_base": "sleep", "interference": []}
    return write(
        folder,
        {
            "platform": "far-host.yaml",
            "tasks": {"map": {key: value for key, value in task.items() if value is not None}},
            "run": run,
            **(parts or {}),
        },
    )


def values(found: Ran, kind: str) -> np.ndarray:
    rows = np.array(found.raw.tables["events"].rows)
    return rows[rows["kind"] == EVENTS.index(kind)]["value"]


def said(found: Ran) -> list[Any]:
    return [check for check in found.verdict.checks if check.name == "remote memory"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    place = tmp_path_factory.mktemp("far")
    place.chmod(0o700)
    command = [str(CONSORT), "remote", "serve", "--size", "64MiB", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"XDG_RUNTIME_DIR": str(place)}
    )
    assert process.stdout is not None
    with process, process.stdout:
        ready = next(line for line in process.stdout if line.startswith("ready "))
        yield process, f"127.0.0.1:{ready.split()[1]}", place / "consort" / "memory" / "memory.key"
        process.terminate()


def test_a_state_that_is_larger_than_its_cache(tmp_path: Path) -> None:
    """Its pages go to the run's own server and come back; every output is right."""
    found = ran(described(tmp_path / "system"), "local-off")
    assert beside_time(found.verdict.reasons) == []
    faults, waits = values(found, "remote-faults"), values(found, "remote-waits")
    # Nearly each job has two places of its own, and what was touched first went home before it came again.
    assert len(faults) == len(waits) > found.jobs("map").size // 2
    assert set(faults.tolist()) <= {1, 2, 3, 4} and waits.min() > 0
    (check,) = said(found)
    assert check.holds and "of 4 faults on its remote state in a job" in check.text
    summary = {entry["name"]: entry for entry in found.run.data["configurations"][0]["event_summary"]}
    assert summary["remote-faults"]["count"] == len(faults)
    assert summary["remote-waits"]["longest_ns"] > 0


def test_more_faults_than_stated_fail_the_run(tmp_path: Path) -> None:
    found = ran(described(tmp_path / "system", {"faults": 0}), "local-off")
    (check,) = said(found)
    assert not check.holds and "of 0 faults on its remote state" in check.text
    assert not found.verdict.ok


def test_a_server_that_is_given(tmp_path: Path, server: tuple[subprocess.Popen[str], str, Path]) -> None:
    _, where, key = server
    far = parse_servers([f"far={where},key={key}"])
    found = ran(described(tmp_path / "system"), "local-off", remote=far)
    assert beside_time(found.verdict.reasons) == []
    assert len(values(found, "remote-faults")) > found.jobs("map").size // 2


def test_an_analysis_without_the_figures_has_no_bound(tmp_path: Path) -> None:
    file = described(tmp_path / "system", {"faults": 4})
    done = consort("analyze", file, "--json")
    assert done.returncode == 0, done.stderr
    (bound,) = (b for b in json.loads(done.stdout)["bounds"] if b["task"] == "map")
    assert "theorem 32" in bound["source"]
    platform = tmp_path / "system" / "far-host.yaml"
    data = json.loads(platform.read_text(encoding="utf-8"))
    del data["memories"]["far"]["fault"]
    platform.write_text(json.dumps(data), encoding="utf-8")
    done = consort("analyze", file)
    assert done.returncode == 4 and "memories.far.fault.page" in done.stdout


def test_what_has_no_place_there_is_refused(tmp_path: Path) -> None:
    file = described(tmp_path / "small")
    platform = tmp_path / "small" / "far-host.yaml"
    data = json.loads(platform.read_text(encoding="utf-8"))
    data["memories"]["far"]["size"] = "2MiB"
    platform.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(BadInput, match=r"tasks\.map\.remote_state\.memory.*take 4MiB.*and it has 2MiB"):
        ran(file, "local-off")
    with pytest.raises(BadDescription, match="virtual pages nothing from remote memory"):
        ran(described(tmp_path / "virtual"), "local-off", target="virtual")
    with pytest.raises(BadDescription, match="a stand-in has no state"):
        ran(described(tmp_path / "stand", step="stand-in", input=None, golden=None), "local-off")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["far"], "MEMORY=HOST:PORT,key=FILE or MEMORY=NAME is expected"),
        (["far=h:1"], "over TCP the server's key is needed"),
        (["far=h:1,kee=x"], "key=FILE is expected"),
        (["far=h:1,key=/nowhere"], "there is no key /nowhere"),
        (["far=nobody-serves-so"], "there is no key"),
    ],
)
def test_servers_that_are_none(texts: list[str], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        parse_servers(texts)


def test_a_memory_without_states_has_no_server(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no task's state lies in 'shm'"):
        ran(described(tmp_path / "system"), "local-off", remote={"shm": Server("h:1", tmp_path)})


def shared_kib(pid: int) -> int:
    """A server's memory of its clients' pages."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.findall(r"RssShmem:\s+(\d+) kB", status)[0])


def test_a_server_that_dies_is_named(tmp_path: Path, server: tuple[subprocess.Popen[str], str, Path]) -> None:
    """The last test of this server: the task ends with SIGBUS, and both are said; nothing is made up."""
    process, where, key = server
    file = described(tmp_path / "system", period="20ms")
    command = [str(CONSORT), "run", str(file), "--only", "local-off", "--remote", f"far={where},key={key}"]
    command.append("-v")
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for("its pages", lambda: shared_kib(process.pid) > 2 << 10)
    time.sleep(1)  # Most of them are those of the fresh state, which is there before the first job.
    process.send_signal(signal.SIGKILL)
    text, _ = run.communicate(timeout=2 * PATIENCE)
    assert run.returncode == 1
    assert "SIGBUS" in text
