# SPDX-License-Identifier: Apache-2.0
"""A running board: its memory file, its QEMU, its consoles, and the processes beside it.

All that a board needs while it runs lies in one folder in memory, with a lock that its owner holds. QEMU dies
with its owner; a folder whose lock is free belongs to an owner that was killed: whoever starts a board next
removes it. The console logs lie elsewhere and stay.
"""

from __future__ import annotations

import ctypes
import functools
import json
import mmap
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from consort.base.errors import BadInput, EnvironmentLacks, SystemFails
from consort.base.owned import owned_folder, remove, remove_unowned
from consort.base.runtime import NAME, Process, checked_name, private_folder, runtime_folder, socket_path
from consort.base.toolchain.builds import cache_folder
from consort.base.waiting import STANDSTILL_S, Standstill, stop_if_asked
from consort.board import rtlinux
from consort.board.control_block import BYTES, STOPPED_AT, ControlBlock, State, Token
from consort.board.description import CONTROL_BLOCKS, BoardSpec
from consort.board.image import check_image, loaded_parts
from consort.board.rtlinux import LinuxBoot

STATE_FILE, MEMORY, GDB = "state.json", "memory", "gdb"
# The file in a board's folder, sockets among them, that has the longest name.
LONGEST_FILE = "state.json.new"
LOGS_KEPT = 20
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def boards_folder() -> Path:
    """The folder of running boards: $CONSORT_BOARDS, else this user's runtime folder."""
    given = os.environ.get("CONSORT_BOARDS")
    return private_folder(Path(given).absolute()) if given else runtime_folder("boards")


def logs_folder() -> Path:
    return cache_folder() / "board-logs"


def die_with(parent: int) -> None:
    """In a new process: end when the one that started it does, however it does, or has already."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _with_this_process() -> Callable[[], None]:
    return functools.partial(die_with, os.getpid())


def sweep() -> None:
    """Removes what boards whose owner was killed have left, and old console logs."""
    root = boards_folder()
    for folder in root.iterdir():
        # $CONSORT_BOARDS may name a folder that has other things, too.
        if _is_boards(folder):
            remove_unowned(folder, MEMORY)
    logs = logs_folder()
    if logs.is_dir():
        by_age = sorted(logs.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
        for folder in by_age[LOGS_KEPT:]:
            if not (root / folder.name).exists():
                shutil.rmtree(folder, ignore_errors=True)


def _is_boards(folder: Path) -> bool:
    # The memory is the first of its files, and the last that goes.
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError:
        return False
    return not names or ((folder / MEMORY).is_file() and bool(NAME.fullmatch(folder.name)))


@dataclass
class Board:
    """A board that runs while the `with` block does. Orders for its cores are given before it starts."""

    spec: BoardSpec
    images: Mapping[str, Path]
    name: str = ""
    counted: bool = False
    # Counted: an instruction takes 2 to this nanoseconds.
    shift: int = 0
    # QEMU's options for what the board's controllers are connected to, given the folder for sockets.
    lines: Callable[[Path], Sequence[str]] | None = None
    # By core: what its UART is connected to, instead of a file for its console.
    serial: Callable[[Path], Mapping[str, str]] | None = None
    orders: Mapping[int, tuple[int, Sequence[int]]] = field(default_factory=dict)
    # The bytes to write into the shared window before the board starts, by offset.
    contents: Mapping[int, bytes] = field(default_factory=dict)
    # Linux on the core that starts first: given the folder for its files, what QEMU is to boot.
    linux: Callable[[Path], LinuxBoot] | None = None
    # A thread of this machine for each core; None: where there are processors for that.
    threads: bool | None = None
    # True if processes beside it live in its time (token.py).
    synchronized: bool = False
    # Names for messages, of control blocks that are not a core's, or another's.
    names: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name = self.name or f"{self.spec.name}-{secrets.token_hex(3)}"
        self.folder = boards_folder() / checked_name(self.name, "a board")
        socket_path(self.folder / LONGEST_FILE)
        self.logs = logs_folder() / self.name
        self.control_blocks: list[ControlBlock] = []
        self.peers: list[subprocess.Popen[bytes]] = []
        self.machine: subprocess.Popen[bytes] | None = None
        self.token: Token | None = None
        self._mapping: mmap.mmap | None = None
        self._lock = -1

    @property
    def memory(self) -> Path:
        return self.folder / MEMORY

    def log(self, core: str) -> Path:
        return self.logs / f"{core}.log"

    def __enter__(self) -> Self:
        for core, image in self.images.items():
            check_image(self.spec.core(core), image)
        program = rtlinux.find(self.spec.emulator)
        sweep()
        try:
            self._make_folder()
            self._make_memory()
            self._start(program)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _make_folder(self) -> None:
        try:
            self.folder, self._lock = owned_folder(self._made)
        except FileExistsError as error:
            self.folder = Path()
            raise BadInput(f"a board named '{self.name}' is up already; take another --name") from error
        except OSError as error:
            self.folder = Path()
            raise EnvironmentLacks(
                f"{boards_folder()} cannot be written ({error.strerror})",
                "set $CONSORT_BOARDS to another folder",
            ) from error
        try:
            shutil.rmtree(self.logs, ignore_errors=True)
            self.logs.mkdir(parents=True)
        except OSError as error:
            raise EnvironmentLacks(
                f"{self.logs} cannot be written ({error.strerror})", "repair it or set $CONSORT_CACHE"
            ) from error

    def _made(self) -> Path:
        self.folder.mkdir(mode=0o700)
        return self.folder

    def _make_memory(self) -> None:
        """The memory file, all of it taken now: a disk that fills up later would kill QEMU half-way."""
        file = os.open(self.memory, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, self.spec.memory_bytes)
        except OSError as error:
            raise EnvironmentLacks(
                f"no room for the board's memory of {self.spec.memory_bytes >> 20} MiB"
                f" under {boards_folder()} ({error.strerror})",
                "make room, or set $CONSORT_BOARDS to a folder with room",
            ) from error
        finally:
            if self.memory.stat().st_size == self.spec.memory_bytes:
                self._mapping = mmap.mmap(file, self.spec.memory_bytes)
            os.close(file)
        assert self._mapping is not None
        start = self.spec.window_offset
        self.control_blocks = [ControlBlock(self._mapping, start + i * BYTES) for i in range(CONTROL_BLOCKS)]
        for offset, content in self.contents.items():
            self.write(offset, content)
        for place, (role, arguments) in self.orders.items():
            self.control_blocks[place].order(role, arguments)

    def _start(self, program: Path) -> None:
        if self.synchronized:
            self.token = Token(self.folder, self._stopped_at)
        consoles = {core.name: self.log(core.name) for core in self.spec.cores}
        line = rtlinux.command_line(
            program,
            self.spec,
            self.memory,
            {core: image.absolute() for core, image in self.images.items()},
            consoles,
            self.folder / GDB,
            counted=self.counted,
            threads=enough_processors(len(self.images)) if self.threads is None else self.threads,
            shift=self.shift,
            lines=self.lines(self.folder) if self.lines is not None else (),
            serial=self.serial(self.folder) if self.serial is not None else None,
            linux=self.linux(self.folder).options() if self.linux is not None else (),
            semihosting=self.synchronized,
        )
        with (self.logs / "qemu.log").open("wb") as output:
            self.machine = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=_with_this_process(),
                # Where the core that synchronizes finds its files.
                cwd=self.folder if self.synchronized else None,
            )
        owner, machine = Process.of(os.getpid()), Process.of(self.machine.pid)
        state = {"board": self.spec.name, "name": self.name, "owner": owner.pid, "qemu": machine.pid}
        state |= {"owner_started": owner.started, "qemu_started": machine.started}
        state |= {"counted": self.counted, "images": {k: str(v.absolute()) for k, v in self.images.items()}}
        state |= {"memory": str(self.memory), "logs": str(self.logs)}
        partial = self.folder / (STATE_FILE + ".new")
        partial.write_text(json.dumps(state, indent=1), encoding="utf-8")
        partial.replace(self.folder / STATE_FILE)

    def _stopped_at(self) -> int:
        """The time of a board that has stopped for processes [ns]."""
        assert self.spec.synchronizer is not None
        low, high = self.control_blocks[self.spec.synchronizer.place].results[STOPPED_AT:][:2]
        return low | high << 32

    def _end(self) -> None:
        for process in (*self.peers, *([self.machine] if self.machine else [])):
            if process.poll() is None:
                process.kill()
            process.wait()
        if self.token is not None:
            self.token.close()
            self.token = None
        for block in self.control_blocks:
            block.release()
        self.control_blocks = []
        if self._mapping is not None:
            self._mapping.close()
            self._mapping = None
        if self._lock >= 0:
            remove(self.folder, self._lock, MEMORY)
            self._lock = -1

    def read(self, offset: int, count: int) -> bytes:
        """Bytes of the shared window."""
        assert self._mapping is not None
        begin = self.spec.window_offset + offset
        return self._mapping[begin : begin + count]

    def write(self, offset: int, content: bytes) -> None:
        assert self._mapping is not None
        begin = self.spec.window_offset + offset
        if not 0 <= offset <= self.spec.window_bytes - len(content):
            raise ValueError(f"{len(content)} bytes at {offset:#x} lie outside of the shared window")
        self._mapping[begin : begin + len(content)] = content

    def _processes(self) -> list[int]:
        return [process.pid for process in (self.machine, *self.peers) if process is not None]

    def release_beside_linux(self, seconds: float = STANDSTILL_S) -> str:
        """Waits for Linux, puts the other cores' images into memory, has Linux release them; its version.

        Given up when no console has had a word for so many seconds.
        """
        block = self.control_blocks[CONTROL_BLOCKS - 1]
        block.order(0)
        standstill = Standstill(seconds, self._processes)
        while block.state == State.SILENT:
            if (how := self.ended()) is not None:
                raise SystemFails(f"board {self.name}: QEMU {how}; the consoles are under {self.logs}")
            if standstill.over([file.stat().st_size for file in sorted(self.logs.iterdir())]):
                raise SystemFails(
                    f"board {self.name}: Linux is not up, and silent for {seconds:g} s; see {self.logs}"
                )
            stop_if_asked()
            time.sleep(0.01)
        assert self._mapping is not None
        base = self.spec.memory[self.spec.emulator.memory].address
        for image in self.images.values():
            for address, content in loaded_parts(image):
                self._mapping[address - base : address - base + len(content)] = content
        realtime = "PREEMPT_RT" if block.results[0] == 1 else "not PREEMPT_RT"
        version = f"{block.text}, {realtime}"
        block.order(1 if self.images else 2)
        return version

    def start_process(self, command: Sequence[str], place: int) -> subprocess.Popen[bytes]:
        """Starts a program for boards as a process of this machine, at the control block `place`."""
        window = [str(self.memory), str(self.spec.window_offset), str(self.spec.window_bytes), str(place)]
        with ExitStack() as stack:
            output = stack.enter_context((self.logs / f"process-{place}.log").open("wb"))
            given = None if self.token is None else stack.enter_context(self.token.join(place))
            process = subprocess.Popen(
                [*command, *window],
                stdin=subprocess.DEVNULL if given is None else given.fileno(),
                stdout=output,
                stderr=output,
                preexec_fn=_with_this_process(),
            )
        self.peers.append(process)
        return process

    def ended(self) -> str | None:
        """The way QEMU ended, in words; None while it runs."""
        status = self.machine.poll() if self.machine else 0
        if status is None:
            return None
        said = (self.logs / "qemu.log").read_text(errors="replace").strip()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return how + (f": {said[-500:]}" if said else "")

    def _who(self, place: int) -> str:
        cores = {core.place: core.name for core in self.spec.cores}
        return self.names.get(place) or cores.get(place) or f"control block {place}"

    def wait(
        self,
        places: Sequence[int],
        seconds: float = STANDSTILL_S,
        watch: Callable[[], None] | None = None,
    ) -> None:
        """Waits until the programs at these places are done; `SystemFails` says which is not, and why.

        Given up when none of them has reported progress for so many seconds, not when all takes long.
        """
        standstill = Standstill(seconds, self._processes)
        while True:
            still = standstill.over(
                [(self.control_blocks[place].state, self.control_blocks[place].progress) for place in places]
            )
            for place in places:
                if self.control_blocks[place].state == State.FAILED:
                    raise SystemFails(
                        f"board {self.name}: {self._who(place)} failed: {self.control_blocks[place].text}"
                    )
            waiting = [place for place in places if self.control_blocks[place].state != State.DONE]
            if not waiting:
                return
            if (how := self.ended()) is not None:
                raise SystemFails(f"board {self.name}: QEMU {how}; the consoles are under {self.logs}")
            for process in self.peers:
                status = process.poll()
                if status not in (None, 0):
                    raise SystemFails(
                        f"board {self.name}: a process beside it ended with status {status};"
                        f" its words are under {self.logs}"
                    )
            if still:
                blocks = [(self._who(place), self.control_blocks[place]) for place in waiting]
                state = ", ".join(f"{who} {d.state.name.lower()} at {d.progress}" for who, d in blocks)
                raise SystemFails(
                    f"board {self.name}: nothing has moved for {seconds:g} s ({state}); consoles: {self.logs}"
                )
            if watch is not None:
                watch()
            stop_if_asked()
            time.sleep(0.005)


def enough_processors(cores: int) -> bool:
    """True if each core that runs can have a thread here that waits by spinning, and all else goes on. If
    not, two cores that wait for each other would each wait for a time slice of the host's instead.

    Where not, two cores that wait for each other would each wait for a time slice of the host's instead.
    """
    return len(os.sched_getaffinity(0)) >= cores + 2


def running() -> list[dict[str, Any]]:
    """The states of the running boards, by name."""
    sweep()
    found = []
    for folder in sorted(boards_folder().iterdir()):
        try:
            found.append(_state(folder))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def _state(folder: Path) -> dict[str, Any]:
    """The state that a board's owner wrote; ValueError, KeyError or TypeError if it is not of that form."""
    if not NAME.fullmatch(folder.name) or folder.is_symlink():
        raise ValueError("no board's folder")
    state: dict[str, Any] = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
    if state["name"] != folder.name or not isinstance(state["board"], str):
        raise ValueError("another board's state")
    images = state["images"]
    if not isinstance(images, dict):
        raise ValueError("images by core")
    if any(not isinstance(path, str) or not path.startswith("/") for path in images.values()):
        raise ValueError("images are absolute paths")
    for process in ("owner", "qemu"):
        state[process] = Process(int(state[process]), int(state.pop(f"{process}_started")))
    # Where these lie follows from the name; nothing written down may lead elsewhere.
    return state | {"memory": str(folder / MEMORY), "logs": str(logs_folder() / folder.name)}


def named(name: str | None) -> dict[str, Any]:
    """The running board of that name or kind; the only one if None."""
    boards = running()
    exact = [b for b in boards if name is None or b["name"] == name]
    found = exact or [b for b in boards if b["board"] == name]
    if len(found) == 1:
        return found[0]
    up = ", ".join(b["name"] for b in boards)
    if not boards:
        raise BadInput("no board is up; start one: consort board up BOARD")
    if not found:
        raise BadInput(f"no board '{name}' is up; these are: {up}")
    raise BadInput(f"several boards are up: {up}; name one")


__all__ = ["Board", "boards_folder", "logs_folder", "named", "running", "sweep"]
