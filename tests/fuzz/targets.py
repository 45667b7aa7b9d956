# SPDX-License-Identifier: Apache-2.0
"""Readers of files that somebody else may have written, as fuzz targets.

A target takes any bytes. It returns, or raises `ConsortError`, which a command ends with as one message;
whatever else it raises is a finding.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from consort.base.errors import ConsortError
from consort.commands import import_, runs
from consort.exchange.formats import IMPORTS
from consort.model import System
from consort.model.load import load_description
from consort.plan.make import problems_of
from consort.record import RawRun, RunWriter
from consort.record.compare import compare
from consort.record.sections import reading
from consort.record.store import open_run
from consort.report import write_trace

TESTS = Path(__file__).parents[1] / "python"
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "record"))


@dataclass(frozen=True)
class Target:
    """`use` reads the bytes in a folder that is the target's own; the seeds are good inputs."""

    use: Callable[[bytes, Path], None]
    seeds: Callable[[Path], list[bytes]]


def checked_import(form: str, ending: str) -> Callable[[bytes, Path], None]:
    def use(data: bytes, folder: Path) -> None:
        source = folder / f"tree{ending}"
        source.write_bytes(data)
        imported = IMPORTS[form](source)
        import_._files(imported, folder / "out.yaml", source)

    return use


def description(data: bytes, folder: Path) -> None:
    (folder / "system.yaml").write_bytes(data)
    described = load_description(folder / "system.yaml")
    described.to_json()
    if isinstance(described, System):
        problems_of(described, "linux")


def files(*paths: Path) -> Callable[[Path], list[bytes]]:
    return lambda _folder: [path.read_bytes() for path in paths]


def descriptions(folder: Path) -> list[bytes]:
    model = TESTS / "model"
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/servo.csv").write_text(
        "time,set_point,process_value\n0,1,2\n50000,3,4\n", encoding="utf-8"
    )
    (folder / "step.hpp").write_text("namespace servo {}\n", encoding="utf-8")
    (folder / "golden.py").write_text(
        "def golden(inputs, arithmetic):\n    return inputs\n", encoding="utf-8"
    )
    shutil.copyfile(model / "chip.yaml", folder / "chip.yaml")
    return [(model / name).read_bytes() for name in ("base.yaml", "design.yaml", "chip.yaml")]


def _raw(folder: Path) -> Path:
    from synthetic import make_jobs, write_raw

    made: Path = write_raw(folder, {"jobs": make_jobs(50, 1)})
    return made


def _run_folder(folder: Path) -> Path:
    """A small recorded run; made once, copied for each input."""
    kept = folder / "kept"
    if not kept.exists():
        with RunWriter("servo", "application", folder / "runs", command=[]) as writer:
            writer.add_configuration("on", "on", RawRun.load(_raw(folder / "raw")))
            writer.add_section(
                "A table", columns=[{"name": "what"}, {"name": "time", "unit": "ns", "provenance": "bound"}],
                rows=[["x", 1.5]],
            )  # fmt: skip
        assert writer.run is not None
        writer.run.path.rename(kept)
    return kept


def _fresh(folder: Path) -> Path:
    run = folder / "tried" / "run"
    shutil.rmtree(folder / "tried", ignore_errors=True)
    run.parent.mkdir()
    shutil.copytree(_run_folder(folder), run)
    return run


def _as_commands_do(run: Path, *, page: bool) -> None:
    """Reads a run as the commands do."""
    opened = open_run(run)
    with reading(run):
        write_trace(opened, run / "trace.pftrace")
        runs._entry(opened)
        if opened.configurations:
            compare(opened, opened)
    quiet(runs.command, ["--root", str(run.parent)])
    if page:
        quiet(runs.report_command, [str(run)])


def quiet(command: object, arguments: list[str]) -> None:
    from click.testing import CliRunner

    result = CliRunner().invoke(command, arguments)  # type: ignore[arg-type]
    if result.exception is not None and not isinstance(result.exception, ConsortError | SystemExit):
        raise result.exception


def run_json(data: bytes, folder: Path) -> None:
    run = _fresh(folder)
    (run / "run.json").write_bytes(data)
    # The page's figures take most of a second: one input in sixteen has one.
    _as_commands_do(run, page=len(data) % 16 == 0)


def run_folder(data: bytes, folder: Path) -> None:
    """Edits of a run's files: each 4 bytes are file (3 bits), length or offset, and the new byte."""
    run = _fresh(folder)
    parts = sorted(path for path in run.rglob("*") if path.suffix in (".json", ".parquet"))
    for (word,) in struct.iter_unpack("<I", data[: len(data) // 4 * 4]):
        path = parts[word % 8 % len(parts)]
        content = bytearray(path.read_bytes() if path.is_file() else b"")
        offset, value = (word >> 3) % (1 << 21), word >> 24
        if value == 0 and content:
            del content[offset % len(content) :]
        elif value == 255 and path.is_file():
            path.unlink()
            continue
        elif content:
            content[offset % len(content)] = value
        path.write_bytes(bytes(content))
    _as_commands_do(run, page=len(data) % 16 == 0)


def raw_manifest(data: bytes, folder: Path) -> None:
    raw = folder / "raw-tried"
    if not raw.exists():
        _raw(raw)
    (raw / "manifest.json").write_bytes(data)
    loaded = RawRun.load(raw)
    loaded.origin()


def run_seeds(folder: Path) -> list[bytes]:
    return [(_run_folder(folder) / "run.json").read_bytes()]


def raw_seeds(folder: Path) -> list[bytes]:
    return [(_raw(folder / "raw-seed") / "manifest.json").read_bytes()]


def edits(folder: Path) -> list[bytes]:
    _run_folder(folder)
    return [b"", struct.pack("<II", 0x20000008, 0x31001001), struct.pack("<I", 0xFF000001)]


def rtapp_seeds(_folder: Path) -> list[bytes]:
    here = TESTS / "exchange" / "data"
    found = [path.read_bytes() for path in sorted(here.rglob("*.json"))]
    simple = {
        "tasks": {"a": {"run": 1000, "timer": {"ref": "t", "period": 10000}}},
        "global": {"duration": 1},
    }
    return [*found, json.dumps(simple).encode()]


def amalthea_seeds(_folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((TESTS / "exchange" / "data").rglob("*.amxmi"))]


TARGETS: dict[str, Target] = {
    "dts": Target(checked_import("sdt", ".dts"), files(TESTS / "exchange/data/zynq.dts")),
    "amalthea": Target(checked_import("amalthea", ".amxmi"), amalthea_seeds),
    "rt-app": Target(checked_import("rt-app", ".json"), rtapp_seeds),
    "yaml": Target(description, descriptions),
    "run-json": Target(run_json, run_seeds),
    "run-folder": Target(run_folder, edits),
    "raw-manifest": Target(raw_manifest, raw_seeds),
}


def tried(target: Target, data: bytes, folder: Path) -> bool:
    """True if the input was taken; False where it was refused as it should be."""
    try:
        target.use(data, folder)
    except ConsortError as error:
        assert str(error), "a refusal says why"
        assert len(str(error)) < 1_000_000, "a refusal is not a copy of its input"
        return False
    return True


def working_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="consort-fuzz-"))
