#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build-preset.sh PRESET [TARGET...]: configures and builds one CMake preset quietly; where either fails, shows what
# the compiler said.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: build-preset.sh PRESET [TARGET...]}
targets=("${@:2}")
mkdir -p build
log=build/build-$preset.log
# ninja's own choice is two more than there are processors: Python tests beside it would stand back, and then be alone.
build=(cmake --build --preset "$preset" --parallel "$(nproc)" ${targets:+--target "${targets[@]}"})
if ! { cmake --preset "$preset" && "${build[@]}"; } > "$log" 2>&1; then
    # Each failing step, not the hundreds of lines of those beside it.
    grep -n -A 30 -E '^FAILED:|error:|CMake Error' "$log" | head -n 120 || true
    tail -n 20 "$log"
    exit 1
fi
tail -n 1 "$log"
