# SPDX-License-Identifier: Apache-2.0
"""The programs and libraries of the pager, built when they are first needed."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from consort.base.toolchain.builds import cpp_tree
from consort.base.toolchain.compiler import TOOL_FLAGS, own_program

from consort_remote.source import cpp_folder

# Parts of pager/ that are a program or a library by themselves, with flags of their linker. The compiler's
# are the same, so that ccache has of one what the other needs.
REMOTE_PARTS: dict[str, tuple[str, ...]] = {
    "serve": (),
    "measure": (),
    "lend": (),
    "preload": ("-shared",),
    "state": ("-shared",),
}
REMOTE_FLAGS = ("-fPIC", "-fvisibility=hidden")
# Where it is, pages can go through a fabric.
FABRIC_HEADER = Path("/usr/include/rdma/fi_rma.h")
# The Debian package of a header that a compiler may not find.
PACKAGES = {"sodium.h": "libsodium-dev", "isa-l/crc.h": "libisal-dev"}


@lru_cache
def remote_part(name: str) -> Path:
    """A program or library of remote memory, built if it is not cached: the server (`serve`), what times
    faults (`measure`), what attaches for a virtual machine (`lend`), what programs preload (`preload`), or
    the library of runs whose tasks' states lie there (`state`).

    Raises EnvironmentLacks where it cannot be built.
    """
    folder = cpp_folder() / "pager"
    link = REMOTE_PARTS[name]
    others = tuple(part for part in REMOTE_PARTS if part != name)
    more = tuple(
        file
        for file in sorted(folder.glob("*.cpp"))
        if file.stem != name and not any(re.match(rf"{other}(_|$)", file.stem) for other in others)
    )
    libraries = (*link, "-lsodium", "-lisal")
    fabric = ("-DCONSORT_LIBFABRIC",) if FABRIC_HEADER.exists() else ()
    source = folder / f"{name}.cpp"
    folders = (folder, folder.parent / "include", cpp_tree() / "ports" / "linux" / "tools")
    return own_program(
        f"remote-{name}", source, folders, (*TOOL_FLAGS, *REMOTE_FLAGS, *fabric), more, libraries, PACKAGES
    )
