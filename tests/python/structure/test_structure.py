# SPDX-License-Identifier: Apache-2.0
"""The package's parts import each other in one direction, and name no file of examples or benchmarks.

Both hold but for what ratchet.toml lists, which may only shrink.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = pytest.mark.representative

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PACKAGE = ROOT / "python" / "consort"
RATCHET = tomllib.loads((HERE / "ratchet.toml").read_text(encoding="utf-8"))
FOLDERS = ("examples", "experiments", "bench")

Graph = dict[str, dict[str, list[str]]]


def part_of(file: Path, package: Path) -> str:
    """The sub-package, or the module beside them, that a file belongs to."""
    inside = file.relative_to(package)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imported(
    tree: ast.AST, module: tuple[str, ...], is_package: bool
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The dotted names that a module imports, those inside of functions too, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield tuple(name.name.split(".")), node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                up = node.level - (1 if is_package else 0)
                base = module[: len(module) - up] + base
            for name in node.names:
                yield (*base, name.name), node.lineno


def import_graph(package: Path) -> Graph:
    """For each part the other parts that it imports, with the places where it does."""
    graph: Graph = {}
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package)
        module = (package.name, *inside.with_suffix("").parts)
        is_package = module[-1] == "__init__"
        if is_package:
            module = module[:-1]
        part = part_of(file, package)
        edges = graph.setdefault(part, {})
        for name, line in imported(ast.parse(file.read_text(encoding="utf-8")), module, is_package):
            if name[0] == package.name and len(name) > 1 and name[1] != part:
                to = name[1]
                if (package / to).is_dir() or (package / f"{to}.py").is_file():
                    edges.setdefault(to, []).append(f"{inside}:{line}")
    return graph


def without(graph: Graph, edges: set[str]) -> dict[str, set[str]]:
    return {part: {to for to in found if f"{part} -> {to}" not in edges} for part, found in graph.items()}


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """The parts along a cycle, the first one again at its end; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # The sorter's edges go from what is imported to what imports it.
        return list(reversed(error.args[1]))
    return []


def check(graph: Graph, listed: set[str]) -> None:
    found = cycle(without(graph, listed))
    places = [graph[a][b][0] for a, b in pairwise(found)]
    assert not found, f"a new cycle: {' -> '.join(found)} ({', '.join(places)})"
    for edge in sorted(listed):
        a, b = edge.split(" -> ")
        assert b in graph.get(a, {}), f"{edge} is imported no more: take it out of {HERE.name}/ratchet.toml"
        assert cycle(without(graph, listed - {edge})), f"{edge} closes no cycle: take it out of ratchet.toml"


def test_the_list_of_unsteady_tests_names_tests_that_exist_and_does_not_grow() -> None:
    """Tests of real time that are known to pass only when they are run again."""
    listed = (ROOT / "tests" / "unsteady.txt").read_text(encoding="utf-8").splitlines()
    assert len(listed) <= RATCHET["unsteady"]
    for line in listed:
        place, _, name = line.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / place).read_text(encoding="utf-8"), line


def test_each_planted_defect_has_its_line_once() -> None:
    """tests/mutants.toml: the defects with which `make test` must turn red."""
    listed = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    assert len(listed) >= 12
    for mutant in listed:
        assert mutant["right"] != mutant["wrong"]
        assert (ROOT / mutant["file"]).read_text(encoding="utf-8").count(mutant["right"]) == 1, mutant["name"]


def test_imports_close_no_cycle_but_those_known() -> None:
    graph = import_graph(PACKAGE)
    assert len(graph) > 10 and graph["commands"], "the graph is that of the package"
    check(graph, set(RATCHET["cycles"]))


def named(text: str) -> list[int]:
    """The lines in which a module's text names a file of one of the folders: in comments too."""
    of_path = re.compile(rf"(?<![\w./-])({'|'.join(FOLDERS)})/[\w<*]")
    lines = [text.count("\n", 0, found.start()) + 1 for found in of_path.finditer(text)]
    for node in ast.walk(ast.parse(text)):
        # root / "bench" / "board"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            right, left = node.right, node.left
            above = left.right if isinstance(left, ast.BinOp) else None
            # build/bench is a folder of the build.
            built = isinstance(above, ast.Constant) and above.value == "build"
            if isinstance(right, ast.Constant) and right.value in FOLDERS and not built:
                lines.append(right.lineno)
    return sorted(lines)


def test_the_base_imports_no_sub_package() -> None:
    assert set(import_graph(PACKAGE)["base"]) == set()


def test_no_file_names_examples_experiments_or_benchmarks_but_those_known() -> None:
    found: Counter[str] = Counter()
    places = []
    for file in sorted(PACKAGE.rglob("*.py")):
        inside = str(file.relative_to(PACKAGE))
        for line in named(file.read_text(encoding="utf-8")):
            found[inside] += 1
            places.append(f"{inside}:{line}")
    listed = Counter(RATCHET["names"])
    grown = {file: count for file, count in found.items() if count > listed[file]}
    assert not grown, (
        f"names of files in {', '.join(FOLDERS)}: {[p for p in places if p.partition(':')[0] in grown]};"
        " take the path from the caller"
    )
    shrunk = {file: found[file] for file, count in listed.items() if found[file] < count}
    assert not shrunk, f"fewer than listed: write what is left into ratchet.toml: {shrunk}"


class TestOfTheTests:
    """The checks find what they are for."""

    @pytest.fixture
    def package(self, tmp_path: Path) -> Path:
        texts = {
            "one/__init__.py": "",
            "one/a.py": "from consort.two import b\n",
            "two/__init__.py": "from . import b\n",
            "two/b.py": "def f():\n    import consort.three\n",
            "three.py": "x = 1\n",
        }
        for name, text in texts.items():
            file = tmp_path / "consort" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return tmp_path / "consort"

    def test_a_cycle_through_a_function_and_a_relative_import(self, package: Path) -> None:
        graph = import_graph(package)
        assert {part: set(to) for part, to in graph.items()} == {
            "one": {"two"},
            "two": {"three"},
            "three": set(),
        }
        check(graph, set())
        (package / "three.py").write_text("from .one import a\n", encoding="utf-8")
        with pytest.raises(AssertionError, match=r"a new cycle: .*three.py:1"):
            check(import_graph(package), set())
        check(import_graph(package), {"three -> one"})

    def test_a_stale_entry(self, package: Path) -> None:
        with pytest.raises(AssertionError, match="imported no more"):
            check(import_graph(package), {"three -> one"})
        with pytest.raises(AssertionError, match="closes no cycle"):
            check(import_graph(package), {"one -> two"})

    @pytest.mark.parametrize(
        ("text", "lines"),
        [
            ('"""of examples/servo"""\n# bench/board\n', [1, 2]),
            ('x = root / "examples" / "servo"\n', [1]),
            ('x = f"{root}"\ny = "examples/servo/system.yaml"\n', [2]),
            ('x = "see my-examples/x and ../bench/y"\n', []),
            ('x = {"bench": 1, "examples": []}\n', []),
            ('x = root / "build" / "bench"\n', []),
            ('x = root / "examples" / "servo" / "bench"\n', [1, 1]),
            ("# the examples/ of it\n", []),
            ("x = f'{a} experiments/remap/b'\n", [1]),
        ],
    )
    def test_names(self, text: str, lines: list[int]) -> None:
        assert named(text) == lines


def test_no_duration_is_measured_by_a_clock_that_is_set() -> None:
    """A clock that is set an hour on or back ends no wait and prolongs none."""
    clocks = re.compile(
        r"time\.time\(|system_clock|high_resolution_clock|gettimeofday|CLOCK_REALTIME|CLOCK_TAI|"
        r"sem_timedwait|_timedlock|pthread_cond_timedwait|\btime\((nullptr|NULL|0)\)"
    )
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for folder in ("python", "include", "ports", "remote-memory")
        for ending in ("py", "hpp", "cpp", "h", "c")
        for file in sorted((ROOT / folder).rglob(f"*.{ending}"))
        if "tests" not in file.relative_to(ROOT).parts
        for match in clocks.finditer(file.read_text(encoding="utf-8", errors="replace"))
    ]
    # How old a build is, which no process waits for: files have no other clock.
    assert found == ["python/consort/base/toolchain/builds.py: time.time("] * 2
