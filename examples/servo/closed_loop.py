# SPDX-License-Identifier: Apache-2.0
"""The controller around the nonlinear plant: does the tracking error vanish at the harmonics?

    python closed_loop.py [--seconds 20] [--json] [--plot FILE]

The compiled step itself runs, in every arithmetic, with an ideal sensor and with a 20-bit encoder; the plant
is integrated by Runge-Kutta steps of a tenth of a sample. All figures are simulated.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import plant as mechanism
from description import DEFAULT, HERE, Description, DescriptionError, Plant, load
from numpy.typing import NDArray

Array = NDArray[np.float64]
CONTROLLERS = {"pd": 0, "f64": 1, "f32": 2, "q31": 3}
SUBSTEPS = 10
ENCODER_BITS = 20
FLAGS = ["-std=c++20", "-O2", "-ffp-contract=off"]
# Acceptance: largest amplitude of any modelled harmonic of the error after SETTLED seconds, rad.
SETTLED = 5.0
LIMIT_IDEAL = 1e-7
LIMIT_ENCODER = 5e-7


class _Parameters(ctypes.Structure):
    _fields_ = [
        *((field.name, ctypes.c_double) for field in fields(Plant)),
        ("sample_period", ctypes.c_double),
        ("encoder_step", ctypes.c_double),
        ("substeps", ctypes.c_int64),
    ]


class _Summary(ctypes.Structure):
    _fields_ = [
        ("state_peak", ctypes.c_double),
        ("command_peak", ctypes.c_double),
        ("saturations", ctypes.c_int64),
    ]


@dataclass(frozen=True)
class Result:
    controller: str
    encoder: bool
    rms: float  # of the error over the last period, rad
    in_model_rms: float  # its share at harmonics 0..highest
    worst_harmonic: float  # largest amplitude of those, rad
    state_peak: float  # fraction of full scale
    command_peak: float  # N m
    saturations: int
    error: Array
    command: Array

    def figures(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key not in ("error", "command")}


def build(folder: Path) -> ctypes.CDLL:
    """Compiles the closed loop into a folder and loads it."""
    target = folder / "closed_loop.so"
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    subprocess.run(
        [*compiler, *FLAGS, "-shared", "-fPIC", str(HERE / "closed_loop.cpp"), "-o", str(target)], check=True
    )
    return ctypes.CDLL(str(target))


def parameters(description: Description, encoder: bool) -> Any:
    p = description.plant
    step = 2 * math.pi / 2**ENCODER_BITS if encoder else 0.0
    values = [getattr(p, field.name) for field in fields(p)]
    return _Parameters(*values, description.controller.sample_period, step, SUBSTEPS)


def _pointer(values: Array) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def simulate(
    library: ctypes.CDLL,
    description: Description,
    controller: str,
    encoder: bool = False,
    seconds: float = 20.0,
) -> Result:
    """One run from rest at the reference's start, a whole number of periods long."""
    samples_per_period = round(description.reference.period / description.controller.sample_period)
    periods = max(1, round(seconds / description.reference.period))
    # One period, repeated, so that rounding of a growing time never makes the reference less than periodic.
    time = np.arange(samples_per_period, dtype=np.float64) * description.controller.sample_period
    reference = np.tile(mechanism.motion(description.reference, time)[0], periods)
    error, command = np.empty_like(reference), np.empty_like(reference)
    values, summary = parameters(description, encoder), _Summary()
    status = library.servo_closed_loop(
        CONTROLLERS[controller],
        ctypes.byref(values),
        ctypes.c_int64(len(reference)),
        _pointer(reference),
        _pointer(error),
        _pointer(command),
        ctypes.byref(summary),
    )
    if status != 0:
        raise ValueError(f"controller {controller!r}: one of {', '.join(CONTROLLERS)}")
    last = error[-samples_per_period:]
    harmonic = mechanism.amplitudes(last, description.controller.harmonics)
    return Result(
        controller,
        encoder,
        float(np.sqrt(np.mean(last**2))),
        float(np.sqrt(harmonic[0] ** 2 + np.sum(harmonic[1:] ** 2) / 2)),
        float(harmonic.max()),
        summary.state_peak,
        summary.command_peak,
        int(summary.saturations),
        error,
        command,
    )


def accept(result: Result) -> list[str]:
    """Reasons why a run of at least SETTLED seconds is not good enough; none when it is."""
    limit = LIMIT_ENCODER if result.encoder else LIMIT_IDEAL
    reasons = []
    if not result.worst_harmonic < limit:
        reasons.append(f"{result.controller}: a harmonic of {result.worst_harmonic:.2e} rad, limit {limit:g}")
    if result.saturations:
        reasons.append(f"{result.controller}: saturated in {result.saturations} samples")
    return reasons


def plot(results: list[Result], description: Description, file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(9, 7), constrained_layout=True)
    samples = round(description.reference.period / description.controller.sample_period)
    for result in results:
        if result.encoder:
            continue
        per_period = np.sqrt(np.mean(result.error.reshape(-1, samples) ** 2, axis=1))
        above.semilogy(
            (np.arange(len(per_period)) + 1) * description.reference.period,
            per_period,
            label=result.controller,
        )
        harmonic = mechanism.amplitudes(result.error[-samples:], 2 * description.controller.harmonics)
        below.semilogy(np.maximum(harmonic, 1e-20), "o-", markersize=3, label=result.controller)
    above.set(
        xlabel="time [s]",
        ylabel="RMS error per period [rad]",
        title="Tracking error (simulated, ideal sensor)",
    )
    below.set(xlabel="harmonic", ylabel="amplitude in the last period [rad]")
    for axes in (above, below):
        axes.grid(True, alpha=0.3)
        axes.legend()
    figure.savefig(file, dpi=120)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the servo controller around the nonlinear plant.")
    parser.add_argument("--seconds", type=float, default=20.0, help=f"simulated time, at least {SETTLED:g}")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--plot", type=Path, help="write a picture (PNG, SVG, PDF)")
    parser.add_argument("--description", type=Path, default=DEFAULT)
    options = parser.parse_args(arguments)
    if not options.seconds >= SETTLED:
        parser.error(f"--seconds: the error is judged after {SETTLED:g} s")
    try:
        description = load(options.description)
    except DescriptionError as error:
        print(f"closed_loop.py: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        try:
            library = build(Path(folder))
        except (OSError, subprocess.CalledProcessError) as error:
            print(
                f"closed_loop.py: no C++20 compiler could build the step: {error}; set CXX", file=sys.stderr
            )
            return 3
        results = [
            simulate(library, description, controller, encoder, options.seconds)
            for controller in CONTROLLERS
            for encoder in (False, True)
        ]
    reasons = [reason for result in results if result.controller != "pd" for reason in accept(result)]
    if options.json:
        print(
            json.dumps(
                {"provenance": "simulated", "runs": [r.figures() for r in results], "reasons": reasons},
                indent=1,
            )
        )
    else:
        print("simulated                RMS e      at harmonics 0..20: RMS  worst     states   command")
        for r in results:
            sensor = f"{ENCODER_BITS}-bit encoder" if r.encoder else "ideal sensor"
            print(
                f"{r.controller:4} {sensor:16} {r.rms:12.3e} rad"
                f" {r.in_model_rms:15.2e} {r.worst_harmonic:11.2e}"
                f" {r.state_peak:8.3f} {r.command_peak:6.2f} N m"
            )
        for reason in reasons:
            print(f"not accepted: {reason}", file=sys.stderr)
    if options.plot:
        plot(results, description, options.plot)
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
