# SPDX-License-Identifier: Apache-2.0
"""Budgets of memory accesses in generated files, and where there is no regulator for them."""

from __future__ import annotations

import re
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from consort.base.errors import BadInput
from consort.board.generate import PartitionOptions, files, make_plan
from consort.cli import main
from consort.model import platform_from_data, system_from_data

BUDGET = {"budget": 1000, "period": "1ms", "shortest": {"value": "40ns", "assumed": "a bank's hit"}} | {
    "longest": {"value": "200ns", "assumed": "a row's miss"}
}
BOARD = platform_from_data(
    {
        "consort": 1,
        "name": "board",
        "processors": {"a53": {"isa": "aarch64"}},
        "cores": {"a53": {"processor": "a53", "count": 4}},
        "memories": {"ddr": {"kind": "ddr", "address": 0, "size": "2GiB"}},
    }
)
OPTIONS = PartitionOptions(window=0x4000000, gicd=0xF9000000, overshoot=20)


def files_for(form: str, options: PartitionOptions = OPTIONS, **cores: dict[str, Any]) -> dict[str, str]:
    """`cores`: by name with _ for -, what its bandwidth has other than `BUDGET`."""
    names = [core.replace("_", "-") for core in cores]
    data = {
        "consort": 1,
        "platform": "board",
        "tasks": {
            f"task-{name}": {"period": "10ms", "wcet": "1ms", "on": name, "accesses": {"most": 10}}
            for name in names
        },
        "scheduling": {
            name: {"bandwidth": BUDGET | more} for name, more in zip(names, cores.values(), strict=True)
        },
    }
    return files(make_plan(system_from_data(data, platform=BOARD), options), form)


def ran(tmp_path: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs it with a folder in place of debugfs and modules that are recorded instead of loaded."""
    for tool in ("insmod", "rmmod"):
        (tmp_path / tool).write_text(f'#!/bin/sh\necho {tool} "$@" >> {tmp_path}/said\n')
        (tmp_path / tool).chmod(stat.S_IRWXU)
    script = script.replace("/sys/kernel/debug/memguard", str(tmp_path / "memguard"))
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    return subprocess.run(
        ["sh", "-c", script, "consort-memguard.sh", *arguments], env=path, capture_output=True, text=True
    )


def test_the_module_is_told_each_cpus_events(tmp_path: Path) -> None:
    script = files_for("linux", a53_1={}, a53_2={"budget": 520})["consort-memguard.sh"]
    (tmp_path / "memguard").mkdir()
    (tmp_path / "memguard/limit").touch()
    done = ran(tmp_path, script, "memguard.ko", "0x17")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "said").read_text() == "insmod memguard.ko g_period_us=1000 g_hw_counter_id=0x17\n"
    # 20 of the description's accesses pass before the module acts; the others have no limit.
    assert (tmp_path / "memguard/limit").read_text() == "2147483647 980 500 2147483647\n"
    assert (tmp_path / "memguard/control").read_text() == "exclusive 0\n"


def test_another_module_is_not_taken(tmp_path: Path) -> None:
    script = files_for("linux", a53_0={})["consort-memguard.sh"]
    (tmp_path / "memguard").mkdir()
    done = ran(tmp_path, script, "memguard.ko", "0x17")
    assert done.returncode == 1 and "read_limit" in done.stderr
    assert (tmp_path / "said").read_text().splitlines()[-1] == "rmmod memguard"
    assert ran(tmp_path, script, "memguard.ko").returncode == 2


def test_a_jailhouse_cell_gets_constants(tmp_path: Path) -> None:
    made = files_for("jailhouse", a53_0={}, a53_1={"budget": 70, "period": "250us"})
    program = '#include "consort-memguard.h"\n' + "".join(
        f'_Static_assert(CONSORT_MEMGUARD_{name} == {value}, "");\n'
        for name, value in (
            ("A53_0_BUDGET_TIME", 1000),
            ("A53_0_BUDGET_MEMORY", 979),
            ("A53_1_BUDGET_TIME", 250),
            ("A53_1_BUDGET_MEMORY", 49),
        )
    )
    (tmp_path / "consort-memguard.h").write_text(made["consort-memguard.h"])
    (tmp_path / "x.c").write_text(program)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-c", "x.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("form", "changes", "cores", "said"),
    [
        ("xen", {}, {"a53_0": {}}, "scheduling.a53-0.bandwidth: Xen has no budget of memory accesses"),
        ("bao", {}, {"a53_0": {}}, "scheduling.a53-0.bandwidth: Bao has no budget"),
        ("zephyr", {}, {"a53_0": {}}, "scheduling.a53-0.bandwidth: Zephyr has no budget"),
        ("linux", {"overshoot": None}, {"a53_0": {}}, "--overshoot: a53-0 has a budget of 1000 accesses"),
        ("linux", {"overshoot": 999}, {"a53_0": {}}, "scheduling.a53-0.bandwidth.budget: 1000 less"),
        ("linux", {}, {"a53_0": {"period": "1500ns"}}, "bandwidth.period: 1500ns is not taken"),
        ("linux", {}, {"a53_0": {"period": "2s"}}, "bandwidth.period: 2s is not taken"),
        (
            "linux",
            {},
            {"a53_0": {}, "a53_1": {"period": "2ms"}},
            "scheduling.a53-1.bandwidth.period: the period is 2000 us, and that of scheduling.a53-0.bandwidth"
            " 1000 us",
        ),
    ],
)
def test_what_no_regulator_takes_is_refused(
    form: str, changes: dict[str, Any], cores: dict[str, dict[str, Any]], said: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        files_for(form, replace(OPTIONS, **changes), **cores)


def test_an_overshoot_of_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    servo = Path(__file__).resolve().parents[3] / "examples" / "servo" / "versal.yaml"
    with pytest.raises(SystemExit) as end:
        main(["generate", str(servo), "--for", "linux", "--window", "0x4000000", "--overshoot", "3"])
    assert end.value.code == 2 and "--overshoot: no core" in capsys.readouterr().err
