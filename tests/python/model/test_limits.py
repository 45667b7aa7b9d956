# SPDX-License-Identifier: Apache-2.0
"""Descriptions that are too large are refused at once; large ones are read in linear time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from consort.base.files import LARGEST_DESCRIPTION
from consort.commands.check import command as check
from consort.model import BadDescription, System, load_system
from consort.model.compose import DEEPEST
from consort.model.load import load_description

HERE = Path(__file__).parent


def errors(path: str) -> list[str]:
    with pytest.raises(BadDescription) as caught:
        load_system(path)
    return str(caught.value).split("\n")


def many_tasks(folder: Path, tasks: int) -> Path:
    (folder / "chip.yaml").write_text((HERE / "chip.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    lines = ["consort: 1", "platform: chip.yaml", "tasks:"]
    for n in range(tasks):
        before = f"flow-{n - 1 if n else tasks - 1}"
        lines += [f"  task-{n}:", "    period: 10ms", "    deadline: 8ms", "    wcet: {big: 1us, small: 2us}"]
        lines += [
            f"    priority: {n + 1}",
            "    on: big-0",
            f"    writes: [flow-{n}]",
            f"    reads: [{before}]",
        ]
    lines += ["channels:", *(f"  flow-{n}: {{kind: periodic, memory: ddr}}" for n in range(tasks))]
    path = folder / "large.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def seconds(path: Path) -> float:
    """Processor time of a check, the better of two."""
    best = float("inf")
    for _ in range(2):
        begin = time.process_time()
        described = load_description(path)
        best = min(best, time.process_time() - begin)
        assert isinstance(described, System)
    return best


def test_time_grows_with_the_number_of_tasks(tmp_path: Path) -> None:
    few, many = seconds(many_tasks(tmp_path, 300)), seconds(many_tasks(tmp_path, 2400))
    assert many < 24 * few, "eight times the tasks: 8 is linear, 64 would be all compared with all"


def test_ten_thousand_tasks(tmp_path: Path) -> None:
    described = load_description(many_tasks(tmp_path, 10_000))
    assert isinstance(described, System) and len(described.tasks) == 10_000


def test_fifty_thousand_tasks_are_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(check, [str(many_tasks(tmp_path, 50_000))], standalone_mode=False)
    assert result.return_value == 2
    assert "more than 400000 values" in result.output


def test_a_fault_in_each_of_thousands_of_tasks(tmp_path: Path) -> None:
    path = many_tasks(tmp_path, 3000)
    path.write_text(path.read_text(encoding="utf-8").replace("on: big-0", "on: bigg-0"), encoding="utf-8")
    assert 1000 <= len(errors(str(path))) <= 2000, "not all are listed"
    path.write_text(
        path.read_text(encoding="utf-8").replace("period: 10ms", "periode: 10ms"), encoding="utf-8"
    )
    assert 1000 <= len(errors(str(path))) <= 2000


def test_too_large_a_file(folder: Path) -> None:
    with Path("system.yaml").open("wb") as file:
        file.truncate(100 << 20)
    mib = LARGEST_DESCRIPTION >> 20
    assert errors("system.yaml") == [
        f"system.yaml: is larger than {mib} MiB; a system description of that size is refused"
    ]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_too_deep(folder: Path, opening: str) -> None:
    for count in (DEEPEST + 1, 30_000):
        Path("system.yaml").write_text(opening * count, encoding="utf-8")
        (message,) = errors("system.yaml")
        assert f"nested more than {DEEPEST} deep" in message


def test_an_alias_bomb_of_a_kilobyte(folder: Path) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{y}: &{y} [{', '.join([f'*{x}'] * 10)}]" for x, y in zip("abcdefghi", "bcdefghij", strict=True)
    ]
    for text in ("\n".join(lines), "%YAML 1.2\n---\n" + "\n".join(lines)):
        assert len(text) < 1024
        Path("system.yaml").write_text(text, encoding="utf-8")
        (message,) = errors("system.yaml")
        assert "more than 400000 values with its aliases" in message


def test_an_alias_within_itself(folder: Path) -> None:
    for head in ("", "%YAML 1.2\n---\n"):
        Path("system.yaml").write_text(f"{head}consort: &a [*a]\n", encoding="utf-8")
        assert "the alias contains itself" in "\n".join(errors("system.yaml"))


def test_a_number_without_end(folder: Path) -> None:
    text = Path("system.yaml").read_text(encoding="utf-8")
    for number in ("9" * 10_000, "0x" + "f" * 10_000):
        Path("system.yaml").write_text(text.replace("50us", number, 1), encoding="utf-8")
        (message,) = [line for line in errors("system.yaml") if "period" in line]
        assert len(message) < 300


@pytest.mark.parametrize("name", ["x" * 5000 + ".csv", "a/" * 3000 + "b.csv", "nul\\0.csv"])
def test_file_names_that_no_file_has(folder: Path, name: str) -> None:
    """Found by fuzzing: the system's own refusal of such a name was a traceback."""
    text = Path("system.yaml").read_text(encoding="utf-8")
    for old, new in (
        ("data/servo.csv", f'"{name}"'),
        ("golden.py::golden", f'"{name[:-4]}.py::golden"'),
        ("platform: linux-host", f'platform: "{name[:-4]}.yaml"'),
    ):
        assert old in text
        Path("system.yaml").write_text(text.replace(old, new), encoding="utf-8")
        messages = errors("system.yaml")
        refused = ("does not exist", "is no", "has a control character")
        assert any(words in message for message in messages for words in refused), messages
        assert all(len(message) < 12_000 for message in messages)


def test_a_module_that_is_no_module(folder: Path) -> None:
    for content in (b"\x00", b"(" * 100_000, b"-" * 100_000 + b"1", b"x" * (5 << 20), b"\xff"):
        Path("golden.py").write_bytes(content)
        assert "golden" in "\n".join(errors("system.yaml"))


def test_a_table_without_end_of_line(folder: Path) -> None:
    Path("data/servo.csv").write_bytes(b"x" * (8 << 20))
    assert "data/servo.csv" in "\n".join(errors("system.yaml"))


def test_sums_that_are_more_than_a_quantity_holds(tmp_path: Path) -> None:
    """Found by fuzzing: parts of a footprint fit into 63 bits, their sum does not."""
    (tmp_path / "chip.yaml").write_text((HERE / "chip.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    path = tmp_path / "system.yaml"
    path.write_text(
        "consort: 1\nplatform: chip.yaml\nscheduling:\n  small-1: {policy: three-phase, slot: 40us}\n"
        "tasks:\n  body:\n    period: 10ms\n    wcet: {small: 1ms}\n    on: small-1\n"
        f"    execution: three-phase\n    footprint: {{code: {2**63 - 1}B, data: 4096B, inputs: 8B}}\n",
        encoding="utf-8",
    )
    assert any("longer than the slot" in message for message in errors(str(path)))
