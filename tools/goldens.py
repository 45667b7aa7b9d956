#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goldens: what commands say of examples, of random systems and of broken descriptions.

    .venv/bin/python tools/goldens.py [KIND …]            compare, and print what differs
    .venv/bin/python tools/goldens.py --write [KIND …]    print what differs, and keep it from now on

Without a kind all that `make test` compares. A change of a golden is a decision, which its commit names.
What is said of broken descriptions stands in tests/python/model, all else in tests/python/goldens.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import json
import lzma
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "python" / "goldens"
MODEL = FOLDER.parent / "model"
sys.path[:0] = [str(FOLDER), str(MODEL)]
import corpus  # noqa: E402
import featured  # noqa: E402

# Files that random systems name.
WALK = ROOT / "tests" / "python" / "plan" / "walk"
TARGETS = ("analysis", "linux", "virtual")
# How long jobs are released in simulations.
SIMULATED = "200ms"
RECORDS = (
    ("examples/drive/system.yaml", "--iterations", "200"),
    ("examples/vehicle/system.yaml", "--stand-ins"),
)
# Lines of differences that are printed of one kind.
MOST_LINES = 400

Goldens = dict[str, Any]


def said(*args: str) -> Any:
    """A command's output: its JSON where it is good, else its exit status and its message."""
    from consort.base.errors import ConsortError
    from consort.cli import cli

    found = CliRunner().invoke(cli, args, standalone_mode=False)
    status = found.return_value if isinstance(found.return_value, int) else found.exit_code
    error = found.exception
    if isinstance(error, ConsortError):
        return [error.exit_status, *str(error).splitlines()]
    if error is not None and not isinstance(error, SystemExit):
        raise error
    if found.stdout.startswith("{"):
        return json.loads(found.stdout) | ({"exit status": status} if status else {})
    return [status, *found.stdout.splitlines(), *found.stderr.splitlines()]


def of_a_system(file: str, targets: tuple[str, ...], *options: str, on: str | None = None) -> Goldens:
    """Outputs for a description as it stands or on one of its targets, in each of its modes too."""
    from consort.base.errors import ConsortError
    from consort.model import load_system

    laid = () if on is None else ("--on", on)
    found = {"check": said("check", file, *laid)}
    try:
        modes = load_system(file, on).modes
    except ConsortError:
        return found
    for mode in (None, *modes):
        which = laid if mode is None else (*laid, "--mode", mode)
        here = {
            f"plan for {target}": said("plan", file, "--for", target, "--json", *options, *which)
            for target in targets
        }
        here["analyze"] = said("analyze", file, "--json", "--no-advice", *which)
        simulated = ("--json", "--no-record", "--duration", SIMULATED)
        here["simulate"] = said("simulate", file, *simulated, *which)
        found |= {key if mode is None else f"{key} in {mode}": value for key, value in here.items()}
    return found


def targets_of(file: Path) -> list[str]:
    """The targets of an example; none of a file that is right in no way."""
    from consort.base.errors import ConsortError
    from consort.model import load_system

    try:
        return list(load_system(file).targets)
    except ConsortError:
        return []


def examples() -> Iterator[tuple[str, Goldens]]:
    for file in sorted(ROOT.glob("examples/**/*.yaml")):
        name = str(file.relative_to(ROOT))
        if not file.read_text(encoding="utf-8").startswith(("consort:", "#")):
            continue
        yield name, of_a_system(name, (*TARGETS, "board"), "--stand-ins")
        for on in targets_of(file):
            yield f"{name} on {on}", of_a_system(name, (*TARGETS, "board"), "--stand-ins", on=on)
    for file in sorted(ROOT.glob("platforms/*.yaml")):
        name = str(file.relative_to(ROOT))
        yield name, {"check": said("check", name, "--json")}


def some(first: int, last: int) -> Iterator[tuple[str, Goldens]]:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for file in WALK.iterdir():
            if file.is_file():
                shutil.copy(file, folder)
        for number, features in enumerate(featured.choices()[first:last], first):
            described = featured.system(number, features)
            # JSON is YAML; a key a line, so that places of problems differ.
            Path("system.yaml").write_text(json.dumps(described, indent=1), encoding="utf-8")
            yield f"{number}: {', '.join(features)}", of_a_system("system.yaml", TARGETS, "--stand-ins")


def held(path: Path) -> bytes:
    """The bytes of a file; of a table its types and rows, however they are encoded."""
    if path.suffix != ".parquet":
        return path.read_bytes()
    import pyarrow
    from pyarrow import csv, parquet

    table = parquet.read_table(path)
    sink = pyarrow.BufferOutputStream()
    csv.write_csv(table, sink)
    return str(table.schema.remove_metadata()).encode() + sink.getvalue().to_pybytes()


def records() -> Iterator[tuple[str, Goldens]]:
    """Hashes of what runs in virtual time record: of raw files, and of what the tables hold."""
    for file, *options in RECORDS:
        with tempfile.TemporaryDirectory() as folder:
            run = ("run", file, "--for", "virtual", "--root", folder, "--json", *options)
            said(*run)
            hashes = {
                "/".join(path.relative_to(folder).parts[1:]): hashlib.sha256(held(path)).hexdigest()
                for path in sorted(Path(folder).rglob("*"))
                if path.suffix in (".parquet", ".bin")
            }
            yield " ".join((file, *options)), hashes


def broken() -> Iterator[tuple[str, Goldens]]:
    with tempfile.TemporaryDirectory() as folder:
        for file in corpus.BASES:
            for case in corpus.cases(file):
                yield f"{file}: {case.name}", {"check": case.errors(Path(folder) / "case")}


BROKEN = "broken"
KINDS: dict[str, Callable[[], Iterator[tuple[str, Goldens]]]] = {
    "examples": examples,
    BROKEN: broken,
    "random": lambda: some(0, featured.QUICK),
    "more-random": lambda: some(featured.QUICK, featured.SYSTEMS),
    "records": records,
}
QUICK = ("examples", "random", BROKEN)


def made(kind: str) -> Goldens:
    with contextlib.chdir(ROOT):
        found = dict(KINDS[kind]())
    return json.loads(json.dumps(found).replace(f"{ROOT}/", ""))


def kept(kind: str) -> Goldens:
    if kind == BROKEN:
        return {
            f"{file}: {case.name}": {"check": case.says}
            for file in corpus.BASES
            for case in corpus.cases(file)
        }
    path = FOLDER / f"{kind}.json.xz"
    return json.loads(lzma.decompress(path.read_bytes())) if path.exists() else {}


def keep(kind: str, now: Goldens) -> None:
    if kind == BROKEN:
        for file in corpus.BASES:
            text = corpus.said_again(
                file, [now[f"{file}: {case.name}"]["check"] for case in corpus.cases(file)]
            )
            (MODEL / file).write_text(text, encoding="utf-8")
        return
    text = json.dumps(now, ensure_ascii=False, separators=(",", ":"))
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / f"{kind}.json.xz").write_bytes(packed)


def differences(kind: str, before: Goldens, now: Goldens) -> list[str]:
    """The differences, case by case and command by command."""
    lines = []
    for case in dict.fromkeys((*before, *now)):
        old, new = before.get(case, {}), now.get(case, {})
        for command in dict.fromkeys((*old, *new)):
            if old.get(command) == new.get(command):
                continue
            lines.append(f"{kind}: {case}: {command}")
            texts = [
                json.dumps(one.get(command), indent=1, ensure_ascii=False).splitlines() for one in (old, new)
            ]
            lines += [
                line
                for line in difflib.unified_diff(*texts, n=1, lineterm="")
                if line[:3] not in ("---", "+++")
            ]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--write", action="store_true", help="keep what is said now")
    options = parser.parse_args()
    status = 0
    for kind in options.kinds or QUICK:
        before, now = kept(kind), made(kind)
        found = differences(kind, before, now)
        for line in found[:MOST_LINES]:
            print(line)
        if len(found) > MOST_LINES:
            print(f"… {len(found) - MOST_LINES} lines more")
        if found and options.write:
            keep(kind, now)
        status = status or int(bool(found) and not options.write)
    return status


if __name__ == "__main__":
    sys.exit(main())
