# SPDX-License-Identifier: Apache-2.0
"""run_tests.py check|test|slow: sets up what the tests need, runs every stage, and ends with one table.

A stage that fails does not end the run: all failures stand together at the end; the logs are in build/tests.
Exit status 0 when all passed, 1 when a stage failed, 2 for a wrong command line, 3 when the set-up failed (no
network, no package): that is the machine's, and no test is called red for it. tests/README.md has the tiers.
A stage of `slow` that passed is not run again while the committed tree is the same.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import costs  # noqa: E402
import effort  # noqa: E402
import stacks  # noqa: E402

PYTHON = ROOT / ".venv" / "bin" / "python"
LOGS = ROOT / "build" / "tests"
TIMES = ROOT / "build" / "test-times.json"
SAMPLE = ROOT / "tests" / "sample"
UNSTEADY = ROOT / "tests" / "unsteady.txt"
PASSED = LOGS / "passed.json"
# CTest ends a test that hangs after PATIENCE; its stacks are taken before.
HANGS_AFTER_S = effort.PATIENCE - 20
SETUP_TRIES = 3
# How often `make test-slow` runs the tests of real time beside each load, and how often in one stage.
REPEATED = 30
AT_ONCE = 5
ENVIRONMENT_LACKS = 3


@dataclass
class Stage:
    """One step of the run: commands that follow one another until one of them fails."""

    name: str
    commands: list[list[str]]
    # JUnit files that the commands write.
    results: list[Path] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    # Busy loops that run beside it.
    load: int = 0
    # Lines of the log that are shown when it is over.
    shown: int = 1
    # The stage before that has to pass, or this one is not run.
    needs: str | None = None
    # No test of real time runs beside it; the Python tests see to that themselves.
    disturbs: bool = False

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name.replace(' ', '-')}.log"


def dump_hanging(root: int, log: Path, ended: threading.Event) -> None:
    """Writes where the processes of a test stand that is about to be ended as one that hangs."""
    written: set[int] = set()
    while not ended.wait(5.0):
        processes = stacks.below(root)
        parents = {each.parent for each in processes}
        for each in processes:
            # A process without children of its own is the test, or what it waits for.
            if each.pid not in parents and each.pid not in written and each.age_s > HANGS_AFTER_S:
                written.add(each.pid)
                with log.open("a", encoding="utf-8") as out:
                    print(f"\nit hangs:\n{stacks.standing(each)}", file=out, flush=True)


@dataclass
class Ended:
    """How a stage or one command of it ended: its status, and the CPU time of all its processes [s]."""

    status: int
    cpu_s: float


class Disturbing:
    """Held while a stage disturbs: tests of real time wait until none does."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._stages = 0
        self._held = -1

    def __enter__(self) -> None:
        with self._mutex:
            # A process has such a lock once, however often it takes it.
            if self._stages == 0:
                self._held = effort.lock(effort.REALTIME, exclusive=False)
            self._stages += 1

    def __exit__(self, *_: object) -> None:
        with self._mutex:
            self._stages -= 1
            if self._stages == 0:
                os.close(self._held)


def run(stage: Stage) -> Ended:
    """Runs the commands of a stage into its log; the status is that of the first that fails, or 0."""
    stage.log.unlink(missing_ok=True)
    for result in stage.results:
        result.unlink(missing_ok=True)
    beside = subprocess.Popen(["stress-ng", "--quiet", "--cpu", str(stage.load)]) if stage.load else None
    try:
        spent = 0.0
        for command in stage.commands:
            ended = _ended(stage, command)
            spent += ended.cpu_s
            if ended.status:
                return Ended(ended.status, spent)
        return Ended(0, spent)
    finally:
        if beside is not None:
            beside.terminate()
            beside.wait()


def _ended(stage: Stage, command: list[str]) -> Ended:
    """Runs one command of a stage to its end."""
    with stage.log.open("ab") as out:
        started = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | stage.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        ended = threading.Event()
        # A compiler that is old does not hang: the machine is busy.
        if "ctest" in command:
            watched = (started.pid, stage.log, ended)
            threading.Thread(target=dump_hanging, args=watched, daemon=True).start()
        try:
            _, status, usage = os.wait4(started.pid, 0)
            # Popen has not seen the end, and must not wait for it.
            started.returncode = os.waitstatus_to_exitcode(status)
            return Ended(started.returncode, usage.ru_utime + usage.ru_stime)
        finally:
            ended.set()


def tail(log: Path, lines: int, leave_out: Callable[[str], bool] = lambda _: False) -> str:
    """The last lines of a log that are worth reading."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join([line for line in text if line.strip() and not leave_out(line)][-lines:])


def set_up(steps: Sequence[tuple[str, list[str]]]) -> None:
    """All that the stages need from elsewhere; ends the program with status 3 where it cannot be had."""
    for name, command in steps:
        for attempt in range(1, SETUP_TRIES + 1):
            stage = Stage(f"set-up {name}", [command])
            begun = time.monotonic()
            if run(stage).status == 0:
                said = tail(stage.log, 3)
                if said:
                    print(said)
                if (took := time.monotonic() - begun) > 5:
                    print(f"set-up: {name}, {took:.0f} s", flush=True)
                break
            print(f"set-up: {name} failed, attempt {attempt} of {SETUP_TRIES}", flush=True)
            if attempt < SETUP_TRIES:
                time.sleep(10 * attempt)
        else:
            print(tail(stage.log, 20))
            print(f"environment: {name} cannot be set up here; no test was run (the log is {stage.log})")
            sys.exit(ENVIRONMENT_LACKS)


def quiet(line: str) -> bool:
    """A line of ctest about a test that passed."""
    return (" Passed " in line and line.rstrip().endswith("sec")) or line.lstrip().startswith("Start ")


def cases(results: Sequence[Path]) -> tuple[int, int, int, list[str]]:
    """Passed, failed and skipped of JUnit files, and the names of those that failed."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    names = []
    for path in results:
        if not path.exists():
            continue
        # A test that was run again stands there for each time; the last one counts.
        found: dict[str, str] = {}
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            failed = case.find("failure") is not None or case.find("error") is not None
            skipped = case.find("skipped") is not None or case.get("status") == "notrun"
            result = "failed" if failed else "skipped" if skipped else "passed"
            found[f"{case.get('classname')}::{case.get('name')}"] = result
        for name, result in found.items():
            counts[result] += 1
            if result == "failed":
                names.append(name)
    return counts["passed"], counts["failed"], counts["skipped"], names


def built(preset: str, target: str | None = None) -> Stage:
    """One preset configured and built: all of it, or a target."""
    command = ["tools/build-preset.sh", preset, *([target] if target else [])]
    return Stage(f"build {preset}", [command], disturbs=True)


def tested(preset: str, label: str | None = None) -> Stage:
    """The tests of a preset that is built: all of them, or those of a label."""
    result = LOGS / f"test-{preset}.xml"
    # Many of them wait: for a patience, for a process that they stopped.
    beside = 2 * (os.cpu_count() or 1)
    test = ["ctest", "--preset", preset, "--output-on-failure", "-j", str(beside)]
    test += ["--no-tests=error", "--output-junit", str(result), *(["-L", label] if label else [])]
    # Some kernels place mappings where ThreadSanitizer cannot work; without randomisation they never do.
    wrapper = ["setarch", "-R"] if preset == "tsan" else []
    return Stage(f"test {preset}", [[*wrapper, *test]], [result], needs=f"build {preset}", disturbs=True)


def python(tier: str) -> Stage:
    """The Python tests of a tier, side by side but for those of real time (conftest.py)."""
    result = LOGS / "test-python.xml"
    # One more than there are processors: whoever wants the machine alone waits, and boards wait, too.
    processes = (os.cpu_count() or 1) + 1
    command = [str(PYTHON), "-m", "pytest", "-q", "-n", str(processes), "--dist", "loadfile"]
    command += ["--no-loadscope-reorder", "--tier", tier, "--durations=15", f"--junitxml={result}"]
    environment = {"CONSORT_COSTS": str(costs.found(tier))}
    if tier == "slow":
        environment["CONSORT_THOROUGH"] = "1"
    return Stage("python", [command], [result], environment, shown=2)


def real_time(load: int, first: int) -> Stage:
    """The tests of real time some times over, beside busy loops."""
    command = [str(PYTHON), "-m", "pytest", "-q", "-m", "realtime and not slow"]
    results = [LOGS / f"test-load{load}-{n}.xml" for n in range(first, first + AT_ONCE)]
    repeated = [[*command, f"--junitxml={result}"] for result in results]
    return Stage(f"load {load} #{first}", repeated, results, load=load)


def skips(stages: Sequence[Stage]) -> Stage:
    """Skips that tests/skips.toml does not allow here."""
    found = [str(result) for stage in stages for result in stage.results]
    return Stage("skips", [[str(PYTHON), "tools/check_skips.py", *found]])


def lint(*part: str) -> Stage:
    """Formatters, linters and mypy: all of them, or a part that tools/lint.sh knows."""
    return Stage("lint", [["tools/lint.sh", *part]], disturbs=True)


def lanes_of(tier: str) -> list[list[Stage]]:
    """The stages of a tier: those of one lane one after the other, the lanes beside each other.

    mypy has one processor, tests wait for what they stopped, and compilers take all that others leave.
    """
    if tier == "check":
        return [[lint("changed"), python("check")], [built("gcc", "quick_tests"), tested("gcc", "^quick$")]]
    if tier == "test":
        cpp = [of(preset) for preset in ("others", "asan", "tsan") for of in (built, tested)]
        return [[lint("quick"), python("test")], cpp]
    alone = [lint()]
    alone += [of(preset) for preset in ("gcc", "clang", "asan", "tsan") for of in (built, tested)]
    alone += [python("slow"), Stage("mutants", [[str(PYTHON), "tools/mutants.py"]])]
    alone += [real_time(load, first) for load in (0, 4, 12) for first in range(0, REPEATED, AT_ONCE)]
    return [alone]


def run_lanes(lanes: Sequence[Sequence[Stage]]) -> Iterator[tuple[Stage, Ended, float]]:
    """Runs the stages; yields each as it ends, with how it ended and how long it took [s]."""
    disturbing = Disturbing()
    done: queue.SimpleQueue[tuple[Stage, Ended, float] | BaseException] = queue.SimpleQueue()

    def run_lane(lane: Sequence[Stage]) -> None:
        failed: set[str] = set()
        try:
            for stage in lane:
                started = time.monotonic()
                if stage.needs in failed:
                    stage.log.write_text(f"not run: {stage.needs} failed\n", encoding="utf-8")
                    ended = Ended(1, 0.0)
                else:
                    print(f"-- {stage.name} begins\n", end="", flush=True)
                    with disturbing if stage.disturbs else contextlib.nullcontext():
                        ended = run(stage)
                if ended.status:
                    failed.add(stage.name)
                done.put((stage, ended, time.monotonic() - started))
        except BaseException as raised:
            done.put(raised)

    for lane in lanes:
        threading.Thread(target=run_lane, args=(lane,), daemon=True).start()
    for _ in range(sum(map(len, lanes))):
        result = done.get()
        if isinstance(result, BaseException):
            raise result
        yield result


def committed() -> str | None:
    """The hash of the tree; None where it has changes that are not committed."""

    def git(*words: str) -> str | None:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    return git("rev-parse", "HEAD^{tree}") if git("status", "--porcelain") == "" else None


def passed_of(tree: str | None) -> list[str]:
    """The stages of `make test-slow` that passed of this tree."""
    kept = json.loads(PASSED.read_text(encoding="utf-8")) if PASSED.exists() else {}
    stages: list[str] = kept["stages"] if tree is not None and kept.get("tree") == tree else []
    return stages


def setup_of(tier: str) -> list[tuple[str, list[str]]]:
    packages = [
        (f"packages ({name})", ["tools/install-packages.sh", name]) for name in ("runtime", "test", "lint")
    ]
    made = [*packages, ("the Python environment", ["tools/setup-python.sh"])]
    if tier != "check":
        made += [("the hardware's tools", ["remote-memory/tools/setup-rtl.sh"])]
        made += [("kernels of boards", [str(PYTHON), "tools/fetch_kernels.py"])]
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tier", choices=("check", "test", "slow"))
    tier = parser.parse_args().tier
    os.chdir(ROOT)
    # With it, each command that a test runs would compile the package anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    LOGS.mkdir(parents=True, exist_ok=True)
    tree = committed() if tier == "slow" else None
    passed_before = passed_of(tree)
    found = LOGS / "unsteady.txt"
    if not passed_before:
        found.unlink(missing_ok=True)
    begun = time.monotonic()
    set_up(setup_of(tier))
    last = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.exists() else {}
    table: list[tuple[str, str, float, float]] = []
    failures: list[str] = []
    times = {"set-up": time.monotonic() - begun}
    print(f"set-up: {times['set-up']:.0f} s", flush=True)
    total = [0, 0, 0]
    if passed_before:
        print(f"passed before, of the same tree: {', '.join(passed_before)}", flush=True)
    lanes = lanes_of(tier)
    left = [[stage for stage in lane if stage.name not in passed_before] for lane in lanes]
    checked = skips([stage for lane in lanes for stage in lane])
    for stage, ended, took in itertools.chain(run_lanes(left), run_lanes([[checked]])):
        times[stage.name] = took
        passed, failed, skipped, names = cases(stage.results)
        total = [a + b for a, b in zip(total, (passed, failed, skipped), strict=True)]
        good = ended.status == 0
        print(f"== {stage.name}\n", end="", flush=True)
        if not good:
            print(tail(stage.log, 200, quiet))
            failures += [f"{stage.name}: {name}" for name in names] or [
                f"{stage.name}: status {ended.status}"
            ]
        else:
            print(tail(stage.log, stage.shown))
            # The stage of skips reads what all others wrote.
            if tree is not None and stage.name != "skips":
                passed_before.append(stage.name)
                PASSED.write_text(json.dumps({"tree": tree, "stages": passed_before}), encoding="utf-8")
        before = f"{last[stage.name]:.0f} s before" if stage.name in last else "the first here"
        print(f"   {took:.0f} s ({before}), {ended.cpu_s:.0f} s of CPU", flush=True)
        table.append((stage.name, "passed" if good else "FAILED", took, ended.cpu_s))
    if tier == "slow" and not failures:
        number = int(SAMPLE.read_text(encoding="ascii"))
        SAMPLE.write_text(f"{number + 1}\n", encoding="ascii")
        costs.write(costs.found(tier))
        PASSED.unlink(missing_ok=True)
        print(f"tests/sample is {number + 1} now: commit it and tests/costly.txt; make test runs other tests")
    if not failures:
        TIMES.write_text(json.dumps(last | times, indent=1), encoding="utf-8")
    # A stage that took long beside little CPU time was on a busy machine, or waited.
    print(f"\n{'stage':<12} {'result':<8} {'time [s]':>8} {'before':>8} {'CPU [s]':>8}")
    for name, result, took, cpu_s in table:
        print(f"{name:<12} {result:<8} {took:8.0f} {last.get(name, float('nan')):8.0f} {cpu_s:8.0f}")
    cpu_s = sum(row[3] for row in table)
    print(f"{'all':<12} {'':<8} {time.monotonic() - begun:8.0f} {'':>8} {cpu_s:8.0f}")
    if found.exists() and (lines := found.read_text(encoding="utf-8").splitlines()):
        known = UNSTEADY.read_text(encoding="utf-8").splitlines()
        print(f"\n{len(lines)} tests of real time passed only when they were run again:")
        print(
            "\n".join(f"  {line}{'' if line in known else ' (not in tests/unsteady.txt)'}" for line in lines)
        )
    if failures:
        print(f"\n{len(failures)} failures; the logs are in {LOGS.relative_to(ROOT)}:")
        print("\n".join(f"  {line}" for line in failures))
    print(f"\n{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
