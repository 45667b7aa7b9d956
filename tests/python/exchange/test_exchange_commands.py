# SPDX-License-Identifier: Apache-2.0
"""`consort import` and `consort export` as a user calls them: statuses, reports, no half-written files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from consort.base.errors import BadInput
from consort.cli import main
from consort.commands.import_ import write_files

DATA = Path(__file__).parent / "data"
SERVO = Path(__file__).parents[3] / "examples" / "servo" / "system.yaml"
VEHICLE = Path(__file__).parents[3] / "examples" / "vehicle" / "system.yaml"


def call(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(args))
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_import_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "system.yaml"
    status, text, _ = call(capsys, "import", str(DATA / "small.amxmi"), "-o", str(out))
    assert status == 0 and "left out:" in text and "label, 1: only read: a constant: gains" in text
    assert listing(tmp_path) == ["board.yaml", "system.yaml"]
    assert call(capsys, "check", str(out))[0] == 0
    assert call(capsys, "check", str(tmp_path / "board.yaml"))[0] == 0
    # The same import again finds the same platform file.
    assert call(capsys, "import", str(DATA / "small.amxmi"), "-o", str(out))[0] == 0


def test_json_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "system.yaml"
    status, text, _ = call(capsys, "import", str(DATA / "small.amxmi"), "-o", str(out), "--json")
    report = json.loads(text)
    assert status == 0 and report["ok"] and report["form"] == "amalthea"
    assert sorted(report["written"]) == [str(tmp_path / "board.yaml"), str(out)]
    assert {"what": "task", "why": "no period or least distance of releases is known", "count": 1,
            "names": ["boot"]} in report["left_out"]  # fmt: skip


def test_platform_of_another_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "board.yaml").write_text("mine", encoding="utf-8")
    args = ("import", str(DATA / "small.amxmi"), "-o", str(tmp_path / "system.yaml"))
    status, _, err = call(capsys, *args)
    assert status == 2 and "exists and differs" in err
    assert listing(tmp_path) == ["board.yaml"] and (tmp_path / "board.yaml").read_text() == "mine"
    assert call(capsys, *args, "--force")[0] == 0


def test_a_second_model_of_the_same_platform_leaves_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.amxmi").write_bytes((DATA / "small.amxmi").read_bytes())
    assert call(capsys, "import", str(DATA / "small.amxmi"), "-o", str(tmp_path / "one.yaml"))[0] == 0
    before = (tmp_path / "board.yaml").read_bytes()
    status, text, _ = call(
        capsys, "import", str(tmp_path / "model.amxmi"), "-o", str(tmp_path / "two.yaml"), "--json"
    )
    assert status == 0 and json.loads(text)["written"] == [str(tmp_path / "two.yaml")]
    assert (tmp_path / "board.yaml").read_bytes() == before and b"small.amxmi" in before


def test_platform_file_of_any_bytes_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "board.yaml").write_bytes(b"\xff\xfe")
    status, _, err = call(capsys, "import", str(DATA / "small.amxmi"), "-o", str(tmp_path / "system.yaml"))
    assert status == 2 and "exists and differs" in err


def test_device_tree_gives_a_platform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "my-board.yaml"
    assert call(capsys, "import", str(DATA / "zynq.dts"), "-o", str(out))[0] == 0
    status, text, _ = call(capsys, "check", str(out))
    assert status == 0 and "platform my-board" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("none.amxmi", "-o", "x.yaml"), "cannot be read"),
        (("none.xyz", "-o", "x.yaml"), "name the form with --from"),
        (("{small}", "-o", "x.txt"), "does not end in .yaml"),
        (("{small}", "-o", "nowhere/x.yaml"), "cannot be written"),
        (("{small}", "--from", "rt-app", "-o", "x.yaml"), "is not JSON"),
        (("{small}",), "Missing option '-o'"),
        (("-o", "x.yaml"), "Missing argument 'FILE [FILE]...'"),
        (("{small}", "--priority-order", "up", "-o", "x.yaml"), "'higher', 'lower'"),
        (("load.json", "--priority-order", "lower", "-o", "x.yaml"), "rt-app's priorities are Linux's"),
        (("board.dts", "--priority-order", "lower", "-o", "x.yaml"), "a device tree has no priorities"),
        (("load.json", "more.json", "-o", "x.yaml"), "more.json: a model of rt-app is one file"),
        ((".", "--from", "sdt", "-o", "x.yaml"), "a model of sdt is one file"),
        ((".", "-o", "x.yaml"), "name the form with --from"),
        ((".", "--from", "amalthea", "-o", "x.yaml"), "no .amxmi file lies in the folder"),
    ],
)
def test_import_errors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = call(capsys, "import", *(arg.format(small=DATA / "small.amxmi") for arg in args))
    assert status == 2 and message in err
    assert listing(tmp_path) == []


def test_import_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model").mkdir()
    shutil.copy(DATA / "small.amxmi", tmp_path / "model")
    out = tmp_path / "system.yaml"
    args = ("import", str(tmp_path / "model"), "-o", str(out), "--priority-order", "lower")
    status, text, _ = call(capsys, *args)
    assert status == 0 and "the lower number is the more urgent (--priority-order)" in text
    assert call(capsys, "check", str(out))[0] == 0
    status, text, _ = call(capsys, *args, "--json")
    assert status == 0 and json.loads(text)["notes"] == [
        "priorities: the lower number is the more urgent (--priority-order)"
    ]


def test_an_import_does_not_overwrite_a_file_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.amxmi", "model.yaml"):
        shutil.copy(DATA / "small.amxmi", tmp_path / name)
    files = [str(tmp_path / name) for name in ("a.amxmi", "model.yaml")]
    status, _, err = call(capsys, "import", *files, "-o", files[1])
    assert status == 2 and "the output is the input" in err
    assert listing(tmp_path) == ["a.amxmi", "model.yaml"]


@pytest.mark.parametrize("form", ["amalthea", "mast", "rt-app"])
def test_export(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    out = tmp_path / "out"
    status, text, _ = call(capsys, "export", str(VEHICLE), "--to", form, "-o", str(out))
    assert status == 0 and text.startswith(f"wrote {out}") and out.stat().st_size > 0
    assert out.stat().st_mode & 0o444 == 0o444
    assert listing(tmp_path) == ["out"]


def test_export_of_a_core(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("export", str(VEHICLE), "--to", "sag", "-o", str(tmp_path / "jobs.csv"))
    status, _, err = call(capsys, *args)
    assert status == 2 and "name it by --core" in err and listing(tmp_path) == []
    status, text, _ = call(capsys, *args, "--core", "a72-1", "--json")
    assert status == 0 and json.loads(text)["form"] == "sag"


def test_export_errors_leave_what_was_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    out.write_text("before", encoding="utf-8")
    # No task of the servo has a wcet.
    status, _, err = call(capsys, "export", str(SERVO), "--to", "mast", "-o", str(out))
    assert status == 2 and "no task that MAST could analyse" in err
    status, _, err = call(capsys, "export", str(VEHICLE), "--to", "mast", "--core", "x", "-o", str(out))
    assert status == 2 and "--core is for --to sag" in err
    assert out.read_text() == "before" and listing(tmp_path) == ["out"]


def test_input_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copy(VEHICLE, tmp_path / "system.yaml")
    status, _, err = call(capsys, "export", str(copy), "--to", "mast", "-o", str(copy))
    assert status == 2 and "the output is the input" in err


def test_all_files_or_none(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(BadInput, match="it is a folder"):
        write_files({tmp_path / "a": "1", tmp_path / "b": "2"})
    assert listing(tmp_path) == ["b"]


@pytest.mark.parametrize("name", ["import", "export"])
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, text, _ = call(capsys, name, "--help")
    assert status == 0 and f"Example: consort {name}" in text
