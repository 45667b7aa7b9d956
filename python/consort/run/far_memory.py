# SPDX-License-Identifier: Apache-2.0
"""The servers in whose memory states of a run's tasks lie: given ones, or one of the run's own."""

from __future__ import annotations

import secrets
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.remote_memory import OPTION, PAGE, Server, remote_memory
from consort.base.runtime import socket_path
from consort.model.quantities import Size
from consort.plan import Plan
from consort.run.interference import dying_with_us


@contextmanager
def serving(
    plan: Plan, described: Mapping[str, Any], given: Mapping[str, Server]
) -> Iterator[dict[str, Server]]:
    """The server of each memory in which states lie while the block runs; those not given are one process of
    this run, which ends with it."""
    sizes = _sizes(plan, described)
    own = {memory: size for memory, size in sizes.items() if memory not in given}
    servers = {memory: given[memory] for memory in sizes if memory in given}
    if not own:
        yield servers
        return
    with tempfile.TemporaryDirectory(prefix="consort-far-") as made:
        folder = Path(made)
        key = folder / "key"
        key.touch(0o600)
        key.write_text(secrets.token_hex(32) + "\n", encoding="utf-8")
        socket = socket_path(folder / "socket")
        command = remote_memory().own_server(sum(own.values()), socket, key)
        process = subprocess.Popen(
            [*dying_with_us(), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            if not process.stdout.readline().startswith(b"ready"):
                _, words = process.communicate()
                raise EnvironmentLacks(
                    f"the server of remote memory does not start: {words.decode(errors='replace').strip()}",
                    f"give one that runs: {OPTION} {next(iter(own))}=HOST:PORT,key=FILE",
                )
            yield servers | dict.fromkeys(own, Server(str(socket), key))
        finally:
            process.terminate()
            process.communicate()


def _sizes(plan: Plan, described: Mapping[str, Any]) -> dict[str, int]:
    """The bytes that states take in each memory. `BadInput` where that is more than it has."""
    bytes_of = {task["name"]: int(task["state"]["bytes"]) for task in described["tasks"]}
    sizes: dict[str, int] = {}
    for name, task in plan.tasks.items():
        if task.remote_state is not None:
            memory = task.remote_state.memory
            sizes[memory] = sizes.get(memory, 0) + max(1, -(-bytes_of[name] // PAGE)) * PAGE
            size = plan.platform.memories[memory].size
            if size is not None and sizes[memory] > size.value.bytes:
                text = (
                    f"the states in {memory!r} take {Size.spelled(sizes[memory])}, with this one, and it has"
                    f" {size.value}; make one smaller, or name another memory"
                )
                raise BadInput(text, file=plan.file, field=f"tasks.{name}.remote_state.memory")
    return sizes
