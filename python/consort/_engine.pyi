from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]

def inspect_region(path: str) -> dict[str, Any]: ...

# Three-phase tasks (engine/spm): a task is (execution, period, deadline[, load, unload[, jitter]]); times in
# ticks. Arrivals: (offset, extra gaps, shortened executions, silent[, how late each job comes]).
Arrivals = tuple[int, list[int], list[int], bool] | tuple[int, list[int], list[int], bool, list[int]]
SPM_PARTITIONS: int
SPM_PART_ALIGNMENT: int
SPM_CELL_HEADER: int
SPM_BOX_HEADER: int

def spm_bounds(
    tasks: Sequence[Sequence[int]],
    round: int,
    slot: int,
    method: str = ...,
    limit_factor: int = ...,
    lower_may_overrun: bool = ...,
) -> list[dict[str, Any]]: ...
def spm_schedulable(
    executions: NDArray[np.int64],
    periods: NDArray[np.int64],
    round: int,
    slot: int,
    method: str = ...,
    each: bool = ...,
) -> NDArray[np.bool_]: ...
def spm_replay(
    tasks: Sequence[Sequence[int]],
    round: int,
    slot: int,
    arrivals: Sequence[Arrivals],
    until: int,
    unload: str = ...,
    delays: Sequence[int] = ...,
) -> list[tuple[int, int, int, int, int, int]]: ...
def spm_campaign(
    method: str,
    sets: int,
    seed: int = ...,
    threads: int = ...,
    cores_low: int = ...,
    cores_high: int = ...,
    restarts: int = ...,
    steps: int = ...,
    unload: str = ...,
    lemmas: dict[str, int] = ...,
    jitter: bool = ...,
) -> dict[str, Any]: ...
def spm_climb(
    tasks: Sequence[Sequence[int]],
    round: int,
    slot: int,
    method: str,
    bound: Sequence[int],
    seed: int = ...,
    restarts: int = ...,
    steps: int = ...,
) -> dict[str, Any]: ...
def spm_exact(
    tasks: Sequence[Sequence[int]], round: int, slot: int, vary: bool = ..., max_states: int = ...
) -> dict[str, Any]: ...
def spm_sweep(
    programs: Sequence[tuple[int, int, int, int]],
    utilisations: Sequence[float],
    curves: Sequence[str],
    slot: int,
    other_slot: int,
    cores: int,
    periods: Sequence[int],
    switches: Sequence[int],
    by_contended: bool,
    keep_last: bool,
    sets: int,
    seed: int = ...,
    threads: int = ...,
) -> list[list[int]]: ...

# engine/rta
def fp_response(
    *,
    c: list[int],
    t: list[int],
    jitter: list[int] = ...,
    blocking: list[int] = ...,
    level: list[int] = ...,
    task: int,
    preemptive: bool = ...,
    supply: tuple[int, int, int] | None = ...,
    distances: list[tuple[list[int], int]] = ...,
) -> dict[str, Any]: ...
def fp_threshold_response(
    *,
    c: list[int],
    t: list[int],
    jitter: list[int] = ...,
    blocking: list[int] = ...,
    level: list[int] = ...,
    threshold: list[int],
    task: int,
    supply: tuple[int, int, int] | None = ...,
    distances: list[tuple[list[int], int]] = ...,
) -> dict[str, Any]: ...
def fp_offset_response(
    *,
    c: list[int],
    t: list[int],
    offsets: list[int],
    jitter: list[int] = ...,
    blocking: list[int] = ...,
    level: list[int] = ...,
    task: int,
    preemptive: bool = ...,
    most_windows: int = ...,
    supply: tuple[int, int, int] | None = ...,
) -> dict[str, Any]: ...
def edf_offset_response(
    *,
    c: list[int],
    t: list[int],
    d: list[int],
    offsets: list[int],
    jitter: list[int] = ...,
    blocking: list[int] = ...,
    task: int,
    most_windows: int = ...,
    supply: tuple[int, int, int] | None = ...,
) -> dict[str, Any]: ...
def fp_responses(
    *,
    c: Times,
    t: Times,
    d: Times,
    jitter: Times | None = ...,
    blocking: Times | None = ...,
    preemptive: bool = ...,
) -> Times: ...
def fp_schedulable(
    *,
    c: Times,
    t: Times,
    d: Times,
    jitter: Times | None = ...,
    blocking: Times | None = ...,
    preemptive: bool = ...,
    unit: str | None = ...,
) -> NDArray[np.bool_]: ...
def vector_units() -> list[str]: ...
def edf_response(
    *,
    c: list[int],
    t: list[int],
    d: list[int],
    jitter: list[int] = ...,
    blocking: list[int] = ...,
    task: int,
    preemptive: bool = ...,
    supply: tuple[int, int, int] | None = ...,
    distances: list[tuple[list[int], int]] = ...,
) -> dict[str, Any]: ...
def edf_feasible(
    *,
    c: list[int],
    t: list[int],
    d: list[int],
    jitter: list[int] = ...,
    blocking: list[int] = ...,
    preemptive: bool = ...,
) -> dict[str, Any]: ...
def suspended_response(
    *,
    c: list[int],
    t: list[int],
    suspension: list[int],
    response: list[int],
    jitter: list[int] = ...,
    blocking: list[int] = ...,
    level: list[int] = ...,
    task: int,
    distances: list[tuple[list[int], int]] = ...,
) -> dict[str, Any]: ...
def edf_schedulable(
    *,
    c: Times,
    t: Times,
    d: Times,
    jitter: Times | None = ...,
    blocking: Times | None = ...,
    preemptive: bool = ...,
) -> NDArray[np.bool_]: ...
def let_chain(tasks: Sequence[tuple[int, int, int]], most: int = ...) -> dict[str, Any] | None: ...

# engine/sim: docs/explanation/simulator.md. Times in ticks.
class SimCore:
    context_switch: int
    cache_reload: int
    set_reload: int
    supply: tuple[int, int, bool]
    inherits: list[int]
    keeps: bool
    by_rank: bool
    dma: int
    slot: int
    slot_phase: int
    partitions: int
    def serve(
        self, arbitration: str, round: int, shares: Sequence[tuple[int, int, int, int, int]]
    ) -> None: ...
    def __init__(self, policy: str = ...) -> None: ...

class SimDma:
    round_robin: bool
    round: int

class SimTask:
    core: int
    master: int
    period: int
    extra_gap: int
    offset: int
    jitter: int
    distances: list[int]
    deadline: int
    rank: int
    threshold: int | None
    worker_rank: int
    wcet: int
    bcet: int
    suspension: int
    stretches: int
    sections: list[tuple[int, int, int]]
    demands: list[tuple[int, int, int, int, int, int, int, int, int, int]]
    evicting: list[int]
    useful: list[int]
    offloaded: bool
    give_up: int
    send: int
    receive: int
    request: int
    response: int
    fallback: int
    load: int
    unload: int
    skip: bool
    one_in_flight: bool
    rests: bool
    until_deadline: bool
    releases: list[int]
    executions: list[int]
    arrival: tuple[int, bool] | None
    def __init__(self, on_miss: str = ...) -> None: ...

class SimSystem:
    def __init__(
        self, cores: Sequence[SimCore], dmas: Sequence[SimDma], tasks: Sequence[SimTask]
    ) -> None: ...

class SimModes:
    def __init__(
        self, modes: Sequence[SimSystem], first: int, agreement: int, requests: Sequence[tuple[int, int]]
    ) -> None: ...

class SimProgress:
    @property
    def reached(self) -> int: ...
    def cancel(self) -> None: ...

def sim_run(
    system: SimSystem,
    duration: int,
    seed: int = ...,
    execution: str = ...,
    arrival: str = ...,
    trace: bool = ...,
    progress: SimProgress | None = ...,
) -> dict[str, Any]: ...
def sim_run_in_virtual_time(
    system: SimSystem,
    duration: int,
    seed: int = ...,
    execution: str = ...,
    arrival: str = ...,
    trace: bool = ...,
) -> dict[str, Any]: ...
def sim_run_modes(
    modes: SimModes,
    duration: int,
    seed: int = ...,
    execution: str = ...,
    arrival: str = ...,
    trace: bool = ...,
    progress: SimProgress | None = ...,
) -> dict[str, Any]: ...
def sim_run_modes_in_virtual_time(
    modes: SimModes,
    duration: int,
    seed: int = ...,
    execution: str = ...,
    arrival: str = ...,
    trace: bool = ...,
) -> dict[str, Any]: ...
def row_layouts() -> dict[str, Any]: ...
def plan_layouts() -> dict[str, Any]: ...
def run_plan(image: bytes, trace: bool = ...) -> dict[str, Any]: ...
def sim_bulk(
    policy: str,
    executions: Times,
    periods: Times,
    duration: int = ...,
    deadlines: Times | None = ...,
    offsets: Times | None = ...,
    longest_periods: int = ...,
    slot: int = ...,
    round: int = ...,
    seed: int = ...,
) -> tuple[Times, NDArray[np.uint64], int]: ...
def sim_combinations(system: SimSystem, step: int, fixed: int = ...) -> int: ...
def sim_explore(
    system: SimSystem, duration: int, step: int, fixed: int = ..., progress: SimProgress | None = ...
) -> dict[str, Any]: ...
