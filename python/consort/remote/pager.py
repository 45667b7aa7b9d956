# SPDX-License-Identifier: Apache-2.0
"""The user-level pager: where servers of remote memory are found, and how a program gets their segments."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from consort.errors import BadInput, EnvironmentLacks
from consort.model.quantities import Size
from consort.model.textvalue import WrongValue
from consort.runtime import checked_name, runtime_folder, socket_path
from consort.toolchain import remote_part

PAGE = 4096
LEAST_CACHE = 1 << 20
PAGES = ("copied", "mapped")
FAULTS = ("handler", "polling", "in-thread")


def socket_of(name: str) -> Path:
    """Where the server of this name listens for programs of this machine."""
    return socket_path(runtime_folder("memory") / f"{checked_name(name, 'a server')}.socket")


def key_of(name: str) -> Path:
    """The key of the server of this name, where it was given no other."""
    return runtime_folder("memory") / f"{checked_name(name, 'a server')}.key"


def made_key(name: str) -> Path:
    """`key_of(name)`, made where it is not there yet: 32 random bytes in hexadecimal, for this user alone."""
    path = key_of(name)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return path
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32) + "\n")
    return path


@dataclass(frozen=True)
class Attachment:
    """A segment that a program is to get. Sizes in bytes."""

    server: str  # HOST:PORT, or the path of a socket
    key: Path
    size: int
    cache: int
    pages: str = PAGES[0]

    @classmethod
    def parse(cls, text: str) -> Attachment:
        """`WHERE,size=SIZE[,cache=SIZE][,key=FILE][,pages=copied|mapped]`; else `BadInput`.

        WHERE is a server's name or HOST:PORT.
        """
        where, *rest = text.split(",")
        given: dict[str, str] = {}
        for part in rest:
            name, equals, value = part.partition("=")
            if name not in ("size", "cache", "key", "pages") or not equals or name in given:
                raise BadInput(
                    f"{part!r}: size=, cache=, key= or pages= is expected, each once", field="--attach"
                )
            given[name] = value
        if "size" not in given:
            raise BadInput(f"{text!r} lacks its size: {where},size=2GiB", field="--attach")
        size = _bytes(given["size"])
        cache = _bytes(given["cache"]) if "cache" in given else max(LEAST_CACHE, size // 2 // PAGE * PAGE)
        if size % PAGE or size == 0:
            raise BadInput(f"{given['size']} is no multiple of 4KiB", field="--attach: size")
        if cache < LEAST_CACHE:
            raise BadInput(f"{given['cache']} is below 1MiB", field="--attach: cache")
        pages = given.get("pages", PAGES[0])
        if pages not in PAGES or (pages == "mapped" and ":" in where):
            raise BadInput(
                f"{pages} is none of {', '.join(PAGES)}, or the server is not on this machine",
                field="--attach: pages",
            )
        if ":" in where:
            if "key" not in given:
                raise BadInput("over TCP the server's key is needed: key=FILE", field="--attach")
            return cls(where, _file(given["key"]), size, cache)
        return cls(
            str(socket_of(where)),
            _file(given["key"]) if "key" in given else key_of(where),
            size,
            cache,
            pages,
        )


def _bytes(text: str) -> int:
    try:
        return Size.parse(text).value
    except WrongValue as error:
        raise BadInput(str(error), field="--attach") from error


def _file(text: str) -> Path:
    path = Path(text).absolute()
    if "\t" in text or "\n" in text:
        raise BadInput("a tab or the end of a line in a file's name", field="--attach: key")
    return path


def serve_command(size: int, socket: Path, key: Path, listen: str | None, spin_us: int) -> list[str]:
    """The command that offers `size` bytes until it is interrupted."""
    command = [str(remote_part("serve")), "--bytes", str(size), "--socket", str(socket), "--key", str(key)]
    if listen is not None:
        command += ["--listen", listen]
    return [*command, "--spin-us", str(spin_us)]


def environment(
    attachments: Sequence[Attachment],
    *,
    threshold: int,
    faults: str,
    prefetch: int,
    patience_ms: int,
    report: Path | None,
) -> dict[str, str]:
    """The process environment in which a program gets these segments."""
    rows = (f"{each.server}\t{each.key}\t{each.size}\t{each.cache}\t{each.pages}" for each in attachments)
    preloaded = [str(remote_part("preload")), *os.environ.get("LD_PRELOAD", "").split()]
    made = os.environ | {
        "LD_PRELOAD": " ".join(preloaded),
        "CONSORT_REMOTE_SEGMENTS": "\n".join(rows),
        "CONSORT_REMOTE_THRESHOLD": str(threshold),
        "CONSORT_REMOTE_FAULTS": faults,
        "CONSORT_REMOTE_PREFETCH": str(prefetch),
        "CONSORT_REMOTE_PATIENCE_MS": str(patience_ms),
    }
    if report is not None:
        made["CONSORT_REMOTE_REPORT"] = str(report.absolute())
    return made


def preloadable(program: str) -> str:
    """The program's path; `BadInput` where it is none, or where the dynamic linker would preload nothing."""
    found = shutil.which(program)
    if found is None:
        raise BadInput(f"there is no program {program}")
    if Path(found).stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise BadInput(f"{found} changes its user or group: nothing is preloaded into such a program")
    with Path(found).open("rb") as file:
        if file.read(4) == b"\x7fELF":
            try:
                segments = [segment["p_type"] for segment in ELFFile(file).iter_segments()]
            except (ELFError, ValueError) as error:
                raise BadInput(f"{found} cannot be read: {error}") from error
            if "PT_INTERP" not in segments:
                raise BadInput(f"{found} is statically linked: nothing can be preloaded into it")
    if os.uname().sysname != "Linux":
        raise EnvironmentLacks("userfaultfd is part of Linux", "use a Linux machine")
    return found
