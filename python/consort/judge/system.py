# SPDX-License-Identifier: Apache-2.0
"""A judge's view of a system: from the recording's own description, completed from its plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from consort.errors import BadInput
from consort.record.description import ChainFacts, Described, described


class PlannedTask(Protocol):
    """The part of a planned task that the judge reads."""

    @property
    def wcet_ps(self) -> int | None: ...


class Plan(Protocol):
    """The part of a plan that the judge reads (consort.plan)."""

    @property
    def system(self) -> Any: ...

    @property
    def tasks(self) -> Mapping[str, Any]: ...


def system_of(plan_or_config: Plan | Mapping[str, Any] | Described | None, config: Any) -> Described:
    """The recorded system with the chains and WCETs of the plan.

    The recording says what ran (tasks, cores, channels, deadlines as stretched); a plan adds what a recording
    does not have. Instead of a plan a configuration may be given, which then counts instead of the
    recording's.
    """
    if isinstance(plan_or_config, Described):
        return plan_or_config
    if isinstance(plan_or_config, Mapping):
        return _known(described(dict(plan_or_config)))
    recorded = _known(described(config))
    if plan_or_config is None:
        return recorded
    missing = sorted(set(recorded.task_names) - set(plan_or_config.tasks))
    if missing:
        raise BadInput(f"the plan has no task {', '.join(missing)}, which the recording has")
    scale = recorded.time_scale
    tasks = []
    for task in recorded.tasks:
        wcet = plan_or_config.tasks[task.name].wcet_ps
        known = task.wcet_ns if wcet is None else wcet / 1000
        tasks.append(task.model_copy(update={"wcet_ns": known}))
    chains = recorded.chains or tuple(chains_of(plan_or_config.system, scale))
    return recorded.model_copy(update={"tasks": tuple(tasks), "chains": chains})


def chains_of(system: Any, scale: float = 1) -> list[ChainFacts]:
    """The chains of a description, with what is allowed of them stretched by the time scale."""

    def ns(duration: Any) -> float | None:
        return None if duration is None else duration.picoseconds / 1000 * scale

    return [
        ChainFacts(
            name=name,
            path=tuple(chain.path),
            communication=chain.communication,
            reaction_ns=ns(chain.reaction),
            age_ns=ns(chain.age),
        )
        for name, chain in system.chains.items()
    ]


def _known(found: Described | None) -> Described:
    if found is None:
        raise BadInput(
            "the recording does not say which tasks and cores ran, so there is nothing to judge;"
            " its manifest needs both under config",
            field="config",
        )
    return found
