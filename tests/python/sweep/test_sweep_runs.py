# SPDX-License-Identifier: Apache-2.0
"""Sweeps that are interrupted: clients, workers and connections that die; folders that were damaged."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import distributed
import pyarrow.parquet as pq
import pytest
from consort.base.errors import BadInput, EnvironmentLacks
from consort.sweep import cluster
from consort.sweep.cells import Cells, spec_of
from consort.sweep.load import load_sweep
from consort.sweep.run import run
from consort.sweep.store import open_store
from consort.sweep.work import OtherCode, code, run_cells
from effort import PATIENCE, wait_for
from sweep_support import CONSORT, Proxy, children, dask_cluster

# Its first cells are written long before the last ones are computed.
LONG = """\
sweep: 1
sets: 200000
block: 2000
task_sets: {tasks: [10, 20], utilisation: [0.8, 0.85, 0.9]}
analyses: [fixed-priority, edf]
"""


@pytest.fixture
def cells(small) -> Cells:
    return Cells(spec_of(load_sweep(small)))


@pytest.fixture
def whole(cells, tmp_path) -> bytes:
    """The result of a run that nobody disturbs."""
    run(cells, tmp_path / "whole", "small", workers=0)
    return (tmp_path / "whole" / "result.parquet").read_bytes()


def test_workers_give_what_one_process_gives(small, consort, tmp_path, whole):
    done = consort("sweep", small, "--out", "out", "--workers", 2, "--json")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert json.loads(done.stdout)["workers"] == 2
    assert (tmp_path / "out" / "result.parquet").read_bytes() == whole


def test_other_users_of_the_machine_cannot_use_the_workers():
    """Whoever may submit a task runs code as the user: it takes the certificate of this one process."""
    with cluster.workers_here(1) as here:
        address = here.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        for scheme in ("tcp", "tls"):
            with pytest.raises((OSError, ValueError, TypeError)):
                distributed.Client(address.replace("tls", scheme), timeout=2, set_as_default=False)


def test_workers_keep_their_files_where_nobody_else_writes(tmp_path, monkeypatch):
    """Dask takes the folder of this name that it finds; whoever made it reads and changes what lies there."""
    (tmp_path / "dask-scratch-space").mkdir()
    (tmp_path / "dask-scratch-space").chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with cluster.workers_here(1) as here, distributed.Client(here, set_as_default=False) as client:
        (used,) = client.run(lambda dask_worker: dask_worker.local_directory).values()
        (private,) = tmp_path.glob("consort-tmp-sweep-*")
        assert Path(used).is_relative_to(private)
        assert stat.S_IMODE(private.stat().st_mode) == 0o700 and private.stat().st_uid == os.getuid()
        assert not list((tmp_path / "dask-scratch-space").iterdir())
    assert not private.exists(), "nothing is left"


@pytest.mark.slow
def test_a_scheduler_that_asks_for_certificates_says_so(small, consort):
    with cluster.workers_here(1) as here:
        done = consort("sweep", small, "--scheduler", here.scheduler_address)
    assert done.returncode == 3 and "distributed.comm.tls" in done.stderr, done.stderr


def test_a_second_run_computes_nothing(cells, tmp_path, whole):
    again = run(cells, tmp_path / "whole", "small", workers=0)
    assert again.found == again.cells == len(cells) and again.tasks == 0
    assert (tmp_path / "whole" / "result.parquet").read_bytes() == whole


def test_only_what_is_missing_is_computed_and_twice_the_same_counts_once(cells, tmp_path, whole):
    some = list(cells)[::3]
    with open_store(tmp_path / "part", cells, "small") as store:
        done = run_cells(json.dumps(cells.spec), some, code())
        store.put([done])
        done.rows = done.rows[5:]
        store.put([done])
    outcome = run(cells, tmp_path / "part", "small", workers=0)
    assert outcome.found == len(some)
    assert (tmp_path / "part" / "result.parquet").read_bytes() == whole


@pytest.mark.parametrize("damage", ["truncated", "empty", "changed"])
def test_a_damaged_file_is_found_and_its_cells_are_computed_again(cells, tmp_path, whole, damage):
    file = max((tmp_path / "whole" / "cells").glob("*.parquet"), key=lambda f: f.stat().st_size)
    lost = pq.read_table(file).num_rows
    data = bytearray(file.read_bytes())
    if damage == "changed":
        # A byte of the first column's first page.
        data[60] ^= 0xFF
    file.write_bytes({"truncated": data[: len(data) // 2], "empty": b"", "changed": data}[damage])
    outcome = run(cells, tmp_path / "whole", "small", workers=0)
    assert outcome.damaged == [file] and outcome.found == len(cells) - lost
    assert (tmp_path / "whole" / "result.parquet").read_bytes() == whole


def test_half_written_files_are_no_cells(cells, tmp_path, whole):
    left = tmp_path / "whole" / "cells" / ".x.parquet.123"
    left.write_bytes(b"PAR1")
    assert run(cells, tmp_path / "whole", "small", workers=0).found == len(cells)
    assert not left.exists()


def test_a_folder_of_another_sweep_is_refused(small, consort, tmp_path, whole):
    done = consort("sweep", small, "--out", "whole", "--sets", 200)
    assert done.returncode == 2 and "this folder is of another sweep" in done.stderr
    # A title, a plot or a name makes no other sweep.
    small.write_text(small.read_text().replace("seed: 7", "seed: 7\ntitle: a title"))
    assert consort("sweep", small, "--out", "whole").returncode == 0


def test_a_folder_of_another_version_is_refused(cells, tmp_path, whole):
    file = tmp_path / "whole" / "sweep.json"
    data = json.loads(file.read_text())
    data["code"]["engine"] = "0"
    file.write_text(json.dumps(data))
    with pytest.raises(BadInput, match="another version of Consort"):
        run(cells, tmp_path / "whole", "small", workers=0)


def test_two_clients_do_not_write_into_one_folder(cells, small, consort, tmp_path):
    with open_store(tmp_path / "out", cells, "small"):
        done = consort("sweep", small, "--out", "out")
    assert done.returncode == 2 and "another consort sweep writes into this folder" in done.stderr


def test_a_worker_with_other_code_is_refused(cells, tmp_path, monkeypatch):
    with pytest.raises(OtherCode, match=r"numpy .* instead of 0"):
        run_cells(json.dumps(cells.spec), [], code() | {"numpy": "0"})
    monkeypatch.setattr(cluster, "code", lambda: code() | {"engine": "0"})
    with pytest.raises(EnvironmentLacks, match="a worker has other code than this client: engine"):
        run(cells, tmp_path / "other", "small", workers=1)


def test_no_scheduler_at_the_address(cells, small, consort, tmp_path, monkeypatch):
    done = consort("sweep", small, "--scheduler", "nonsense://x")
    assert done.returncode == 2 and "'nonsense://x' is not an address; write it as" in done.stderr
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with pytest.raises(EnvironmentLacks, match="no scheduler answers at tcp"):
        run(cells, tmp_path / "out", "small", scheduler="tcp://127.0.0.1:1")
    both = consort("sweep", small, "--scheduler", "tcp://x:1", "--workers", 1)
    assert both.returncode == 2


class SlowFuture:
    """A result that is there, and takes longer than any limit to come."""

    def __init__(self, waits: int, *, lost: bool) -> None:
        self.waits = waits
        self.lost = lost
        self.client = SimpleNamespace(status="running")

    def result(self, timeout: float) -> str:
        if self.waits:
            self.waits -= 1
            raise TimeoutError
        if self.lost:
            raise distributed.CancelledError("its worker died")
        return "rows"


def test_a_result_that_comes_slowly_is_not_lost():
    """A loss counts against the cells: five times, and they are said to kill their workers."""
    assert cluster._result(SlowFuture(20, lost=False)) == "rows"
    assert cluster._result(SlowFuture(20, lost=True)) is None


class TestInterrupted:
    """Real processes, ended in the middle; then the same command once more."""

    @pytest.fixture
    def long(self, tmp_path: Path) -> Path:
        file = tmp_path / "long.yaml"
        file.write_text(LONG)
        return file

    @pytest.fixture(scope="class")
    @classmethod
    def undisturbed(cls, tmp_path_factory: pytest.TempPathFactory) -> bytes:
        folder = tmp_path_factory.mktemp("undisturbed")
        file = folder / "long.yaml"
        file.write_text(LONG)
        run(Cells(spec_of(load_sweep(file))), folder / "out", "long", workers=0)
        return (folder / "out" / "result.parquet").read_bytes()

    def begin(self, long: Path, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [CONSORT, "sweep", long, "--out", long.parent / "out", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def began(self, long: Path) -> bool:
        return any((long.parent / "out" / "cells").glob("*.parquet"))

    def finish(self, long: Path, *more: str) -> bytes:
        done = self.begin(long, *more)
        _, err = done.communicate(timeout=PATIENCE)
        assert done.returncode == 0, err
        return (long.parent / "out" / "result.parquet").read_bytes()

    def test_client_killed(self, long, undisturbed):
        first = self.begin(long)
        wait_for("the first cells", lambda: self.began(long))
        workers = children(first.pid)
        first.kill()
        first.communicate()
        assert workers
        wait_for("its workers to end", lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
        assert not (long.parent / "out" / "result.parquet").exists()
        assert self.finish(long) == undisturbed

    @pytest.mark.slow
    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_interrupt_is_clean(self, long, undisturbed, number, status):
        first = self.begin(long)
        wait_for("the first cells", lambda: self.began(long))
        os.killpg(first.pid, number) if number == signal.SIGINT else first.send_signal(number)
        _, err = first.communicate(timeout=PATIENCE)
        assert first.returncode == status and "Traceback" not in err, err
        cells = [len(pq.read_table(f)) for f in (long.parent / "out" / "cells").glob("*.parquet")]
        assert sum(cells) > 0
        assert self.finish(long) == undisturbed

    @pytest.mark.slow
    def test_workers_killed(self, long, undisturbed):
        first = self.begin(long)
        wait_for("the first cells", lambda: self.began(long))
        for pid in children(first.pid):
            os.kill(pid, signal.SIGKILL)
        _, err = first.communicate(timeout=PATIENCE)
        assert first.returncode == 0, err
        assert (long.parent / "out" / "result.parquet").read_bytes() == undisturbed

    @pytest.mark.slow
    def test_worker_killed_as_it_starts(self, long, undisturbed):
        """Dask gives up then; the client starts its workers once more."""
        first = self.begin(long)
        os.kill(wait_for("a worker process", lambda: children(first.pid))[0], signal.SIGKILL)
        _, err = first.communicate(timeout=PATIENCE)
        assert first.returncode == 0, err
        assert (long.parent / "out" / "result.parquet").read_bytes() == undisturbed

    @pytest.mark.slow
    def test_connection_cut(self, long, undisturbed, tmp_path):
        with dask_cluster(tmp_path) as address:
            proxy = Proxy(address)
            first = self.begin(long, "--scheduler", proxy.address)
            wait_for("the first cells", lambda: self.began(long))
            proxy.cut()
            _, err = first.communicate(timeout=PATIENCE)
            proxy.close()
        assert first.returncode == 0, err
        assert (long.parent / "out" / "result.parquet").read_bytes() == undisturbed
