# SPDX-License-Identifier: Apache-2.0
"""The list of skips is that of the sources, and what reads it finds a skip that is not allowed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import check_skips
import pytest

ROOT = check_skips.ROOT
# Ways to skip in Python and in C++, and in CMake the function for a test that cannot be built.
SKIP = re.compile(
    r"\bpytest\.skip\(|\bmark\.skip(?:if)?\(|\bimportorskip\(|\bunittest\.skip|^\s*GTEST_SKIP\(\)"
    r"|^\s+consort_skip\(",
    re.MULTILINE,
)


def test_every_place_that_skips_is_listed_and_every_entry_has_its_place() -> None:
    here = Path(__file__).relative_to(ROOT)
    found: Counter[str] = Counter()
    files = [*(ROOT / "tests").rglob("*"), *(ROOT / "remote-memory" / "tests").rglob("*")]
    for file in sorted(p for p in files if p.suffix in (".py", ".cpp", ".hpp", ".txt")):
        inside = file.relative_to(ROOT)
        if inside != here and "__pycache__" not in inside.parts:
            found[str(inside)] = len(SKIP.findall(file.read_text(encoding="utf-8")))
    listed: Counter[str] = Counter()
    for entry in check_skips.sites():
        listed[entry["file"]] += entry.get("sites", 1)
    assert +found == listed
    assert sum(listed.values()) > 30


JUNIT_PYTHON = """<testsuites><testsuite><testcase classname="a" name="b">
<skipped type="pytest.skip" message="{words}">{root}/{file}:7: {words}</skipped>
</testcase></testsuite></testsuites>"""
JUNIT_CTEST = """<testsuite><testcase name="A.B" classname="A.B" status="notrun">
<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>[ RUN      ] A.B
{root}/{file}:35: Skipped
{words}
[  SKIPPED ] A.B (0 ms)
</system-out></testcase></testsuite>"""


def check(tmp_path: Path, text: str, name: str = "test-gcc.xml") -> subprocess.CompletedProcess[str]:
    junit = tmp_path / name
    junit.write_text(text, encoding="utf-8")
    command = [sys.executable, str(ROOT / "tools" / "check_skips.py"), str(junit)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("form", [JUNIT_PYTHON, JUNIT_CTEST])
@pytest.mark.parametrize(
    ("file", "words", "name", "said"),
    [
        ("tests/linux/test_realtime.cpp", "a sanitizer replaces mlockall by nothing", "test-tsan.xml", ""),
        (
            "tests/linux/test_realtime.cpp",
            "a sanitizer replaces mlockall by nothing",
            "test-gcc.xml",
            "'sanitizer'",
        ),
        ("tests/draw/test_x.py", "too busy", "test-python.xml", "not in tests/skips.toml"),
        ("tests/python/draw/test_diagram.py", "too busy", "test-python.xml", "not in tests/skips.toml"),
        ("tests/python/draw/test_diagram.py", "no browser", "test-python.xml", "'never'"),
    ],
)
def test_skips_are_judged_by_where_they_are(
    form: str, file: str, words: str, name: str, said: str, tmp_path: Path
) -> None:
    done = check(tmp_path, form.format(root=ROOT, file=file, words=words), name)
    assert done.returncode == (1 if said else 0), done.stderr
    assert said in done.stderr


def test_a_skip_without_a_place_is_unexpected(tmp_path: Path) -> None:
    done = check(
        tmp_path, '<testsuite><testcase name="A" classname="A"><skipped message="x"/></testcase></testsuite>'
    )
    assert done.returncode == 1


def test_what_pytest_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.fixture\ndef f(): pytest.skip('in a fixture')\ndef test_f(f): pass\n"
        "@pytest.mark.skipif(True, reason='by a mark')\ndef test_m(): pass\n"
        "def test_t(): pytest.skip('in a test')\n@pytest.mark.xfail\ndef test_x(): assert False\n",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
        "-c",
        "/dev/null",
    ]
    subprocess.run(
        [*command, f"--junitxml={tmp_path / 'j.xml'}", str(tmp_path)], check=True, capture_output=True
    )
    found = list(check_skips.skips(tmp_path / "j.xml"))
    assert [(Path(s.file).name, s.words) for s in found] == [
        ("test_it.py", "in a fixture"),
        ("test_it.py", "by a mark"),
        ("test_it.py", "in a test"),
    ]


# A crate is asked for by building it.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "no-crate" else ())
        for name in sorted(check_skips.CONDITIONS.keys() - {"no-kernel"})
    ],
)
def test_each_condition_can_be_asked(name: str) -> None:
    skip = check_skips.Skip("a", "b", "c", Path("test-gcc.xml"))
    assert check_skips.CONDITIONS[name](skip) in (True, False)


@pytest.mark.parametrize("path", ["tests/a.cpp", "../../tests/a.cpp", str(ROOT / "tests" / "a.cpp")])
def test_a_source_is_known_however_its_compiler_named_it(path: str) -> None:
    assert check_skips.within(path) == "tests/a.cpp"


def test_tests_that_ended_before_they_wrote_a_file_are_no_skips(tmp_path: Path) -> None:
    assert list(check_skips.skips(tmp_path / "test-gcc.xml")) == []
