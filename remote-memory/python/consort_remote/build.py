# SPDX-License-Identifier: Apache-2.0
"""Builds simulations of rtl/ with Verilator, each once for a state of its sources and parameters."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from consort.base.children import finished
from consort.base.errors import ConsortError, EnvironmentLacks
from consort.base.toolchain.builds import digest, kept
from consort.base.toolchain.compiler import compiled, for_make, run_tool

from consort_remote.source import need_folder

# The package's makefile leaves these blank, and models of more than one file then do not compile.
# The makefile would optimise for size. -O2 takes longer to compile and simulates no faster; what runs once is
# optimised as well, as the linker may take functions that both have from either.
MAKEFLAGS = (
    "OPT_FAST=-O1 OPT_SLOW=-O1 OPT_GLOBAL=-O1 "
    "CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD_NEWEST=-std=gnu++20 CFG_CXXFLAGS_STD=-std=gnu++20 "
    "CFG_CXXFLAGS_COROUTINES=-fcoroutines CFG_LDLIBS_THREADS=-pthread"
)
# Folders of rtl/ with what is synthesised, and the tops that simulations put it into (rtl/README.md).
FOLDERS = ("pkg", "regs", "common", "link", "cblock", "mblock", "top", "tb")
CONFIGURATION = "consort_config_pkg.sv"
PACKAGES = (CONFIGURATION, "consort_remote_pkg.sv", "consort_remote_regs_pkg.sv")


def tools() -> Path:
    """The environment of the hardware tools, made if need be; EnvironmentLacks where it cannot be had."""
    root = need_folder("simulating the hardware")
    for program, package in (("g++", "g++"), ("make", "make"), ("perl", "perl")):
        if shutil.which(program) is None:
            raise EnvironmentLacks(f"{program} is not installed", f"install it: apt-get install {package}")
    result = finished([root / "tools" / "setup-rtl.sh"], cwd=root)
    if result.returncode != 0:
        words = (result.stdout + result.stderr).strip()[-500:]
        raise EnvironmentLacks(
            f"the hardware tools are not there: {words}", "run remote-memory/tools/setup-rtl.sh"
        )
    return root.parent / "build" / "rtl-venv"


def environment() -> dict[str, str]:
    """The process environment in which the hardware tools find each other."""
    venv = tools()
    home = next((venv / "lib").glob("python3.*")) / "site-packages" / "verilator"
    own = {
        "VERILATOR_ROOT": str(home),
        "MAKEFLAGS": MAKEFLAGS,
        "PATH": f"{home / 'bin'}:{venv.resolve() / 'bin'}:{os.environ['PATH']}",
    }
    return os.environ | for_make(venv.parents[1]) | own


def paper(root: Path) -> Path:
    """The folder of the paper's packetization, which the blocks are compared with."""
    return root.parent / "experiments" / "remap" / "baseline"


def _folders(root: Path) -> list[Path]:
    return [*(root / "rtl" / folder for folder in FOLDERS), paper(root)]


def sources(root: Path) -> list[Path]:
    """The synthesisable sources, packages first."""
    packages = [source(root, name) for name in PACKAGES]
    found = (path for folder in _folders(root) for path in folder.glob("*.sv"))
    return packages + sorted(set(found) - set(packages))


def synthesised(root: Path) -> list[Path]:
    """The sources of the hardware itself, without the tops of simulations and the wire between two blocks."""
    wire = module(root, "paper_wire")
    return [path for path in sources(root) if path.parent.name != "tb" and path != wire]


def module(root: Path, name: str) -> Path:
    """The file of the module `consort_NAME`."""
    return source(root, f"consort_{name}.sv")


def short(path: Path) -> str:
    """The name of the module of a file, without `consort_`."""
    return path.stem.removeprefix("consort_")


def source(root: Path, name: str) -> Path:
    """The file `name` of the synthesisable sources, whichever folder of rtl/ it lies in."""
    (path,) = (path for folder in _folders(root) if (path := folder / name).exists())
    return path


def configuration(root: Path, folder: Path, **widths: int) -> Path:
    """A package of the widths of a build, in `folder`: those of rtl/ where no other is given."""
    own = source(root, CONFIGURATION).read_text(encoding="utf-8")
    there = {name: int(value) for name, value in re.findall(r"localparam int unsigned (\w+) = (\d+);", own)}
    if unknown := sorted(set(widths) - set(there)):
        raise ConsortError(f"{CONFIGURATION} has no {', '.join(unknown)}; it has {', '.join(there)}")
    lines = [f"  localparam int unsigned {name} = {value};" for name, value in (there | widths).items()]
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / CONFIGURATION
    made.write_text("\n".join(["package consort_config_pkg;", *lines, "endpackage", ""]), encoding="utf-8")
    return made


def checkers(root: Path) -> list[Path]:
    """Checkers of the blocks in every simulation of them, which are not part of the hardware."""
    return sorted((root / "rtl" / "check").glob("*.sv"))


def model(
    top: str,
    parameters: dict[str, int | str] | None = None,
    options: tuple[str, ...] = (),
    more: tuple[Path, ...] = (),
) -> Path:
    """The folder of a top module's simulated hardware, built where it is not up to date.

    In it are the headers (`Vtop.h`) and the archives of C++ that Verilator made; `options` are Verilator's.
    `more` are sources and control files beside those of rtl/; one of a name that rtl/ has replaces that.
    """
    root = need_folder("simulating the hardware")
    env = environment()
    names = {file.name for file in more}
    files = [file for file in sources(root) + checkers(root) if file.name not in names]
    files += [file for file in more if file.suffix == ".sv"]
    # Packages come first, wherever they are from.
    files.sort(key=lambda file: PACKAGES.index(file.name) if file.name in PACKAGES else len(PACKAGES))
    controls = [root / "rtl" / "lint.vlt", *(file for file in more if file.suffix == ".vlt")]
    given = [f"-G{name}={value}" for name, value in sorted((parameters or {}).items())]
    parts: list[str | bytes] = [repr((top, given, options, MAKEFLAGS))]
    for file in [*files, *controls, root / "rtl" / "requirements.lock"]:
        parts += [file.name, file.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        command = ["verilator", "--cc", "--build", "-j", "2", "-O3", "--x-assign", "fast"]
        command += ["--x-initial", "fast", "--no-timing", "-Wall", "--assert", "--top-module", top]
        command += ["--prefix", "Vtop", "--Mdir", str(scratch / "model")]
        command += [*given, *options, *map(str, controls), *map(str, files)]
        result = finished(command, cwd=root, env=env)
        if result.returncode != 0:
            raise ConsortError(f"building {top} failed:\n{_reasons(result.stdout + result.stderr)}")
        for file in (scratch / "model").iterdir():
            if file.suffix not in (".h", ".a"):
                file.unlink()
        (scratch / "model").rename(target)

    return kept("rtl", f"{top}-{digest(parts)}", "model", make, root=root.parent / "build")


def simulation(
    top: str,
    harness: Path,
    parameters: dict[str, int | str] | None = None,
    options: tuple[str, ...] = (),
    more: tuple[Path, ...] = (),
    defines: tuple[str, ...] = (),
    libraries: tuple[str, ...] = (),
) -> Path:
    """The program of a C++ harness around a `model`, built where it is not up to date.

    `defines` are options of the harness's compiler, `libraries` of the linker.
    """
    root = need_folder("simulating the hardware")
    hardware = model(top, parameters, options, more)
    shared = sorted(harness.parent.glob("*.hpp"))
    shared += sorted((root / "include" / "consort" / "remote").glob("*.hpp"))
    parts: list[str | bytes] = [repr((defines, libraries)), hardware.parent.name]
    for file in [harness, *shared]:
        parts += [file.name, file.read_bytes()]

    def make(target: Path, scratch: Path) -> None:
        home = Path(environment()["VERILATOR_ROOT"])
        found = [hardware, home / "include", home / "include" / "vltstd"]
        included = [f"-I{folder}" for folder in (root / "include", root.parent / "include")]
        # Verilator's own headers have warnings.
        included += [word for folder in found for word in ("-isystem", str(folder))]
        flags = ["-std=gnu++20", "-O2", "-Wall", "-Wextra", *defines]
        object_file = scratch / "harness.o"
        compiling = ["g++", *flags, *included, "-c", str(harness), "-o", str(object_file)]
        archives = [str(hardware / name) for name in ("libVtop.a", "libverilated.a")]
        linking = ["g++", str(object_file), *archives, "-pthread", *libraries, "-o", str(target)]
        for result in (compiled(compiling, scratch, root.parent), run_tool(linking, scratch)):
            if result.returncode != 0:
                raise ConsortError(f"building {top} failed:\n{_reasons(result.stdout + result.stderr)}")

    return kept(
        "rtl", f"{top}-{harness.stem}-{digest(parts)}", "simulation", make, root=root.parent / "build"
    )


def _reasons(said: str) -> str:
    """The lines of a failed build that say why; the commands around them are longer than all of these."""
    errors = [line[:500] for line in said.splitlines() if re.search(r"\berror\b", line, re.IGNORECASE)]
    return "\n".join(errors[:20]) or said.strip()[-3000:]
