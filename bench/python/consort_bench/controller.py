# SPDX-License-Identifier: Apache-2.0
"""`consort bench controller`: the servo controller's step against a hand-unrolled loop of its arithmetic."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from consort.base.environment import environment
from consort.base.errors import EnvironmentLacks
from consort.base.toolchain.builds import need_source_tree
from consort.base.toolchain.compiler import compiler

from consort_bench.registry import BenchResult, Options, goal

LIMIT = 1.5


def run(options: Options) -> BenchResult:
    servo = need_source_tree("the controller's benchmark") / "examples" / "servo"
    options.progress("building", None)
    with tempfile.TemporaryDirectory(prefix="consort-bench-") as scratch:
        program = Path(scratch) / "step-bench"
        flags = ["-std=c++20", "-O2", "-ffp-contract=off", f"-I{servo}"]
        command = [compiler(), *flags, str(servo / "bench" / "step_bench.cpp"), "-o", str(program)]
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode != 0:
            raise EnvironmentLacks(
                f"the benchmark does not build: {built.stderr.strip()[-800:]}", "check the compiler"
            )
        options.progress("measuring", None)
        text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    result: dict[str, Any] = json.loads(text)
    return BenchResult(
        [
            goal(
                "controller_f32_over_hand_unrolled",
                result["ratio_f32_over_hand_unrolled"],
                "ratio",
                "<=",
                LIMIT,
            )
        ],
        [result],
        environment(),
    )
