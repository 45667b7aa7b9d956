# SPDX-License-Identifier: Apache-2.0
"""Consort's own sources, in the cloned tree or an installed wheel, and builds that are made once and kept.

Everything lies under the hash of all that it is made of, so that nothing old is ever taken for new. Two
processes that want the same wait for one another rather than build it twice; what is half built is never
seen. What nobody has used for a month goes when something is built beside it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consort.base.children import tree, worked
from consort.base.errors import EnvironmentLacks
from consort.base.owned import temporary_folder
from consort.base.waiting import STANDSTILL_S, Standstill, stop_if_asked

if TYPE_CHECKING:
    import jinja2

_PACKAGE = Path(__file__).resolve().parents[2]


def source_tree() -> Path | None:
    """The root of the source tree that this package runs from; None when it was installed by itself."""
    root = _PACKAGE.parents[1]
    return root if (root / "include" / "consort" / "port.hpp").is_file() else None


def need_source_tree(what: str) -> Path:
    """The source tree, or `EnvironmentLacks`: `what` cannot be done without it."""
    root = source_tree()
    if root is None:
        raise EnvironmentLacks(
            f"{what} needs Consort's source tree", "clone the repository and run it from there (make setup)"
        )
    return root


def cpp_tree() -> Path:
    """The folder that holds include/ and ports/linux/: the source tree or the package's own copy."""
    for folder in (source_tree(), _PACKAGE / "_cpp"):
        if folder is not None and (folder / "include" / "consort" / "port.hpp").is_file():
            return folder
    raise EnvironmentLacks(
        "the C++ headers of Consort are not in this installation",
        "install consort-rt again, or run from a clone",
    )


def cache_folder() -> Path:
    """The folder of built programs and golden outputs: $CONSORT_CACHE, else the user's cache folder."""
    given = os.environ.get("CONSORT_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "consort"


UNUSED_S = 30 * 24 * 3600
_DAY_S = 24 * 3600
_LOCK = ".lock"


def digest(parts: Iterable[str | bytes]) -> str:
    """The key of a build that is made of these parts, in this order: 16 hexadecimal digits of their
    SHA-256."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        # With its length: parts that are divided otherwise are other parts.
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()[:16]


def kept(
    kind: str,
    key: str,
    name: str,
    make: Callable[[Path, Path], None],
    *,
    root: Path | None = None,
) -> Path:
    """The file or folder `name` that `make(target, scratch)` makes, made only if it is not there.

    `key` has the `digest` of all that it is made of. `make` writes to `target`; `scratch` is a folder for
    what it needs meanwhile. `root`: where builds are kept, instead of the user's cache. `EnvironmentLacks`
    where nothing can be written there.
    """
    entries = (cache_folder() if root is None else root) / kind
    entry = entries / key
    target = entry / name
    if _used(target):
        return target
    try:
        # Before the long work: a folder that cannot be written is found out at once.
        entry.mkdir(parents=True, exist_ok=True)
        with alone(entry, name):
            if _used(target):
                return target
            with temporary_folder("build", entry) as scratch:
                built = Path(scratch) / "made" / name
                built.parent.mkdir()
                make(built, Path(scratch))
                built.replace(target)
        sweep(entries)
    except OSError as error:
        raise EnvironmentLacks(
            f"{name} cannot be built under {entry} ({error.strerror or error})",
            "make room, or set $CONSORT_CACHE to another folder",
        ) from error
    return target


@contextmanager
def alone(entry: Path, name: str, does: str = "is building") -> Iterator[None]:
    """Nobody else `does` this meanwhile; `EnvironmentLacks` where whoever does stands still."""
    # Imported here: a command's help needs Consort's sources, and no lock.
    from filelock import FileLock, Timeout

    lock = FileLock(entry / _LOCK)
    standstill = Standstill(STANDSTILL_S)
    while True:
        try:
            lock.acquire(timeout=standstill.every_s)
            break
        except Timeout:
            stop_if_asked()
            holder = _holder(entry / _LOCK)
            # One that cannot be looked at may be at work.
            seen = time.monotonic() if holder is None else worked(tree(holder))
            if standstill.over(seen):
                raise EnvironmentLacks(
                    f"process {holder} {does} {name}, and has not moved for {STANDSTILL_S:g} s",
                    f"end it: kill -9 {holder}",
                ) from None
    try:
        yield
    finally:
        lock.release()


def _holder(lock: Path) -> int | None:
    """The process that holds a lock of a file (flock); None where it cannot be found out."""
    found = set()
    try:
        mine = lock.stat().st_ino
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            # Not those that wait for one: "->" stands before their kind.
            if fields[1] == "FLOCK" and int(fields[5].rpartition(":")[2]) == mine and int(fields[4]) > 0:
                found.add(int(fields[4]))
    except (OSError, ValueError, IndexError):
        return None
    # A file of another file system may have the number, too; the system's number is not always the file's.
    return found.pop() if len(found) == 1 else None


def sweep(entries: Path, unused_s: float = UNUSED_S) -> list[Path]:
    """Removes what was not used for so long, but nothing that is being built; returns what was removed."""
    from filelock import FileLock, Timeout

    removed = []
    for entry in entries.iterdir():
        with suppress(OSError, Timeout):
            parts = [path for path in entry.iterdir() if path.name != _LOCK]
            last = max((path.stat().st_mtime for path in (entry, *parts)), default=0.0)
            if time.time() - last > unused_s:
                with FileLock(entry / _LOCK, blocking=False):
                    shutil.rmtree(entry)
                removed.append(entry)
    return removed


def _used(target: Path) -> bool:
    """True if the build is there; marks it as used today."""
    try:
        last = target.stat().st_mtime
    except OSError:
        return False
    if time.time() - last > _DAY_S:
        # The cache may be another user's, to read only.
        with suppress(OSError):
            os.utime(target)
    return True


class Templates:
    """Templates in `package`/templates; `filters` are those that the templates use beside jinja2's.

    A name that a template lacks is an error, not empty text.
    """

    def __init__(self, package: str, filters: Mapping[str, Callable[..., str]] | None = None) -> None:
        self._package, self._filters = package, filters or {}

    @cached_property
    def _environment(self) -> jinja2.Environment:
        # Much that has templates is used without them.
        import jinja2

        made = jinja2.Environment(
            loader=jinja2.PackageLoader(self._package, "templates"),
            undefined=jinja2.StrictUndefined,
            # The output is code, and every name in it is checked by the model.
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        made.filters.update(self._filters)
        return made

    def render(self, template: str, **values: Any) -> str:
        """The text of the template with these values."""
        return self._environment.get_template(template).render(**values)
