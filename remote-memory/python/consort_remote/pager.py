# SPDX-License-Identifier: Apache-2.0
"""The user-level pager: where servers of remote memory are found, and how a program gets their segments."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import BadInput, EnvironmentLacks
from consort.base.packages import PAGE as PAGE
from consort.base.runtime import checked_name, runtime_folder, socket_path
from consort.model.base import WrongValue
from consort.model.quantities import Size

from consort_remote.toolchain import remote_part

HUGE_PAGE = 2 << 20
# The smallest cache [bytes], by the bytes of a page.
LEAST_CACHE = {PAGE: 1 << 20, HUGE_PAGE: 8 * HUGE_PAGE}
PAGES = ("copied", "mapped")
FAULTS = ("handler", "polling", "in-thread")
FORKS = ("copy", "nothing")
SETTINGS = ("size", "cache", "key", "pages", "page", "replicas", "encrypt", "fabric")


def socket_of(name: str) -> Path:
    """The socket on which the server of this name listens for programs of this machine."""
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

    servers: tuple[str, ...]  # HOST:PORT, or the path of a socket
    key: Path
    size: int
    cache: int
    pages: str = PAGES[0]
    replicas: int = 1
    encrypt: bool = False
    fabric: str = ""  # a provider of libfabric
    page: int = PAGE  # or HUGE_PAGE

    @classmethod
    def parse(cls, text: str) -> Attachment:
        """`WHERE[+WHERE]...,size=SIZE[,cache=SIZE][,key=FILE][,pages=copied|mapped][,replicas=N][,encrypt=yes]
        [,fabric=PROVIDER][,page=4KiB|2MiB]`.

        WHERE is a server's name or HOST:PORT. `BadInput` where it is none of that.
        """
        where, *rest = text.split(",")
        given: dict[str, str] = {}
        for part in rest:
            name, equals, value = part.partition("=")
            if name not in SETTINGS or not equals or name in given:
                raise BadInput(f"{part!r}: {'=, '.join(SETTINGS)}= is expected, each once", field="--attach")
            given[name] = value
        if "size" not in given:
            raise BadInput(f"{text!r} lacks its size: {where},size=2GiB", field="--attach")
        size = _bytes(given["size"])
        page = _bytes(given.get("page", "4KiB"))
        if page not in LEAST_CACHE:
            raise BadInput(f"{given['page']} is not a page size; write 4KiB or 2MiB", field="--attach: page")
        least = LEAST_CACHE[page]
        cache = _bytes(given["cache"]) if "cache" in given else max(least, size // 2 // page * page)
        if size % page or size == 0:
            raise BadInput(f"{given['size']} is not a multiple of {page >> 10}KiB", field="--attach: size")
        if cache < least:
            raise BadInput(
                f"{given['cache']} is below {least >> 20}MiB, for pages of {page >> 10}KiB",
                field="--attach: cache",
            )
        servers = where.split("+")
        over_tcp = [":" in each for each in servers]
        pages = given.get("pages", PAGES[0])
        if pages not in PAGES or (pages == "mapped" and (any(over_tcp) or len(servers) > 1)):
            raise BadInput(
                f"{pages} is none of {', '.join(PAGES)}, or the server is not on this machine, or not the"
                " only one",
                field="--attach: pages",
            )
        replicas = _replicas(given.get("replicas", "1"), servers)
        encrypt = given.get("encrypt", "no")
        if encrypt not in ("yes", "no") or (encrypt == "yes" and not any(over_tcp)):
            raise BadInput(
                f"{encrypt} is not yes or no, or the server is on this machine and shares its memory",
                field="--attach: encrypt",
            )
        fabric = _fabric(given.get("fabric"), all(over_tcp), encrypt == "yes")
        if "key" not in given and (any(over_tcp) or len(servers) > 1):
            raise BadInput("over TCP the servers' key is needed: key=FILE", field="--attach")
        return cls(
            tuple(each if tcp else str(socket_of(each)) for each, tcp in zip(servers, over_tcp, strict=True)),
            _file(given["key"]) if "key" in given else key_of(where),
            size,
            cache,
            pages,
            replicas,
            encrypt == "yes",
            fabric,
            page,
        )

    def row(self) -> str:
        """The row in the form of the preloaded library."""
        sizes = (str(self.key), str(self.size), str(self.cache), self.pages, str(self.replicas))
        encryption = "encrypted" if self.encrypt else "plain"
        return "\t".join([*sizes, encryption, self.fabric, str(self.page), *self.servers])


def _fabric(provider: str | None, over_tcp: bool, encrypt: bool) -> str:
    if provider is None:
        return ""
    field = "--attach: fabric"
    if not re.fullmatch(r"[a-z0-9_;]{1,31}", provider):
        raise BadInput(f"{provider!r} is not a name of a provider: tcp, shm, 'verbs;ofi_rxm'", field=field)
    if not over_tcp:
        raise BadInput("a server of this machine, by its name, shares its memory: HOST:PORT", field=field)
    if encrypt:
        raise BadInput("encrypt=yes: pages cross a fabric as they are", field=field)
    return provider


def _replicas(text: str, servers: Sequence[str]) -> int:
    replicas = int(text) if text.isdecimal() else 0
    if replicas < 1 or len(servers) % replicas:
        wrong = (
            f"{len(servers)} servers are not a multiple of {text}" if replicas else f"{text} is not a number"
        )
        raise BadInput(f"{wrong}: for two copies name two servers, A+B", field="--attach: replicas")
    if len(set(servers)) < len(servers):
        raise BadInput("a server is named twice", field="--attach")
    return replicas


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


def serve_command(
    size: int,
    socket: Path,
    key: Path,
    listen: str | None,
    spin_us: int,
    encrypt: bool,
    fabrics: Sequence[str] = (),
    *,
    huge_pages: bool = False,
) -> list[str]:
    """The command that offers `size` bytes until it is interrupted."""
    command = [str(remote_part("serve")), "--bytes", str(size), "--socket", str(socket), "--key", str(key)]
    if listen is not None:
        command += ["--listen", listen]
    if encrypt:
        command += ["--encrypt", "1"]
    if huge_pages:
        command += ["--huge-pages", "1"]
    for each in fabrics:
        command += ["--fabric", each]
    return [*command, "--spin-us", str(spin_us)]


def environment(
    attachments: Sequence[Attachment],
    *,
    threshold: int,
    faults: str,
    prefetch: int,
    patience_ms: int,
    reconnect_ms: int,
    report: Path | None,
    record_set: Path | None = None,
    prefetch_set: Path | None = None,
    control: Path | None = None,
    fork: str = "copy",
) -> dict[str, str]:
    """The process environment in which a program gets these segments."""
    rows = (each.row() for each in attachments)
    preloaded = [str(remote_part("preload")), *os.environ.get("LD_PRELOAD", "").split()]
    made = os.environ | {
        "LD_PRELOAD": " ".join(preloaded),
        "CONSORT_REMOTE_SEGMENTS": "\n".join(rows),
        "CONSORT_REMOTE_THRESHOLD": str(threshold),
        "CONSORT_REMOTE_FAULTS": faults,
        "CONSORT_REMOTE_FORK": fork,
        "CONSORT_REMOTE_PREFETCH": str(prefetch),
        "CONSORT_REMOTE_PATIENCE_MS": str(patience_ms),
        "CONSORT_REMOTE_RECONNECT_MS": str(reconnect_ms),
    }
    files = {"REPORT": report, "RECORD_SET": record_set, "PREFETCH_SET": prefetch_set, "CONTROL": control}
    for name, path in files.items():
        if path is not None:
            made[f"CONSORT_REMOTE_{name}"] = str(path.absolute())
    return made


def preloadable(program: str) -> str:
    """The program's path; `BadInput` where it is none, or where the dynamic linker would preload nothing."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

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
