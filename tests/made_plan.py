# SPDX-License-Identifier: Apache-2.0
"""Plans made up of what the judge reads of them, in nanoseconds, so that no description is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from consort.model import platform_from_data
from consort.model.sources import StepReference
from consort.plan import Plan, PlannedChain, PlannedChannel, PlannedCore, PlannedRun, PlannedTask

PLATFORM = platform_from_data(
    {
        "consort": 1,
        "name": "made-up",
        "processors": {"m": {"isa": "armv7e-m"}},
        "cores": {"m": {"processor": "m", "count": 1}},
    }
)
FACTS: dict[str, Any] = {
    "core": "m0",
    "worker": None,
    "execution": "local",
    "release": "periodic",
    "arrival": None,
    "period_ns": 100_000,
    "deadline_ns": 100_000,
    "offset_ns": 0,
    "jitter_ns": 0,
    "wcet_ns": None,
    "rank": 1,
    "lateness_ns": None,
    "on_miss": "hold-last-output",
    "communication": "implicit",
}


def _ps(ns: int | None) -> int | None:
    return None if ns is None else ns * 1000


def _task(name: str, facts: Mapping[str, Any]) -> PlannedTask:
    return PlannedTask(
        name=name,
        core=facts["core"],
        worker=facts["worker"],
        execution=facts["execution"],
        rank=facts["rank"],
        threshold=None,
        worker_rank=None,
        release=facts["release"],
        arrival=facts["arrival"],
        period_ps=facts["period_ns"] * 1000,
        offset_ps=facts["offset_ns"] * 1000,
        jitter_ps=facts["jitter_ns"] * 1000,
        min_distances_ps=(),
        deadline_ps=facts["deadline_ns"] * 1000,
        wcet_ps=_ps(facts["wcet_ns"]),
        bcet_ps=None,
        fallback_ps=None,
        send_ps=None,
        receive_ps=None,
        give_up_ps=None,
        self_suspension_ps=None,
        suspensions=0,
        energy_pj=None,
        footprint=None,
        on_miss=facts["on_miss"],
        restart_worker=False,
        communication=facts["communication"],
        step=StepReference.parse(f"{name}.hpp::{name.replace('-', '_')}::step"),
        types=None,
        input=None,
        golden=None,
        reads=(),
        writes=(),
    )


def _core(name: str, tasks: Mapping[str, Mapping[str, Any]]) -> PlannedCore:
    late = max((facts["lateness_ns"] or 0 for facts in tasks.values() if facts["core"] == name), default=0)
    return PlannedCore(
        name=name,
        processor="m",
        policy="fixed-priority",
        wait="spin",
        service="priority",
        time_base="sleep" if late else "spin",
        context_switch_ps=None,
        timer_lateness_ps=_ps(late) if late else None,
        cpu=None,
        tasks=tuple(task for task, facts in tasks.items() if facts["core"] == name),
        serves=tuple(task for task, facts in tasks.items() if facts["worker"] == name),
    )


def _channel(facts: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]) -> PlannedChannel:
    return PlannedChannel(
        name=facts["name"],
        implementation=facts.get("implementation", "snapshot"),
        writer=facts["writer"],
        readers=tuple(facts["readers"]),
        writer_core=tasks[facts["writer"]]["core"],
        reader_cores=tuple(tasks[reader]["core"] for reader in facts["readers"]),
        capacity=None,
        memory=None,
        bytes=None,
        communication=facts.get("communication", "implicit"),
    )


def _chain(facts: Mapping[str, Any]) -> PlannedChain:
    limits = (_ps(facts.get("reaction_ns")), _ps(facts.get("age_ns")))
    return PlannedChain(facts["name"], tuple(facts["path"]), *limits, facts.get("communication", "implicit"))


def cores_of(tasks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The cores of tasks, those of workers last."""
    used = [task["core"] for task in tasks.values()] + [task["worker"] for task in tasks.values()]
    return list(dict.fromkeys(core for core in used if core))


def made_plan(
    tasks: Mapping[str, Mapping[str, Any]],
    channels: Sequence[Mapping[str, Any]] = (),
    chains: Sequence[Mapping[str, Any]] = (),
) -> Plan:
    """The plan of tasks {name: facts}; facts that are not given are those of FACTS."""
    whole = {name: FACTS | dict(facts) for name, facts in tasks.items()}
    return Plan(
        file=Path("system.yaml"),
        name=None,
        description="",
        platform=PLATFORM,
        platform_given="made-up",
        figures={},
        target="linux",
        mode=None,
        cores={name: _core(name, whole) for name in cores_of(whole)},
        tasks={name: _task(name, facts) for name, facts in whole.items()},
        channels={facts["name"]: _channel(facts, whole) for facts in channels},
        devices={},
        chains={facts["name"]: _chain(facts) for facts in chains},
        resources={},
        run=PlannedRun(1, ("local-off",), (), 1),
        sources=(),
        notes=(),
    )
