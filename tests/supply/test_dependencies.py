# SPDX-License-Identifier: Apache-2.0
"""Consort needs just what it imports; what only some commands need is an extra, named where it lacks."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from consort.base.packages import EXTRA_OF
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "consort"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TABLES = ROOT / "examples" / "automotive" / "system.yaml"
DRIVE = ROOT / "examples" / "drive" / "system.yaml"
# Parts of a library that is a distribution of their own, in the one version that fits.
COMES_WITH = {"markupsafe": "jinja2", "pydantic_core": "pydantic"}
# Libraries that another one imports when it is asked to, and does not declare: Dask's for its certificates.
ASKED_FOR = {"cryptography": "distributed"}
# These are not in an installation: the command that imports them says that it needs the source tree.
OF_THE_TREE = {"consort_bench"}


def imports(file: Path) -> Iterator[str]:
    """The libraries that a module imports when it is used; what only a type checker imports is left out."""
    pending: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]
        pending += ast.iter_child_nodes(node)


@cache
def imported() -> set[str]:
    return {name for file in PACKAGE.rglob("*.py") for name in imports(file)} - {"consort", *OF_THE_TREE}


@cache
def libraries() -> set[str]:
    return imported() - set(sys.stdlib_module_names)


# Which distribution a library comes from; `google` and the like come from several.
FROM = {name: {canonicalize_name(one) for one in found} for name, found in packages_distributions().items()}


REMOTE = ROOT / "remote-memory"


def named(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in requirements}


NEEDED = named(PROJECT["dependencies"])
EXTRAS = {name: named(lines) for name, lines in PROJECT["optional-dependencies"].items()}


def test_every_dependency_is_imported() -> None:
    used = set().union(*(FROM[name] for name in libraries() - EXTRA_OF.keys()))
    assert NEEDED - used == set()


def test_every_import_is_declared() -> None:
    undeclared = {name for name in libraries() - EXTRA_OF.keys() if not FROM[name] & NEEDED}
    assert {name for name in undeclared if COMES_WITH.get(name) not in NEEDED} == set()


def test_what_an_extra_brings_is_named_by_it() -> None:
    for name, extra in EXTRA_OF.items():
        assert FROM[name] & EXTRAS[extra], f"{name} comes with no extra {extra}"
    brought = set().union(*(FROM[name] for name in EXTRA_OF))
    for extra in set(EXTRAS) - {"all", "dev"}:
        asked = {name for name, library in ASKED_FOR.items() if library in EXTRAS[extra]}
        assert asked <= EXTRAS[extra], f"{extra} lacks what its libraries ask for"
        assert EXTRAS[extra] <= brought | asked, f"nothing of Consort imports what {extra} brings"
    every = Requirement(PROJECT["optional-dependencies"]["all"][0])
    assert every.extras == set(EXTRAS) - {"all", "dev"}


def test_remote_memory_is_no_part_of_an_installation_without_it() -> None:
    assert "consort_remote" not in imported()
    assert REMOTE.name not in (ROOT / "engine" / "CMakeLists.txt").read_text(encoding="utf-8")


def test_remote_memory_declares_what_it_imports() -> None:
    project = tomllib.loads((REMOTE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = named(project["dependencies"])
    used = {name for file in (REMOTE / "python").rglob("*.py") for name in imports(file)}
    used -= {"consort_remote", *sys.stdlib_module_names}
    assert "consort" in used
    found = {name: {"consort-rt"} if name == "consort" else FROM[name] for name in used}
    assert all(found[name] & needed for name in used), found
    assert needed <= set().union(*found.values())


def test_remote_memory_takes_little_of_consort() -> None:
    """It imports the base, the command line and quantities: no plan, no run."""
    taken = {
        match[1]
        for file in (REMOTE / "python").rglob("*.py")
        for match in re.finditer(r"from consort\.(\w+)\.", file.read_text(encoding="utf-8"))
    }
    assert taken == {"base", "commands", "model"}


def without(libraries: set[str], *arguments: str, call: str = "") -> subprocess.CompletedProcess[str]:
    """A command, or a line of Python, where these libraries are not installed."""
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {libraries!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    ) + (call or "from consort.cli import main\nmain(sys.argv[1:])\n")
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("library", "arguments"),
    [
        ("ortools", ["place", str(DRIVE)]),
        ("devicetree", ["import", str(ROOT / "tests/python/exchange/none.dts"), "-o", "OUT"]),
        (
            "elftools",
            ["generate", str(TABLES), "--for", "scratchpad", "--object", f"ttsprk={sys.executable}"],
        ),
        ("scipy", ["compare", "latest", "latest"]),
        ("dask", ["sweep", str(ROOT / "bench/sweeps/bench.yaml"), "--out", "OUT"]),
    ],
)
def test_a_command_names_the_extra_that_lacks(library: str, arguments: list[str], tmp_path: Path) -> None:
    given = [str(tmp_path / "out") if one == "OUT" else one for one in arguments]
    ended = without({library}, *given)
    assert (ended.returncode, ended.stdout) == (3, ""), ended.stderr
    line = f"pip install 'consort-rt[{EXTRA_OF[library]}]'"
    assert ended.stderr == f"consort: this needs {library}, which is not installed; {line}\n"


def test_a_call_names_the_extra_that_lacks() -> None:
    ended = without({"ortools"}, call=f"import consort\nconsort.place(consort.load({str(DRIVE)!r}))\n")
    assert (
        "EnvironmentLacks: this needs ortools, which is not installed; pip install 'consort-rt[place]'"
        in (ended.stderr)
    )


@pytest.mark.representative
def test_check_analyze_and_plan_need_no_extra() -> None:
    for arguments in (["check", str(DRIVE), "--for", "linux"], ["analyze", str(DRIVE)], ["plan", str(DRIVE)]):
        ended = without(set(EXTRA_OF), *arguments)
        assert (ended.returncode, ended.stderr) == (0, ""), arguments


def test_a_simulation_without_plots_keeps_its_record(tmp_path: Path) -> None:
    ended = without(set(EXTRA_OF), "simulate", str(DRIVE), "--duration", "2ms", "--root", str(tmp_path))
    # Undecided: it is too short for all to be seen.
    assert ended.returncode == 4, ended.stderr
    assert ended.stderr == ""
    assert len(list(tmp_path.glob("*/run.json"))) == 1
    ended = without(set(EXTRA_OF), "report", "latest", "--root", str(tmp_path))
    assert (ended.returncode, "pip install 'consort-rt[plots]'" in ended.stderr) == (3, True)
