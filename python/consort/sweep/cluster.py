# SPDX-License-Identifier: Apache-2.0
"""The cells of a sweep on Dask's workers: those of this machine, or of a scheduler somewhere.

The client keeps only a few tasks in flight, so that neither it nor the scheduler holds the whole sweep. A
task whose worker died, or that was lost with the connection, is handed out again.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import re
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from consort.base.errors import BadInput, ConsortError, EnvironmentLacks
from consort.base.owned import temporary_folder
from consort.base.units import counted
from consort.base.waiting import Standstill, stop_if_asked, with_children
from consort.sweep.cells import Cells
from consort.sweep.run import Outcome, Writer
from consort.sweep.work import Batches, Cell, OtherCode, code, run_cells

if TYPE_CHECKING:
    from distributed import LocalCluster


# Tasks in flight for each worker: one that it does, and two that wait, so that it is never idle.
IN_FLIGHT = 3
# How long a scheduler, its first worker, or a lost connection may give no sign [s].
PATIENCE = 60.0
# A batch that was lost so often, each time with its worker, is what kills it.
MOST_LOST = 5
SETTINGS: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": MOST_LOST,
    "distributed.comm.timeouts.connect": f"{PATIENCE:.0f}s",
    # One that died is known by its connection. One without a sign of life is on a machine that is busy.
    "distributed.scheduler.worker-ttl": None,
    # Tasks are in the order in which they are to be done.
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.preload": ["consort.sweep.cluster"],
    # Dask has workers give memory back at once; for arrays that live for a millisecond that is a fault for
    # each of their pages.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 256 << 20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 64 << 20,
    # Nobody looks at samples of what workers do; taking them costs time of the cells.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    # Nothing asks them over HTTP.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
# Descriptors of a client, its scheduler and the nannies, and for each worker: seen were 22 and 11.
FILES, FILES_OF_A_WORKER = 48, 12
AGAIN = "what is finished is kept: the same command goes on from there"


class CellKills(ConsortError):
    """Each worker that got some cells died."""

    exit_status = 1


class Pool:
    """Tasks in flight, and their results as they come."""

    def __init__(self, client: Any, text: str) -> None:
        self.client = client
        self.text = text
        self.code = code()
        self.flying: dict[Any, list[Cell]] = {}
        self.ready: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def submit(self, batch: list[Cell]) -> None:
        future = self.client.submit(
            run_cells, self.text, batch, self.code, pure=False, key=f"cells-{os.urandom(8).hex()}"
        )
        self.flying[future] = batch
        future.add_done_callback(self.ready.put)

    def next(self) -> Any | None:
        """A task that ended, or None after a while."""
        with suppress(queue.Empty):
            return self.ready.get(timeout=0.5)
        return None


def on_cluster(
    cells: Cells,
    finished: set[Cell],
    writer: Writer,
    outcome: Outcome,
    workers: int | None,
    scheduler: str | LocalCluster | None,
) -> None:
    """Computes all cells that are not finished."""
    with _client(workers, scheduler) as client:
        outcome.workers = _threads(client)
        batches = Batches(cells, finished, outcome.workers)
        pool = Pool(client, json.dumps(cells.spec))
        # Workers that are there load what they need before they are given cells: it takes a second. What is
        # wrong with one shows in its first task.
        with suppress(Exception):
            client.run(code)
        lost: dict[tuple[Cell, ...], int] = {}
        began = time.perf_counter()
        absence = Standstill(PATIENCE, with_children)
        more = True
        while more or pool.flying:
            stop_if_asked()
            while more and len(pool.flying) < IN_FLIGHT * outcome.workers:
                batch = next(batches, None)
                if batch is None:
                    more = False
                    break
                pool.submit(batch)
                outcome.tasks += 1
            future = pool.next()
            if future is None:
                _look_after(client, absence)
                continue
            absence.moved()
            batch = pool.flying.pop(future, None)
            if batch is None:
                continue
            done = _result(future)
            if done is None:
                outcome.again += 1
                key = tuple(batch)
                lost[key] = lost.get(key, 0) + 1
                if lost[key] >= MOST_LOST:
                    first = cells.key(*batch[0])
                    raise CellKills(
                        f"a worker died or was lost {MOST_LOST} times with the {len(batch)} cells from"
                        f" {first}; try one with --cell {first}, and see whether memory is enough; {AGAIN}"
                    )
                _wait_for_connection(client)
                batches.again(batch)
                more = True
                continue
            batches.learn(done)
            writer.take(done)
            future.release()
        outcome.seconds = time.perf_counter() - began


def _result(future: Any) -> Any | None:
    """A task's result; None if it was lost. What the cells themselves raise goes on."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        while True:
            # A computed result is on its way, however slow that is; a loss is an exception of its own.
            with suppress(TimeoutError):
                return future.result(timeout=PATIENCE)
            stop_if_asked()
            _wait_for_connection(future.client)
    except OtherCode as error:
        raise EnvironmentLacks(
            f"a worker has other code than this client: {error}",
            "install the same version of Consort on all of them",
        ) from None
    except ModuleNotFoundError as error:
        raise EnvironmentLacks(f"a worker lacks {error.name}", "install Consort on all workers") from None
    except (CancelledError, KilledWorker, CommClosedError):
        return None


def _look_after(client: Any, absence: Standstill) -> None:
    """Makes sure that there is a worker."""
    _wait_for_connection(client)
    with suppress(OSError, TimeoutError):
        if client.scheduler_info(n_workers=1)["workers"]:
            absence.moved()
            return
    if absence.over("no worker"):
        raise EnvironmentLacks(f"there has been no worker for {PATIENCE:.0f} s", f"start workers; {AGAIN}")


def _wait_for_connection(client: Any) -> None:
    """Dask's client connects again by itself; it gives up with the status `closed`."""
    silence = Standstill(PATIENCE, with_children)
    while client.status != "running":
        if client.status == "closed" or silence.over(client.status):
            raise EnvironmentLacks("the connection to the scheduler is lost", f"start it again; {AGAIN}")
        time.sleep(0.1)


def _threads(client: Any) -> int:
    """The number of tasks that all workers run at a time; waits for the first of them."""
    absence = Standstill(PATIENCE, with_children)
    while True:
        count = sum(client.nthreads().values())
        if count:
            return int(count)
        if absence.over(count):
            raise EnvironmentLacks("the scheduler has no workers", "start some: dask worker ADDRESS")
        time.sleep(0.2)


@contextmanager
def _client(workers: int | None, scheduler: str | LocalCluster | None) -> Iterator[Any]:
    import dask
    import distributed

    _quiet()
    # Dask has no types for these.
    connect: Any = distributed.Client
    with dask.config.set(SETTINGS):
        if scheduler is not None:
            if isinstance(scheduler, str):
                _check_address(scheduler)
            try:
                client = connect(scheduler, timeout=PATIENCE, set_as_default=False)
            except TypeError as error:
                # The error that Dask raises if its configuration names no certificates.
                raise EnvironmentLacks(
                    f"{scheduler} talks by TLS, and Dask's configuration has no certificates: {error}",
                    "name them under distributed.comm.tls, as for the scheduler",
                ) from None
            except (OSError, ValueError, TimeoutError) as error:
                raise EnvironmentLacks(
                    f"no scheduler answers at {scheduler}: {error or 'it took too long'}",
                    "start one, 'dask scheduler', and give the address that it prints",
                ) from None
            try:
                yield client
            finally:
                with suppress(Exception):
                    client.close(timeout=5)
            return
        with workers_here(workers) as cluster:
            client = connect(cluster, set_as_default=False)
            try:
                yield client
            finally:
                client.close(timeout=5)


def _check_address(scheduler: str) -> None:
    if re.fullmatch(r"(tcp|tls)://.+:[0-9]{1,5}", scheduler) is None:
        text = (
            f"{scheduler!r} is not an address; write it as the scheduler prints it, such as tcp://HOST:8786"
        )
        raise BadInput(text, field="--scheduler")


def _quiet() -> None:
    """Dask says on standard error what this program says itself."""
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def workers_here(count: int | None = None) -> Iterator[Any]:
    """A scheduler and workers of this machine, one for each processor if nothing else is said."""
    _quiet()
    number = count or len(os.sched_getaffinity(0))
    _allow_files(FILES + FILES_OF_A_WORKER * number, number)
    # Signals ignored while they start stay so in the workers; one that is started again runs `dask_setup`.
    main = threading.current_thread() is threading.main_thread()
    # Dask keeps what workers write and read in a folder that anybody may have made before.
    with temporary_folder("sweep") as scratch:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
        try:
            cluster = _started(number, str(scratch))
        finally:
            if main:
                signal.signal(signal.SIGINT, before)
        with cluster:
            yield cluster


def _allow_files(needed: int, workers: int) -> None:
    """Raises the limit of open files so far, or says what it is.

    Dask tries a connection that finds no descriptor for minutes, and again.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise EnvironmentLacks(
            f"{needed} open files are needed for {counted(workers, 'worker process', 'worker processes')},"
            f" and {hard} are allowed",
            "give fewer (--workers N, or 0 for none), or raise the limit of open files (ulimit -n)",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _started(count: int, scratch: str) -> Any:
    """Dask starts a worker again that dies, but not one that dies while it starts."""
    import dask
    import distributed

    start: Any = distributed.LocalCluster
    for attempt in range(MOST_LOST):
        try:
            with dask.config.set({**SETTINGS, "temporary-directory": scratch}):
                return start(
                    n_workers=count,
                    threads_per_worker=1,
                    # Whoever reaches a scheduler runs code in its workers: other users of this machine
                    # have no certificate.
                    security=True,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
        except (RuntimeError, TimeoutError) as error:
            last = error
            time.sleep(0.2 * attempt)
    raise EnvironmentLacks(
        f"{count} worker processes do not start: {last}", "give fewer, --workers N, or none, --workers 0"
    )


def dask_setup(_worker: object) -> None:
    """Called in each worker of this machine: an interrupt from the terminal is for the client."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
