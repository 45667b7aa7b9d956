# SPDX-License-Identifier: Apache-2.0
"""No test passes or fails by luck: by a limit of its own, a number that is drawn anew, or how many jobs the
machine served; and no program asks its compiler what a cache of compiled files cannot know.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = pytest.mark.representative

TESTS = Path(__file__).parents[2]
ROOT = TESTS.parent
REMOTE = ROOT / "remote-memory"
# It looks at tests that hang, and gives no test a limit.
NO_TEST = "tests/stacks.py"
LIMITS = ("timeout", "patience", "patience_s")
# A model's parameter; an attempt that is refused, at once or after so long.
NO_LIMITS_OF = ("world", "Client")
RANDOM = ("Random", "default_rng", "RandomState")

Rule = Callable[[ast.Module], Iterator[int]]


def name_of(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def number(node: ast.AST | None) -> bool:
    """True if an expression is made of nothing but numbers."""
    if isinstance(node, ast.BinOp):
        return number(node.left) and number(node.right)
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    )


def own_limits(tree: ast.AST) -> Iterator[int]:
    """Lines with a limit of time that is not that of effort.py."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if name_of(node) not in NO_LIMITS_OF:
                yield from (k.value.lineno for k in node.keywords if k.arg in LIMITS and number(k.value))
            if name_of(node) == "settimeout" and any(map(number, node.args)):
                yield node.lineno
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            if isinstance(node.left, ast.Call) and name_of(node.left) == "monotonic" and number(node.right):
                yield node.lineno
        elif isinstance(node, ast.arguments):
            named = [*node.posonlyargs, *node.args][-len(node.defaults) :] if node.defaults else []
            pairs = [
                *zip(named, node.defaults, strict=True),
                *zip(node.kwonlyargs, node.kw_defaults, strict=True),
            ]
            yield from (arg.lineno for arg, default in pairs if arg.arg in LIMITS and number(default))


def unseeded(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node) in RANDOM and not node.args and not node.keywords:
            yield node.lineno


@cache
def trees() -> dict[str, ast.Module]:
    """All Python files of the tests, by their paths."""
    files = [ROOT / "conftest.py", *sorted(TESTS.rglob("*.py")), *sorted((REMOTE / "tests").rglob("*.py"))]
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def places(rule: Rule) -> list[str]:
    return [f"{name}:{line}" for name, tree in trees().items() if name != NO_TEST for line in rule(tree)]


def served(node: ast.AST, known: set[str]) -> bool:
    """True if an expression is made of what a run recorded; all releases, with those skipped, are not."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in known:
            return True
        if isinstance(part, ast.Call) and not any(k.arg == "skipped" for k in part.keywords):
            names = [name for name in ast.walk(part) if isinstance(name, ast.Name)]
            if any(name.id == "found" for name in names) and name_of(part) not in ("len", "sum", "max"):
                return True
    return False


def assigned(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets and what they are given, also where several are given at once."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    yield from zip(target.elts, node.value.elts, strict=True)
                else:
                    yield target, node.value


def several(node: ast.AST) -> bool:
    """True if an expression of constants says more than that there is something."""
    constants = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    if any(not name.id.isupper() for name in names):
        return False
    return bool(names) or any(isinstance(c.value, int) and c.value > 3 for c in constants)


def counts(node: ast.AST) -> bool:
    """True if an expression counts: a length, a size, a last number."""
    if isinstance(node, ast.Attribute):
        return node.attr == "size"
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.UnaryOp)
    return isinstance(node, ast.Call) and name_of(node) in ("len", "sum")


def constant_counts(tree: ast.Module) -> Iterator[int]:
    """Lines of tests of the machine's own time that demand a constant number of what was served."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    # Fixtures, too.
    virtual = {function.name for function in functions if "target='virtual'" in ast.unparse(function)}
    marks = [node for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
    for function in functions:
        marked = any("mark.realtime" in ast.unparse(mark) for mark in [*marks, *function.decorator_list])
        if not marked or not function.name.startswith("test_"):
            continue
        if virtual & {function.name, *(argument.arg for argument in function.args.args)}:
            continue
        known: set[str] = set()
        for target, value in assigned(function):
            if served(value, known):
                known |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
        for node in ast.walk(function):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            for (left, right), operator in zip(pairwise(sides), node.ops, strict=True):
                more, less = (right, left) if isinstance(operator, (ast.Lt, ast.LtE)) else (left, right)
                both = ((more, less), (less, more)) if isinstance(operator, ast.Eq) else ((more, less),)
                if any(counts(a) and served(a, known) and several(b) for a, b in both):
                    yield node.lineno


def test_limits_of_time_are_those_of_effort() -> None:
    assert not places(own_limits), "take PATIENCE of tests/effort.py, or a multiple of it"
    cmake = [
        f"{file.relative_to(ROOT)}:{number}"
        for folder in (TESTS, REMOTE)
        for file in sorted(folder.rglob("CMakeLists.txt"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"TIMEOUT\s+\d", line)
    ]
    assert not cmake, "take ${CONSORT_PATIENCE}"


def test_what_is_drawn_has_a_seed() -> None:
    assert not places(unseeded), "a test that fails must fail again"


def test_no_count_of_jobs_is_demanded_of_this_machine() -> None:
    assert not places(constant_counts), "compare with what was served: found.jobs(NAME).size"


def test_what_a_compiler_finds_is_not_what_is_there() -> None:
    """The cache of compiled files does not see what __has_include saw: the build system decides."""
    asks = [
        str(file.relative_to(ROOT))
        for folder in f"bench engine examples experiments include ports python tests {REMOTE}".split()
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in (".c", ".cc", ".cpp", ".h", ".hpp", ".in", ".j2", ".tpl")
        and "__has_include" in file.read_text(encoding="utf-8", errors="replace")
    ]
    assert not asks, "look for it in CMake, as bench/channels does, and pass a definition"


class TestOfTheTests:
    """The checks find what they are for."""

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("run(x, timeout=900)", True),
            ("run(x, timeout=2 * 60.0)", True),
            ("process.communicate(timeout=5)", True),
            ("def call(a, timeout=300): pass", True),
            ("def call(*a, timeout: float = 300): pass", True),
            ("end = time.monotonic() + 10", True),
            ("end.settimeout(3)", True),
            ("run(x, timeout=2 * PATIENCE)", False),
            ("end = time.monotonic() + PATIENCE", False),
            ("world(timeout=10)", False),
        ],
    )
    def test_limits(self, text: str, found: bool) -> None:
        assert bool(list(own_limits(ast.parse(text)))) == found

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("random.Random()", True),
            ("np.random.default_rng()", True),
            ("random.Random(3)", False),
            ("np.random.default_rng(seed=seed)", False),
        ],
    )
    def test_seeds(self, text: str, found: bool) -> None:
        assert bool(list(unseeded(ast.parse(text)))) == found

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("outputs = whole(found)\n assert outputs['lines'][-1] >= JOBS - 8", True),
            ("assert len(values(found, 'faults')) > JOBS // 2", True),
            ("assert len(found.jobs('low')) >= 10", True),
            ("assert 10 <= found.jobs('low').size", True),
            ("a, b = found.jobs('a', skipped=True), found.jobs('a')\n assert a.size == 60", False),
            ("a, b = found.jobs('a', skipped=True), found.jobs('a')\n assert b.size == 60", True),
            ("assert found.jobs('low').size <= JOBS", False),
            ("assert found.jobs('low').size > 0", False),
            ("faults = values(found, 'faults')\n assert len(faults) > found.jobs('a').size // 2", False),
            ("found = ran(x, target='virtual')\n assert found.jobs('low').size == 60", False),
        ],
    )
    def test_counts(self, text: str, found: bool) -> None:
        assert (
            bool(list(constant_counts(ast.parse(f"@pytest.mark.realtime\ndef test_x():\n {text}")))) == found
        )
