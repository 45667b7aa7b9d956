# SPDX-License-Identifier: Apache-2.0
"""Linux with its own rpmsg modules, unmodified, for the board whose other core is a remote.

Debian's real-time kernel has the framework but not the modules: they are compiled from Debian's source of the
same version, and with them the kernel's own sample. Nothing of them enters the project.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from consort.base.errors import EnvironmentLacks, SystemFails
from consort.base.toolchain import debian
from consort.base.toolchain.builds import cache_folder, digest, kept, need_source_tree
from consort.base.toolchain.debian import archive_of
from consort.board.description import LinuxSpec
from filelock import FileLock

OWN = ("virtio_rpmsg_bus", "rpmsg_ns", "rpmsg_char", "rpmsg_ctrl")
SAMPLE = "rpmsg_client_sample"
# The kernel's configuration, as its build would give it to the modules.
SWITCHES = "".join(f" -DCONFIG_RPMSG_{name}_MODULE=1" for name in ("CHAR", "NS", "CTRL"))


def fetched(linux: LinuxSpec) -> Path:
    """The kernel, its headers, its rpmsg sources and a shell; fetched where they are not in the cache."""
    folder = cache_folder() / "rpmsg-linux" / linux.architecture
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        found = sorted(folder.glob("*/vmlinuz"))
        if not found:
            _fetch(linux, folder)
            found = sorted(folder.glob("*/vmlinuz"))
    return found[-1].parent


def _fetch(linux: LinuxSpec, folder: Path) -> None:
    instead = f"copy {folder} from a machine that has the network"
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        there = Path(scratch)
        theirs = debian.Archive(linux.architecture, there / "apt", instead)
        image = theirs.dependency(linux.package, r"linux-image-\S+")
        release = image.removeprefix("linux-image-")
        headers = f"linux-headers-{release}"
        packages = [headers, theirs.dependency(headers, r"linux-headers-\S+-common\S*"), "busybox-static"]
        files = [theirs.download(package) for package in packages]
        kernel = theirs.download(image)
        version = kernel.name.split("_")[1]
        series = ".".join(release.split(".")[:2])
        source = theirs.download(f"linux-source-{series}={version}")
        # The kernel's build runs programs of this machine.
        own = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()
        here = theirs if own == linux.architecture else debian.Archive(own, there / "apt-own", instead)
        files.append(here.download(theirs.dependency(headers, r"linux-kbuild-\S+")))
        whole = debian.unpacked(files, there / "whole")
        debian.unpacked([kernel], there / "image")
        (there / f"image/boot/vmlinuz-{release}").rename(whole / "vmlinuz")
        next((there / "image").rglob("rpmsg_core.ko")).rename(whole / "rpmsg_core.ko")
        (whole / "bin" / "busybox").rename(whole / "busybox")
        # Debian's makefile names the folder that the package would be installed in.
        makefile = whole / "usr" / "src" / headers / "Makefile"
        makefile.write_text(
            makefile.read_text(encoding="utf-8").replace("/usr/src/", "../"), encoding="utf-8"
        )
        (whole / "headers").symlink_to(Path("usr") / "src" / headers)
        debian.unpacked([source], there / "source")
        (whole / "rpmsg").mkdir()
        wanted = {f"drivers/rpmsg/{name}.c" for name in OWN} | {f"samples/rpmsg/{SAMPLE}.c"}
        wanted |= {"drivers/rpmsg/rpmsg_internal.h", "drivers/rpmsg/rpmsg_char.h"}
        with tarfile.open(next((there / "source").rglob("*.tar.xz"))) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.name.partition("/")[2] in wanted else None
                if content is not None:
                    (whole / "rpmsg" / Path(member.name).name).write_bytes(content.read())
        whole.rename(folder / f"{release}-{version}")


def modules(linux: LinuxSpec) -> dict[str, Path]:
    """Linux's modules and ours, by name."""
    there = fetched(linux)
    own = need_source_tree("a kernel module") / "ports" / "linux" / "rpmsg-kmod"
    names = [*OWN, SAMPLE]
    kbuild = f"obj-m := {' '.join(f'{name}.o' for name in names)}\nccflags-y +={SWITCHES}\n"
    theirs = _built(linux, there, {path.name: path for path in (there / "rpmsg").iterdir()}, kbuild)
    ours = {path.name: path for path in (own / "consort_rproc.c", own / "Kbuild")}
    made = _built(linux, there, ours, None)
    found = {f"{name}.ko": theirs / f"{name}.ko" for name in names}
    return {"rpmsg_core.ko": there / "rpmsg_core.ko", **found, "consort_rproc.ko": made / "consort_rproc.ko"}


def _built(linux: LinuxSpec, there: Path, sources: Mapping[str, Path], kbuild: str | None) -> Path:
    compiler = linux.tools + "gcc-12"
    for tool, package in ((compiler, linux.tools_package), ("make", "make")):
        if shutil.which(tool) is None:
            raise EnvironmentLacks(f"no {tool}", f"install it: apt-get install {package}")
    parts: list[str | bytes] = [str(there), kbuild or ""]
    for name, path in sorted(sources.items()):
        parts += [name, path.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        folder = scratch / "modules"
        folder.mkdir()
        for name, path in sources.items():
            shutil.copy(path, folder / name)
        if kbuild is not None:
            (folder / "Kbuild").write_text(kbuild, encoding="utf-8")
        command = ["make", "-C", str(there / "headers"), f"M={folder}", f"ARCH={linux.architecture}"]
        command += [f"CROSS_COMPILE={linux.tools}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]
        done = subprocess.run(command, capture_output=True, text=True)
        said = done.stdout + done.stderr
        if done.returncode != 0 or "warning:" in said:
            raise SystemFails(f"the modules do not build: {said[-3000:]}")
        folder.rename(target)

    return kept("kernel-modules", digest(parts), "rpmsg", make)


def first_files(linux: LinuxSpec, program: Path, script: Path, folder: Path) -> Path:
    """The first file system: modules, a shell, the program beside it, and what the first process does."""
    text = (script.parent / "library.sh").read_text(encoding="utf-8") + script.read_text(encoding="utf-8")
    init = folder / "init"
    init.write_text(text, encoding="utf-8")
    files = {"init": init, "bin/busybox": fetched(linux) / "busybox", "program": program, **modules(linux)}
    made = folder / "initrd"
    made.write_bytes(gzip.compress(archive_of(files, ("bin", "proc", "sys", "tmp")), 1, mtime=0))
    return made
