# SPDX-License-Identifier: Apache-2.0
"""Thresholds for the least memory: against every assignment there is, and as a user has them chosen."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from random import Random

import pytest
from consort.analysis.uniprocessor import UniTask, fixed_priority
from consort.base.errors import BadInput
from consort.cli import main
from consort.model import load_system
from consort.place.call import place
from consort.place.thresholds import choose_thresholds, greatest, stack_of

PLATFORM = """consort: 1
name: board
processors: {m: {isa: armv7e-m}}
cores: {m: {processor: m, count: 2, assumed: here, context_switch: 0ns, timer_lateness: 0ns}}
"""
SYSTEM = """consort: 1
platform: board.yaml
# needs thresholds
tasks:
  high: {period: 70us, deadline: 50us, wcet: 20us, on: m-0, footprint: {stack: 1KiB}}
  middle: {period: 80us, wcet: 20us, on: m-0, footprint: {stack: 2KiB}}
  low:
    period: 200us
    deadline: 100us   # late where all preempt it
    wcet: 35us
    on: m-0
    footprint: {stack: 3KiB}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "board.yaml").write_text(PLATFORM)
    described = tmp_path / "system.yaml"
    described.write_text(SYSTEM)
    return described


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as done:
        main(arguments)
    return int(done.value.code or 0)


def core_of(random: Random) -> list[UniTask]:
    tasks = []
    for i in range(random.randint(2, 5)):
        period = random.choice((10, 12, 20, 30, 60))
        wcet = random.randint(1, max(1, period // 4))
        deadline = random.randint(wcet, 2 * period)
        jitter = random.choice((0, 0, period // 4))
        blocking = random.choice((0, 0, 1))
        tasks.append(UniTask(f"t{i}", wcet, period, deadline, jitter, blocking))
    return tasks


def nested(sizes: list[int], limits: list[int]) -> int:
    """Every pile of jobs of which each preempts the one below, by trying all."""
    most = 0

    def pile(top: int, total: int) -> None:
        nonlocal most
        most = max(most, total)
        for above in range(limits[top]):
            pile(above, total + sizes[above])

    for bottom in range(len(sizes)):
        pile(bottom, sizes[bottom])
    return most


def test_no_other_assignment_takes_less() -> None:
    some = none = lower = 0
    for seed in range(150):
        random = Random(seed)
        tasks, switch = core_of(random), random.choice((0, 0, 1))
        sizes = [random.randint(0, 9) for _ in tasks]
        holding = []
        for limits in product(*(range(k + 1) for k in range(len(tasks)))):
            given = [
                UniTask(*(getattr(t, key) for key in ("name", "execution", "period", "deadline")),
                        t.jitter, t.blocking, k, threshold=limit)
                for k, (t, limit) in enumerate(zip(tasks, limits, strict=True))
            ]  # fmt: skip
            if all(bound.schedulable for bound in fixed_priority(given, context_switch=switch)):
                holding.append(limits)
        found = greatest(tasks, switch)
        if isinstance(found, str):
            none += 1
            assert holding == []
            continue
        some += 1
        assert tuple(found) in holding
        # It is the greatest: no other raises any threshold further.
        assert all(mine <= one for other in holding for mine, one in zip(found, other, strict=True))
        assert stack_of(sizes, found) == min(nested(sizes, list(one)) for one in holding)
        lower += stack_of(sizes, found) < sum(sizes)
    assert some > 40 and none > 10 and lower > 40


def test_thresholds_are_written_and_hold(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.with_name("with.yaml")
    assert run(["place", str(file), "--choose", "thresholds", "--best", "memory", "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "4096 B (6144 B as it stands), 1.5 times less than full preemption" in printed
    assert "Proven optimal" in printed
    made = load_system(out)
    assert [task.preemption_threshold for task in made.tasks.values()] == [None, 3, 2]
    assert "# late where all preempt it" in out.read_text()
    assert run(["analyze", str(out)]) == 0
    capsys.readouterr()
    # Chosen again they are the same.
    assert run(["place", str(out), "--choose", "thresholds", "--best", "memory", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["diff"] == "" and found["memory_bytes"] == {
        "preemptive": 6144,
        "before": 4096,
        "after": 4096,
    }


def test_where_no_thresholds_do_it_says_so(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(SYSTEM.replace("deadline: 50us", "deadline: 39us").replace("wcet: 35us", "wcet: 61us"))
    assert run(["place", str(file), "--choose", "thresholds", "--best", "memory"]) == 1
    assert "No thresholds make low meet its deadline" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("footprint: {stack: 2KiB}", "footprint: {code: 2KiB}", "tasks.middle.footprint.stack"),
        ("wcet: 20us, on: m-0, footprint: {stack: 1KiB}", "on: m-0, footprint: {stack: 1KiB}", "tasks.high"),
        ("tasks:", "scheduling: {m: {policy: edf}}\ntasks:", "no core has preemptive fixed priorities"),
        ("tasks:", "modes: {a: {tasks: [high]}}\ntasks:", "without modes"),
    ],
)
def test_what_is_missing_is_named(file: Path, old: str, new: str, says: str) -> None:
    file.write_text(SYSTEM.replace(old, new, 1))
    with pytest.raises(BadInput) as found:
        choose_thresholds(load_system(file))
    assert says in str(found.value)


@pytest.mark.parametrize(
    "options",
    [
        ["--choose", "thresholds"],
        ["--best", "memory"],
        ["--choose", "thresholds,slots", "--best", "memory"],
        ["--choose", "thresholds", "--best", "memory", "--keep", "high"],
    ],
)
def test_they_are_chosen_alone(file: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["place", str(file), *options]) == 2
    assert "--choose thresholds --best memory" in capsys.readouterr().err


def test_places_are_not_chosen_beside_thresholds(file: Path) -> None:
    text = SYSTEM.replace("70us,", "70us, priority: 3,").replace("80us,", "80us, priority: 2,")
    file.write_text(text.replace("wcet: 35us", "wcet: 35us\n    priority: 1\n    preemption_threshold: 1"))
    with pytest.raises(BadInput, match="remove it, place, and then choose"):
        place(load_system(file))
