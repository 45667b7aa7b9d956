# SPDX-License-Identifier: Apache-2.0
"""check_skips.py FILE...: reads JUnit files of pytest and ctest; fails on a skip outside tests/skips.toml.

The file of a sanitizer's preset has that preset's name at its end (test-tsan.xml). Exit status 0 when every
skip is allowed here, 1 when one is not, 2 for a wrong command line or list.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "skips.toml"


@dataclass(frozen=True)
class Skip:
    """A test that was skipped: its name, the file that skipped it, the reason, the JUnit file."""

    test: str
    file: str
    words: str
    junit: Path


def cannot_mount(_: Skip) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=64K", "none", folder]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            return True
        subprocess.run(["umount", folder], check=True)
    return False


def no_realtime(_: Skip) -> bool:
    ask = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", ask], capture_output=True).returncode != 0


def no_timer_migration(_: Skip) -> bool:
    setting = Path("/proc/sys/kernel/timer_migration")
    writable = os.geteuid() == 0 and os.access(setting, os.W_OK)
    return not writable or setting.read_text(encoding="ascii").strip() != "1"


def no_kernel(_: Skip) -> bool:
    from consort.base.errors import EnvironmentLacks
    from consort.board import rtlinux
    from consort.board.boards import all_boards

    try:
        for spec in all_boards():
            if spec.linux is not None:
                rtlinux.kernel(spec.linux)
    except EnvironmentLacks:
        return True
    return False


def no_headers(_: Skip) -> bool:
    from consort.base.errors import EnvironmentLacks
    from consort_remote.kernel import MACHINES, kernel

    try:
        for machine in MACHINES.values():
            kernel(machine)
    except EnvironmentLacks:
        return True
    return False


def no_page_scan(_: Skip) -> bool:
    """Linux records writes to pages for a program from 6.7 on."""
    numbers = platform.release().split(".")
    return (int(numbers[0]), int(numbers[1].split("-")[0])) < (6, 7) or os.geteuid() != 0


def no_huge_pages(_: Skip) -> bool:
    """True if fewer than 64 huge pages can be reserved beside those that are."""
    setting = Path("/proc/sys/vm/nr_hugepages")
    if os.geteuid() != 0 or not os.access(setting, os.W_OK):
        return True
    before = int(setting.read_text(encoding="ascii"))
    setting.write_text(str(before + 64), encoding="ascii")
    short = int(setting.read_text(encoding="ascii")) < before + 64
    setting.write_text(str(before), encoding="ascii")
    return short


def no_crate(_: Skip) -> bool:
    sys.path.insert(0, str(ROOT / "bench/python"))
    from consort.base.errors import EnvironmentLacks
    from consort_bench.programs import rust_peer

    try:
        rust_peer("response-time-analysis", "verified-bounds")
    except EnvironmentLacks:
        return True
    return False


# Where a skip is allowed. Each looks at the machine or the build itself, not at what the test said.
CONDITIONS: dict[str, Callable[[Skip], bool]] = {
    "never": lambda _: False,
    "not-root": lambda _: os.geteuid() != 0,
    "no-mount": cannot_mount,
    "no-kernel": no_kernel,
    "no-headers": no_headers,
    "no-crate": no_crate,
    "no-page-scan": no_page_scan,
    "no-huge-pages": no_huge_pages,
    "no-realtime": no_realtime,
    "no-timer-migration": no_timer_migration,
    "no-waters": lambda _: not any((p / "shared/data/amalthea").is_dir() for p in (ROOT, *ROOT.parents)),
    "no-vcan": lambda _: not Path("/sys/class/net/vcan0").exists(),
    "one-processor": lambda _: len(os.sched_getaffinity(0)) < 2,
    "not-x86-64": lambda _: platform.machine() != "x86_64",
    "sanitizer": lambda skip: skip.junit.stem.endswith(("-tsan", "-asan")),
}


def sites() -> list[dict[str, Any]]:
    """The entries of the list, checked."""
    found: list[dict[str, Any]] = tomllib.loads(LIST.read_text(encoding="utf-8"))["site"]
    for entry in found:
        wrong = {"file", "words", "why", "allowed"} ^ (entry.keys() - {"sites"})
        if wrong or entry["allowed"] not in CONDITIONS:
            print(f"{LIST}: wrong entry: {entry}", file=sys.stderr)
            sys.exit(2)
    return found


def within(path: str) -> str:
    """A path from the root; what is elsewhere stays as it is."""
    # ccache (base_dir) has compilers name sources from the build folder of the preset.
    for base in (ROOT, ROOT / "build" / "preset"):
        full = (base / path).resolve()
        if full.is_relative_to(ROOT):
            return str(full.relative_to(ROOT))
    return path


def skips(junit: Path) -> Iterator[Skip]:
    """The skips of a file that pytest or ctest wrote; none where the tests ended before it was written."""
    if not junit.exists():
        return
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        for skipped in case.findall("skipped"):
            if skipped.get("type") == "pytest.xfail":
                continue
            # pytest writes one line "file:line: reason", GoogleTest "file:line: Skipped", then the reason.
            said = skipped.text or case.findtext("system-out") or ""
            place = re.search(r"^(\S+?):\d+: (?:Skipped\n)?(.*)$", said, re.MULTILINE)
            if place and not skipped.text:
                place = re.search(r"^(\S+?):\d+: Skipped\n(.*)$", said, re.MULTILINE)
            if place:
                yield Skip(name, within(place[1]), place[2], junit)
            else:
                yield Skip(name, "", skipped.get("message") or said[:200], junit)


def unexpected(skip: Skip, entries: list[dict[str, Any]]) -> str:
    """The reason that a skip is not allowed here; empty where it is."""
    matching = [e for e in entries if e["file"] == skip.file and re.search(e["words"], skip.words)]
    if not matching:
        return "not in tests/skips.toml"
    if any(CONDITIONS[entry["allowed"]](skip) for entry in matching):
        return ""
    return (
        "allowed "
        + ", ".join(sorted({f"where '{e['allowed']}'" for e in matching}))
        + ", which is not so here"
    )


def main() -> None:
    if len(sys.argv) < 2:
        print("usage: check_skips.py JUNIT-FILE...", file=sys.stderr)
        sys.exit(2)
    entries = sites()
    found = [skip for name in sys.argv[1:] for skip in skips(Path(name))]
    wrong = [(skip, why) for skip in found if (why := unexpected(skip, entries))]
    for skip, why in wrong:
        print(
            f"unexpected skip: {skip.test} ({skip.file or skip.junit}): {skip.words}: {why}", file=sys.stderr
        )
    print(f"{len(found)} skipped, {len(wrong)} of them unexpected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
