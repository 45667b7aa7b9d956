# SPDX-License-Identifier: Apache-2.0
"""With little memory, or a full disk, a command works or says what it lacks: no traceback, and no hang."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from consort.cli import COMMANDS, LEAST, LEAST_FOR_TABLES, TABLES, lacks_memory
from effort import PATIENCE

CONSORT = Path(sys.executable).with_name("consort")
ROOT = Path(__file__).parents[3]
SERVO = ROOT / "examples" / "servo" / "system.yaml"
FIGURE = ROOT / "experiments" / "spm-centric-os" / "figure7" / "sweep.yaml"


def limited(mib: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))

    return subprocess.run(
        [str(CONSORT), *arguments], capture_output=True, text=True, timeout=PATIENCE, preexec_fn=limit
    )


@pytest.mark.parametrize("name", TABLES)
def test_commands_that_read_tables_ask_for_their_memory(name: str) -> None:
    arguments = {"compare": ["a", "b"], "report": ["latest"], "runs": []}.get(name, [str(SERVO)])
    done = limited(600, name, *arguments)
    assert done.returncode == 3, done.stderr
    assert f"needs an address space of {LEAST_FOR_TABLES >> 20} MiB, and 600 MiB are allowed" in done.stderr
    assert "Traceback" not in done.stderr


UNDER = (LEAST >> 20) - 1


@pytest.mark.parametrize(
    ("name", "mib"),
    [("check", 60), ("check", 90), ("check", 300)]
    + [(name, UNDER) for name in sorted(set(COMMANDS) - set(TABLES))],
)
def test_the_others_ask_for_theirs(name: str, mib: int) -> None:
    done = limited(mib, name, str(SERVO))
    assert done.returncode == 3, done.stderr
    assert f"needs an address space of {LEAST >> 20} MiB, and {mib} MiB are allowed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("check", str(SERVO)), ("plan", str(SERVO)), ("schema",), ("board",)])
def test_what_they_ask_for_is_enough(arguments: tuple[str, ...]) -> None:
    done = limited(LEAST >> 20, *arguments)
    assert done.returncode == (2 if arguments == ("board",) else 0), done.stderr  # `board` prints its help


COMPILE = ("check", "--compile", str(SERVO))
SWEEP = ("sweep", str(FIGURE), "--workers", "1", "--out", "{new}")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
@pytest.mark.parametrize(
    ("arguments", "most"),
    [(("simulate", str(SERVO), "--root", "{new}"), most) for most in (1, 2, 3)]
    # With more than one these compute and compile for some time before they lack another.
    + [
        pytest.param(words, most, marks=pytest.mark.slow if most > 1 else ())
        for words in (SWEEP, COMPILE)
        for most in (1, 2, 3)
    ],
)
def test_few_processes_and_threads(tmp_path: Path, arguments: tuple[str, ...], most: int) -> None:
    """The library of linear algebra interrupts a process that gets no threads."""
    # What a folder allows is asked of the real user.
    tmp_path.chmod(0o777)
    words = [word.format(new="new") for word in arguments]
    # Root has no limit of processes; this is root's files and nobody's limit.
    nobody = ["setpriv", "--ruid", "65534", "--euid", "0", "--bounding-set=-sys_resource,-sys_admin"]
    done = subprocess.run(
        [*nobody, "prlimit", f"--nproc={most}", str(CONSORT), *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "CONSORT_CACHE": str(tmp_path / "cache")},
        cwd=tmp_path,
    )
    # Programs of nobody's may have used up what there is, and a machine of one processor needs fewer.
    assert done.returncode in (0, 3), done.stderr
    assert "Traceback" not in done.stderr and "interrupted" not in done.stderr
    if most == 1 and done.returncode:
        assert "(ulimit -u)" in done.stderr


USES_ALL = """
import resource, sys
from consort import cli

def command(**_):
    mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (100 << 20),) * 2)
    kept = []
    while True:
        kept.append(bytearray(3000))

cli.cli.main = command
cli.main([])
"""


def test_memory_that_is_used_up_in_small_pieces() -> None:
    """No thread gets its stack then, and yet it is not threads that lack."""
    done = subprocess.run([sys.executable, "-c", USES_ALL], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3 and "there is too little memory for this" in done.stderr, done.stderr


def test_what_is_a_lack_of_memory() -> None:
    loaded = ImportError("x.so: failed to map segment from shared object")
    outer = RuntimeError("the library cannot be loaded")
    outer.__cause__ = loaded
    for error in (MemoryError(), OSError(12, "Cannot allocate memory"), loaded, outer):
        assert lacks_memory(error)
    for error in (OSError(2, "No such file"), ImportError("No module named x"), RuntimeError("x"), None):
        assert not lacks_memory(error)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    arguments = ["simulate", str(SERVO), "--duration", "1ms", "--root", str(root)]
    subprocess.run([str(CONSORT), *arguments], capture_output=True, timeout=PATIENCE, check=True)
    return root


# No file may grow: each command fails where it writes, as on a disk that is full.
WRITING = {
    "simulate": ["simulate", str(SERVO), "--duration", "1ms", "--root", "{new}"],
    "report": ["report", "latest", "--root", "{recorded}", "--output", "{new}/page.html"],
    "runs export": ["runs", "export", "latest", "--root", "{recorded}", "--csv", "{new}"],
    "show": ["show", str(SERVO), "--output", "{new}/picture.svg"],
    "export": ["export", str(SERVO), "--to", "amalthea", "-o", "{new}/model.amxmi"],
    "init": ["init", "{new}"],
}


@pytest.mark.parametrize("name", WRITING)
def test_a_disk_that_is_full(recorded: Path, tmp_path: Path, name: str) -> None:
    new = tmp_path / "new"
    new.mkdir()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    arguments = [word.format(new=new, recorded=recorded) for word in WRITING[name]]
    done = subprocess.run(
        [str(CONSORT), *arguments], capture_output=True, text=True, timeout=PATIENCE, preexec_fn=limit
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.rstrip().endswith("(ulimit -f)")
    assert "Traceback" not in done.stderr
    assert not [path for path in new.rglob("*") if path.is_file() and path.stat().st_size], "half of a file"
    assert name != "init" or not list(new.iterdir())


@pytest.mark.parametrize("arguments", [("check", str(SERVO)), ("schema",), ("--help",)])
def test_an_output_that_has_no_room(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [str(CONSORT), *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
        )
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("consort: no space left on device; ")
    assert done.stderr.count("\n") == 1


DELETED = 'cd "$0" && rmdir "$0" && exec "$@"'


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", str(SERVO), "--duration", "1ms"),
        ("sweep", str(FIGURE)),
        ("init",),
        ("probe", "--seconds", "0.05", "--samples", "100"),
    ],
)
def test_a_working_folder_that_was_deleted(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    done = subprocess.run(
        ["sh", "-c", DELETED, str(folder), str(CONSORT), *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode in (2, 3) and "Traceback" not in done.stderr, done.stderr
    assert "the working folder was deleted" in done.stderr


def test_a_command_that_needs_no_working_folder_works_without(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    arguments = ["simulate", str(SERVO), "--duration", "1ms", "--root", str(tmp_path / "runs")]
    done = subprocess.run(
        ["sh", "-c", DELETED, str(folder), str(CONSORT), *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("most", [12, 14, 18, 28, 59])
def test_few_open_files(tmp_path: Path, most: int) -> None:
    """What libraries' finalizers say when they lack files is not shown, and Dask's time-outs are not waited
    for."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    done = subprocess.run(
        [str(CONSORT), "sweep", str(FIGURE), "--out", str(tmp_path / "out"), "--workers", "1"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=limit,
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("consort: ") and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.rstrip().endswith("(ulimit -n)")
    needed = "60 open files are needed for 1 worker process," in done.stderr
    assert needed or most < 20, "Dask is not begun with fewer than it needs"


def test_a_soft_limit_of_open_files_is_raised() -> None:
    ask = (
        "import resource; from consort.sweep.cluster import _allow_files; _allow_files(64, 1);"
        " print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 100))

    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, preexec_fn=limit)
    assert said.stdout == "(64, 100)\n", said.stderr
