# SPDX-License-Identifier: Apache-2.0
"""Run-time state on a machine that others use, too: folders of this user alone, and processes that are still
the ones that were started.

`runtime_folder.hpp` of ports/linux finds the same folders, by the same rules, for C++ programs.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput, EnvironmentLacks

# As the first word of a command's arguments, in a list of options (a=b,c=d) and in a socket's path of at most
# 107 characters, such a name is nothing but a name.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
LONGEST_SOCKET = 107


def checked_name(name: str, what: str) -> str:
    """The name; `BadInput` where it could mean more than a name to a program that it is given to."""
    if NAME.fullmatch(name):
        return name
    shown = name if len(name) <= 60 else f"{name[:57]}..."
    raise BadInput(
        f"{shown!r} is not a name for {what}; a letter or digit, then up to 39 letters, digits, '-', '_'"
        " and '.'"
    )


def runtime_folder(purpose: str) -> Path:
    """This user's own folder for what runs now, made where it is not there.

    `$XDG_RUNTIME_DIR/consort/PURPOSE`; without that variable `/tmp/consort-UID/PURPOSE`. `EnvironmentLacks`
    where somebody else could have prepared it: see `private_folder`.
    """
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        base = Path(given)
        if not base.is_absolute():
            raise EnvironmentLacks(
                f"XDG_RUNTIME_DIR is {given!r}, no absolute path", "set it to a folder of yours"
            )
        _check_private(base, "set XDG_RUNTIME_DIR to a folder of yours, or unset it")
        top = base / "consort"
    else:
        top = Path("/tmp") / f"consort-{os.getuid()}"
    private_folder(top)
    return private_folder(top / purpose)


def private_folder(path: Path) -> Path:
    """A folder that is this user's alone, made where it is not there (its parents, too).

    It is refused (`EnvironmentLacks`) where it is a link, another user's, or open to other users; and where
    its parent lets other users replace it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise EnvironmentLacks(f"{path} cannot be made ({error.strerror})", "give it another place") from None
    _check_private(path, f"remove it, or give it to yourself alone: chmod 700 {path}")
    return path


def _check_private(path: Path, how: str) -> None:
    try:
        found, above = path.lstat(), path.parent.stat()
    except OSError as error:
        raise EnvironmentLacks(f"{path} cannot be read ({error.strerror})", how) from None
    if not stat.S_ISDIR(found.st_mode):
        raise EnvironmentLacks(f"{path} is not a folder but a {'link' if path.is_symlink() else 'file'}", how)
    if found.st_uid != os.getuid():
        raise EnvironmentLacks(f"{path} belongs to another user (uid {found.st_uid})", how)
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise EnvironmentLacks(
            f"{path} is open to other users (mode {stat.S_IMODE(found.st_mode):03o}; 700 is needed)", how
        )
    others_write = above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX
    if above.st_uid not in (0, os.getuid()) or others_write:
        raise EnvironmentLacks(f"{path.parent} lets other users replace what is in it", "use another folder")


def socket_path(path: Path) -> Path:
    """The path; `EnvironmentLacks` where it is too long for a Unix socket."""
    if len(os.fsencode(path)) > LONGEST_SOCKET:
        raise EnvironmentLacks(
            f"{path} is longer than {LONGEST_SOCKET} characters, too long for a socket",
            "use a folder with a shorter path",
        )
    return path


def expect_own_peer(connection: socket.socket) -> None:
    """`EnvironmentLacks` unless the process at the other end of a Unix socket is this user's."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", packed)
    if uid != os.getuid():
        connection.close()
        raise EnvironmentLacks(f"the socket is another user's (uid {uid})", "end that user's process")


@dataclass(frozen=True)
class Process:
    """A process of this user's: its number, and when it started [clock ticks since boot].

    A number alone names another process once the first has ended.
    """

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has this number now; `ProcessLookupError` where there is none."""
        started = _started(pid)
        if started is None:
            raise ProcessLookupError(f"there is no process {pid}")
        return cls(pid, started)

    def runs(self) -> bool:
        """True if it has not ended, and is this user's."""
        return _started(self.pid) == self.started

    def send(self, number: signal.Signals) -> bool:
        """Sends it a signal; False where it has ended, whoever has its number now."""
        try:
            # Held open first: the number cannot go to another process between the check and the signal.
            handle = os.pidfd_open(self.pid)
        except (OSError, OverflowError, ValueError):
            return False
        try:
            if not self.runs():
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True


def _started(pid: int) -> int | None:
    """The start of a process of this user; None if there is none of that number."""
    folder = Path("/proc") / str(pid)
    try:
        text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        if folder.stat().st_uid != os.getuid():
            return None
        # The name in parentheses may hold anything; the 22nd field is the 20th after it.
        fields = text.rpartition(")")[2].split()
        # One that nobody has waited for yet has ended all the same.
        return None if fields[0] in "ZX" else int(fields[19])
    except (OSError, ValueError, IndexError):
        return None
