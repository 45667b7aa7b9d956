# SPDX-License-Identifier: Apache-2.0
"""The C++ step against golden outputs, on every row of the recordings, here and on other instruction sets."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import golden as golden_module
import inputs as inputs_module
import numpy as np
import pytest
import servo_support

DATA = servo_support.SERVO / "data"
RECORDINGS = ("lfj3_tracking_sine_a.csv", "lfj3_tracking_sine_b.csv")


@pytest.fixture(scope="session")
def golden_of() -> Any:
    """(recording, arithmetic) -> (inputs, golden), computed once."""
    known: dict[tuple[str, str], Any] = {}

    def get(recording: str, arithmetic: str) -> Any:
        key = (recording, arithmetic)
        if key not in known:
            rows = inputs_module.load_inputs(DATA / recording, arithmetic=arithmetic)
            known[key] = (rows, golden_module.golden(rows, arithmetic))
        return known[key]

    return get


def run_replay(program: list[str], folder: Path, rows: Any, arithmetic: str, *more: str) -> Any:
    rows.tofile(folder / "in.bin")
    done = subprocess.run(
        [*program, arithmetic, str(folder / "in.bin"), str(folder / "out.bin"), *more],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return np.fromfile(folder / "out.bin", golden_module.OUT_TYPES[arithmetic])


@pytest.mark.parametrize("recording", RECORDINGS)
@pytest.mark.parametrize("arithmetic", golden_module.ARITHMETICS)
def test_every_output_is_golden(
    recording: str, arithmetic: str, golden_of: Any, replay_program: Path, tmp_path: Path
) -> None:
    rows, golden = golden_of(recording, arithmetic)
    assert len(rows) > 200_000
    outputs = run_replay([str(replay_program)], tmp_path, rows, arithmetic)
    assert outputs.tobytes() == golden["expected"].tobytes()
    distance = np.abs(outputs["command"] - golden["reference64"]).max()
    print(f"{recording} {arithmetic}: {distance:.3g} from float64, allowed {golden['tolerance']}")
    assert distance <= golden["tolerance"]["absolute"]
    # The tolerance is small beside the signal, so that being within it says something.
    assert np.ptp(golden["reference64"]) > 2000 * golden["tolerance"]["absolute"]


@pytest.mark.parametrize("recording", RECORDINGS)
@pytest.mark.parametrize("arithmetic", golden_module.ARITHMETICS)
def test_the_recordings_leave_head_room(recording: str, arithmetic: str, golden_of: Any) -> None:
    _, golden = golden_of(recording, arithmetic)
    assert golden["saturations"] == 0
    assert 0.01 < golden["state_peaks"].max() <= 0.5
    assert 0.01 < golden["command_peak"] <= 0.5


@pytest.mark.parametrize("arithmetic", golden_module.ARITHMETICS)
def test_saturation_is_golden_too(arithmetic: str, replay_program: Path, tmp_path: Path) -> None:
    """Errors of up to a radian: commands reach the limit, and fixed-point states the ends of their range."""
    time = np.arange(20_000) / 20_000
    rows = np.zeros(len(time), golden_module.IN_TYPES["f32"])
    rows["reference"] = 1.0 * np.sin(2 * np.pi * 5 * time) + 0.2
    rows["position"] = -0.5 * np.sign(np.sin(2 * np.pi * 15 * time))
    rows = golden_module.convert(rows, arithmetic)
    golden = golden_module.golden(rows, arithmetic)
    assert golden["saturations"] > 1000
    if arithmetic == "q31":
        assert golden["state_peaks"].max() >= 1 - 2**-31
    outputs = run_replay([str(replay_program)], tmp_path, rows, arithmetic)
    assert outputs.tobytes() == golden["expected"].tobytes()


@pytest.mark.parametrize("arithmetic", ["f32", "q31"])
@pytest.mark.parametrize("every", ["1", "977"])
def test_hand_over_at_job_boundaries_changes_nothing(
    arithmetic: str, every: str, golden_of: Any, replay_program: Path, tmp_path: Path
) -> None:
    rows, golden = golden_of(RECORDINGS[0], arithmetic)
    outputs = run_replay([str(replay_program)], tmp_path, rows, arithmetic, every)
    assert outputs.tobytes() == golden["expected"].tobytes()


@pytest.mark.parametrize(
    ("compiler", "emulator"),
    [
        ("aarch64-linux-gnu-g++", "qemu-aarch64"),
        ("arm-linux-gnueabihf-g++", "qemu-arm"),
        ("riscv64-linux-gnu-g++", "qemu-riscv64"),
        ("clang++", ""),
    ],
)
def test_the_same_to_the_bit_elsewhere(compiler: str, emulator: str, golden_of: Any, tmp_path: Path) -> None:
    for needed in filter(None, (compiler, emulator)):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    static = ["-static"] if emulator else []
    program = servo_support.compile_program(
        [compiler], servo_support.SERVO / "replay.cpp", tmp_path / "replay", *static
    )
    for arithmetic in ("f32", "q31"):
        rows, golden = golden_of(RECORDINGS[0], arithmetic)
        outputs = run_replay([*filter(None, [emulator]), str(program)], tmp_path, rows, arithmetic)
        assert outputs.tobytes() == golden["expected"].tobytes(), arithmetic


def test_compiles_freestanding_for_cortex_m4_without_fused_products(tmp_path: Path) -> None:
    compiler = "arm-none-eabi-g++"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    target = [
        "-mcpu=cortex-m4",
        "-mthumb",
        "-mfpu=fpv4-sp-d16",
        "-mfloat-abi=hard",
        "-ffreestanding",
        "-fno-exceptions",
        "-fno-rtti",
        "-c",
    ]
    source = Path(__file__).with_suffix(".cpp")
    code = servo_support.compile_program([compiler], source, tmp_path / "step.o", *target)
    listing = subprocess.run(
        ["arm-none-eabi-objdump", "-d", str(code)], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"\bvmul\.f32\b", listing)
    assert not re.search(r"\bvf?n?m[al][as]\.f32\b", listing)
    undefined = subprocess.run(
        ["arm-none-eabi-nm", "-u", str(code)], capture_output=True, text=True, check=True
    ).stdout.split()
    # Double precision is emulated by the compiler's own run-time library there; nothing else may be missing.
    foreign = [name for name in undefined if name != "U" and not name.startswith(("__aeabi_", "mem"))]
    assert foreign == []


def test_the_types_keep_their_promises(native: list[str], tmp_path: Path) -> None:
    servo_support.compile_program(native, Path(__file__).with_suffix(".cpp"), tmp_path / "step.o", "-c")


def test_golden_cache_gives_the_same_and_notices_other_inputs(tmp_path: Path) -> None:
    rows = inputs_module.load_inputs(DATA / RECORDINGS[0])[:500]
    fresh = golden_module.golden(rows, "f32", tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 1
    again = golden_module.golden(rows, "f32", tmp_path)
    assert again["expected"].tobytes() == fresh["expected"].tobytes()
    assert again["reference64"].tobytes() == fresh["reference64"].tobytes()
    other = rows.copy()
    other["position"][0] += 1e-4
    changed = golden_module.golden(other, "f32", tmp_path)
    assert changed["expected"].tobytes() != fresh["expected"].tobytes()
    assert len(list(tmp_path.glob("*.npz"))) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column 'time'"),
        ("time,set_point\n1,2\n", "no column 'process_value'"),
        ("time,set_point,process_value\n1,2,3\n2,x,3\n", ":3: could not convert"),
        ("time,set_point,process_value\n1,2,3\n2,2,3\n", "at least 4 rows"),
        ("time,set_point,process_value\n1,2,3\n2,2,3\n2,2,3\n4,2,3\n", ":4: time does not increase"),
        ("time,set_point,process_value\n1,2,3\n2,2,nan\n3,2,3\n4,2,3\n", "not finite"),
    ],
)
def test_a_bad_recording_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(inputs_module.RecordingError, match=re.escape(message)):
        inputs_module.load_inputs(file)


def test_golden_loads_by_its_path_alone(tmp_path: Path) -> None:
    """As a runner does: from elsewhere, with none of its siblings importable and no entry in sys.modules."""
    code = (
        "import importlib.util, sys, numpy as np\n"
        "spec = importlib.util.spec_from_file_location('any_name', sys.argv[1])\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "rows = np.zeros(3, [('reference', 'f4'), ('position', 'f4')])\n"
        "rows['reference'] = 0.001\n"
        "print(module.golden(inputs=rows, arithmetic='f32')['expected']['command'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(servo_support.SERVO / "golden.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_resampling_passes_through_the_recorded_points() -> None:
    time, set_point, _ = inputs_module.read_recording(DATA / RECORDINGS[0])
    rows = inputs_module.load_inputs(DATA / RECORDINGS[0], 20_000, gear=1.0)
    assert len(rows) == int(time[-1] * 20_000) + 1
    nearest = np.rint(time[:-1] * 20_000).astype(int)
    # Within half a sample of a recorded point the joint (at most 0.5 rad/s) hardly moves.
    assert np.abs(rows["reference"][nearest] - set_point[:-1]).max() < 1e-4


def test_bench_finds_equal_outputs(native: list[str], tmp_path: Path) -> None:
    program = servo_support.compile_program(
        native, servo_support.SERVO / "bench" / "step_bench.cpp", tmp_path / "bench"
    )
    done = subprocess.run([str(program), "3"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["outputs_equal"] is True
    assert {row["name"] for row in report["rows"]} >= {
        "step_f32",
        "hand_unrolled_f32",
        "step_f64",
        "step_q31",
        "dense_f32",
    }
    assert report["ratio_f32_over_hand_unrolled"] > 0
    assert report["dense_largest_difference_nm"] < golden_module.TOLERANCE["f32"]["absolute"]
