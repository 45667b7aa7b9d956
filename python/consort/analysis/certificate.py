# SPDX-License-Identifier: Apache-2.0
"""Bounds as theorems, and Coq's check of them against the library of proofs that comes with Consort: the
tasks of a core, and for each the windows that show its bound."""

from __future__ import annotations

import atexit
import re
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from consort.analysis.figures import Figures, NotAnalysable
from consort.analysis.result import Bound
from consort.analysis.system import master_of, with_jitters
from consort.analysis.unitask import UniTask
from consort.base.children import finished
from consort.base.errors import EnvironmentLacks, SystemFails
from consort.base.owned import temporary_folder
from consort.plan.lacks import CERTIFICATE, lacking_on
from consort.plan.types import Plan

# More windows than these make a file that takes Coq minutes.
MOST_WINDOWS = 20_000
HEADER = """\
(* Bounds of response times, in picoseconds, by consort analyze --certificate. Each theorem says that
   whatever the tasks do within their parameters, on a core with preemptive fixed priorities, a job is done
   so long after it was due, at the latest. `wcet`: its longest execution, with the context switches charged
   to it; `apart`: between two jobs' due instants, at least; `lateness`: from due to release, at most;
   `rank`: 0 is the most urgent; `held`: how long what is less urgent may hold the core. Definitions and
   proofs: ResponseTime.v and Certificate.v of Consort. *)
From Coq Require Import List NArith.
From Consort Require Import Certificate.
Import ListNotations.
Open Scope N_scope.
"""


@dataclass
class Certificate:
    """A certificate: theorems of one or several cores, the bounds that they prove, and the bounds without
    one."""

    text: str = HEADER
    claims: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def add(self, title: str, tasks: Sequence[UniTask], responses: Sequence[int | None], switch: int) -> None:
        """The tasks of a core, the most urgent first unless they have levels, and their bounds."""
        charged = _charged(tasks, switch)
        found: list[tuple[int, int, list[int]]] = []
        for index, (task, response) in enumerate(zip(tasks, responses, strict=True)):
            shown = _shown(charged, index, response)
            if isinstance(shown, str):
                self.refused[task.name] = shown
            else:
                found.append((index, *shown))
        if not found:
            return
        name = f"core_{self.text.count('Definition ')}"
        rows = ";\n".join(f"  {_record(task)} (* {_plain(task.name)} *)" for task in charged)
        self.text += f"\n(* {_plain(title)} *)\nDefinition {name} : list task := [\n{rows}\n].\n"
        for index, response, windows in found:
            self.claims[tasks[index].name] = response
            what = f"{name} {index}%nat {response}"
            listed = "; ".join(map(str, windows))
            self.text += (
                f"\nTheorem {name}_task_{index} : bounded_by {what}.\n"
                f"Proof. apply (certified {what} [{listed}]). vm_compute. reflexivity. Qed.\n"
                f"Print Assumptions {name}_task_{index}.\n"
            )


@dataclass(frozen=True)
class _Charged:
    name: str
    wcet: int
    apart: int
    lateness: int
    rank: int
    held: int

    def jobs(self, window: int) -> int:
        """The most jobs of it in a window."""
        return -(-(window + self.lateness) // self.apart)


def certificate_of(plan: Plan, bounds: Sequence[Bound]) -> Certificate:
    """A certificate of the bounds that the theorem covers, as they were found, for every core."""
    plan = with_jitters(plan)
    made = Certificate()
    known = {bound.task: bound for bound in bounds if bound.task in plan.tasks}
    figures, uncovered = Figures(plan), lacking_on(plan, CERTIFICATE)
    for core, planned in plan.cores.items():
        names = list(planned.tasks)
        if not names:
            continue
        if core in uncovered:
            made.refused |= dict.fromkeys(names, uncovered[core])
            continue
        try:
            master, _ = master_of(figures, core, names)
        except NotAnalysable as error:
            made.refused |= dict.fromkeys(names, str(error))
            continue
        responses = [known[name].response for name in names]
        made.add(core, [task.without_waits() for task in master.tasks], responses, master.context_switch)
    return made


def _charged(tasks: Sequence[UniTask], switch: int) -> list[_Charged]:
    """Tasks as theorem 1 takes them: two switches a job, and one that holds up whoever has others below."""
    levels = [index if task.level is None else task.level for index, task in enumerate(tasks)]
    return [
        _Charged(
            task.name,
            task.execution + 2 * switch,
            task.period,
            task.jitter,
            level,
            task.blocking + (switch if any(other > level for other in levels) else 0),
        )
        for task, level in zip(tasks, levels, strict=True)
    ]


def _shown(tasks: Sequence[_Charged], index: int, response: int | None) -> tuple[int, list[int]] | str:
    """The bound, and windows for the jobs of a busy one that show it, up to one that ends before the next; or
    why the theorem does not show it."""
    if response is None:
        return "it has no bound"
    own = tasks[index]
    if own.lateness >= own.apart:
        return "its jitter reaches its period, and two of its jobs may then come at one instant"
    for other in tasks:
        if other.rank <= own.rank and other.lateness >= other.apart:
            return f"the jitter of {other.name} reaches its period"
    others = [task for at, task in enumerate(tasks) if at != index and task.rank <= own.rank]
    windows: list[int] = []
    window = 1
    while len(windows) < MOST_WINDOWS:
        job = len(windows)
        while (
            need := own.held + (job + 1) * own.wcet + sum(task.jobs(window) * task.wcet for task in others)
        ) > window:
            window = need
            if window + own.lateness > response + job * own.apart:
                return "its bound is lower than windows without offsets and distances show"
        windows.append(window)
        if window + own.lateness <= (job + 1) * own.apart:
            return response, windows
    return f"its busy window has more than {MOST_WINDOWS} jobs"


def _record(task: _Charged) -> str:
    values = ("wcet", "apart", "lateness", "rank", "held")
    return "{| " + "; ".join(f"{name} := {getattr(task, name)}" for name in values) + " |}"


def _plain(name: str) -> str:
    """Within a comment, which nothing in a name may end."""
    return re.sub(r"[^\w.-]", "_", name)


LIBRARY = Path(__file__).resolve().parents[1] / "proofs"
# In the order in which they need each other.
FILES = ("ResponseTime.v", "Certificate.v")
# Coq's output for a theorem that rests on no axiom.
CLOSED = "Closed under the global context"


def coqc() -> str:
    """The program; `EnvironmentLacks` where there is none."""
    found = shutil.which("coqc")
    if found is None:
        raise EnvironmentLacks(
            "checking a certificate needs coqc", "install it: tools/install-packages.sh prove"
        )
    return found


@lru_cache
def library() -> Path:
    """The folder of the proofs that a certificate rests on, checked once in a process."""
    kept = ExitStack()
    folder = kept.enter_context(temporary_folder("proofs"))
    atexit.register(kept.close)
    for name in FILES:
        shutil.copyfile(LIBRARY / name, folder / name)
        _accepted(folder / name, name, folder)
    return folder


def check(certificate: Path, theorems: int) -> str:
    """Coq's version, if it accepts so many theorems of the file, none of which rests on an axiom."""
    program = coqc()
    with temporary_folder("certificate") as folder:
        copy = folder / "Bounds.v"
        shutil.copyfile(certificate, copy)
        said = _accepted(copy, str(certificate), library())
    if said.count(CLOSED) != theorems:
        raise SystemFails(f"{certificate}: not every theorem is free of axioms: {said.strip()}")
    return finished([program, "--print-version"]).stdout.split()[0]


def _accepted(path: Path, name: str, proofs: Path) -> str:
    # Coq leaves a cache of its arithmetic in the folder that it runs in.
    done = finished([coqc(), "-q", "-Q", str(proofs), "Consort", str(path)], cwd=proofs)
    if done.returncode != 0:
        said = " ".join(done.stderr.replace(str(path), name).split())
        raise SystemFails(f"{name}: Coq does not accept it: {said}")
    return done.stdout
