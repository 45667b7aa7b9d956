# SPDX-License-Identifier: Apache-2.0
"""``consort import`` and ``consort export``: a description made from a model of another tool, with a list of
what it lacks, and a model made from a description."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consort.base.environment import MOST_CPUS
from consort.base.errors import BadInput
from consort.commands.options import ChoiceOf, on_option, print_json

if TYPE_CHECKING:
    from consort.exchange.conventions import Imported


@click.command(
    "import",
    epilog="Example: consort import model.amxmi -o system.yaml",
    help="Make a description from FILE, a model of another tool: AMALTHEA (.amxmi, releases 0.9 to 3.x;"
    " several files, or all of a folder, are one model), rt-app (.json) or a System Device Tree (.dts). The"
    " platform goes to a file of its own beside OUT; a device tree has no tasks, so OUT is the platform file."
    " What the model says and Consort does not is listed, by name in the JSON form. Nothing is written unless"
    " all of it can be.",
)
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE [FILE]...")
@click.option(
    "--from",
    "form",
    type=ChoiceOf("FORM", "consort.exchange.formats", "IMPORTS"),
    help="The form of FILE; without it by the ending of its name.",
)
@click.option(
    "-o", "--output", "out", type=click.Path(path_type=Path), required=True, help="The file to write."
)
@click.option(
    "--priority-order",
    type=click.Choice(["higher", "lower"]),
    help="AMALTHEA: which number of two priorities is the more urgent. Without it the higher one.",
)
@click.option(
    "--label-accesses",
    type=click.Choice(["apart", "within"]),
    help="AMALTHEA: whether ticks are without what accesses to labels take, or have it. Without it apart:"
    " what the hardware says of accesses is added.",
)
@click.option(
    "--cpus",
    type=click.IntRange(1, MOST_CPUS),
    help="rt-app: how many CPUs there are for threads that name none. Without it those of this machine.",
)
@click.option("--force", is_flag=True, help="Replace a platform file that is there and differs.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written and left out as JSON.")
def command(
    files: tuple[Path, ...],
    form: str | None,
    out: Path,
    priority_order: str | None,
    label_accesses: str | None,
    cpus: int | None,
    force: bool,
    as_json: bool,
) -> None:
    from consort.exchange.formats import IMPORTS, NO_PRIORITY_ORDER, SEVERAL_FILES, guess_format

    form = form or guess_format(files[0])
    if form not in SEVERAL_FILES and (len(files) > 1 or files[0].is_dir()):
        raise BadInput(f"a model of {form} is one file; give that alone", file=files[-1])
    if priority_order is not None and form in NO_PRIORITY_ORDER:
        raise BadInput(NO_PRIORITY_ORDER[form], field="--priority-order")
    if any(path.resolve() == out.resolve() for path in files):
        raise BadInput("the output is the input; name another file", file=out)
    if cpus is not None and form != "rt-app":
        raise BadInput("--cpus is for rt-app; other models have their own cores", field="--cpus")
    if label_accesses is not None and form != "amalthea":
        raise BadInput(
            "--label-accesses is for AMALTHEA; other models have no labels", field="--label-accesses"
        )
    options: dict[str, Any] = {"order": priority_order} if form not in NO_PRIORITY_ORDER else {}
    if form == "amalthea":
        options["within"] = label_accesses == "within"
    if form == "rt-app":
        options["cpus"] = cpus
    imported = IMPORTS[form](*files, **options)
    written = _files(imported, out, files[0])
    for path in [one for one in written if one != out and not force and one.is_file()]:
        if not _says_the_same(path, imported.platform):
            raise BadInput("exists and differs; write elsewhere, or replace it with --force", file=path)
        # Made of another model of the same machine; what its comment lists is of that one.
        del written[path]
    write_files(written)
    if as_json:
        result: dict[str, Any] = {"ok": True, "form": form, "written": [str(path) for path in written]}
        print_json(result | imported.report.to_json())
        return
    for path in written:
        click.echo(f"wrote {path}")
    click.echo(imported.report.text())


def write_files(texts: Mapping[Path, str]) -> None:
    """Writes files so that after an error none of them is new: first beside their places, then renamed."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            try:
                number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
                written.append((Path(name), path))
                with os.fdopen(number, "w", encoding="utf-8") as file:
                    file.write(text)
                # As a plain open would have made it: mkstemp's files are for their owner alone.
                mask = os.umask(0)
                os.umask(mask)
                Path(name).chmod(0o666 & ~mask)
            except OSError as error:
                raise BadInput(f"cannot be written: {error.strerror}", file=path) from None
        for _, path in written:
            if path.is_dir():
                raise BadInput("cannot be written: it is a folder", file=path)
        for place, path in written:
            place.replace(path)
    finally:
        for place, _ in written:
            place.unlink(missing_ok=True)


def _says_the_same(path: Path, platform: dict[str, Any] | None) -> bool:
    """True if a platform file describes what was imported; comments do not count."""
    from consort.model import BadDescription, load_platform, platform_from_data

    assert platform is not None
    try:
        there = load_platform(path)
    except (BadDescription, BadInput):
        return False
    return there.model_dump() == platform_from_data(platform, file=path).model_dump()


def _files(imported: Imported, out: Path, source: Path) -> dict[Path, str]:
    """The texts to write, checked as files are."""
    from consort.model import platform_from_data, system_from_data
    from consort.model.emit import yaml_text

    if out.suffix not in (".yaml", ".yml"):
        raise BadInput(f"{out.name!r} does not end in .yaml; a description's name does", file=out)
    platform, files = None, {}
    comment = f"{imported.comment}\n{imported.report.text()}"
    if imported.platform is not None:
        place = out
        if imported.system is not None:
            place = out.with_name(f"{imported.platform['name']}.yaml")
            if place == out:
                imported.platform["name"] += "-platform"
                place = out.with_name(f"{imported.platform['name']}.yaml")
            imported.system["platform"] = place.name
        else:
            imported.platform["name"] = out.stem
        platform = _checked(platform_from_data, imported.platform, place, source)
        files[place] = yaml_text(imported.platform, comment)
    if imported.system is not None:
        _checked(system_from_data, imported.system, out, source, platform=platform)
        files[out] = yaml_text(imported.system, comment)
    return files


def _checked(build: Any, data: dict[str, Any], place: Path, source: Path, **more: Any) -> Any:
    """The object that `build` makes of the data; an error in it is one of the model that the data comes
    from."""
    from consort.model import BadDescription

    try:
        return build(data, file=place, **more)
    except BadDescription as error:
        lines = "\n".join(f"  {p.field}: {p.message}" for p in error.problems)
        raise BadInput(f"its description would not be right:\n{lines}", file=source) from None


@click.command(
    "export",
    epilog="Example: consort export system.yaml --to mast -o system.mast",
    help="Write FILE, a system description, as a model for another tool: amalthea (APP4MC, release 1.0),"
    " rt-app (JSON, runs the task set on Linux), sag (the jobs of a hyperperiod as CSV for analyses by"
    " schedule-abstraction graphs) or mast (text). What the form cannot hold is listed. Nothing is written"
    " after an error.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "form",
    type=ChoiceOf("FORM", "consort.exchange.formats", "EXPORTS"),
    required=True,
    help="The form to write.",
)
@click.option(
    "-o", "--output", "out", type=click.Path(path_type=Path), required=True, help="The file to write."
)
@on_option
@click.option("--core", help="For sag: the core whose jobs are written, where tasks are on several.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written and left out as JSON.")
def export_command(file: Path, form: str, out: Path, on: str | None, core: str | None, as_json: bool) -> None:
    from consort.exchange.conventions import Report
    from consort.exchange.exports import export_sag
    from consort.exchange.formats import EXPORTS
    from consort.model import load_system

    system = load_system(file, on)
    if out.resolve() == file.resolve():
        raise BadInput("the output is the input; name another file", file=out)
    report = Report()
    if core is not None and form != "sag":
        raise BadInput("--core is for --to sag; the other forms hold all cores", file=file)
    text = export_sag(system, report, core) if form == "sag" else EXPORTS[form](system, report)
    write_files({out: text})
    if as_json:
        result = {"ok": True, "form": form, "written": [str(out)]}
        print_json(result | report.to_json())
        return
    click.echo(f"wrote {out}")
    click.echo(report.text())
