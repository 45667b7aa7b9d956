#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests: C++ with g++ and clang++ and under sanitizers, then Python. `slow` adds the long ones.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-}

# Presets of which every test runs; each is one build of the whole tree.
for preset in gcc clang tsan asan; do
    echo "== C++ tests, preset $preset"
    tools/build-preset.sh "$preset"
    # Some kernels place mappings where ThreadSanitizer cannot work; without randomisation they never do.
    run=()
    [ "$preset" = tsan ] && run=(setarch -R)
    # `ctest --quiet` would keep even a failure's words to itself.
    log=build/test-$preset.log
    if ! "${run[@]}" ctest --preset "$preset" --output-on-failure -j 2 --no-tests=error > "$log" 2>&1; then
        grep -vE ' Passed +[0-9.]+ sec$|^ +Start ' "$log" | tail -n 300
        exit 1
    fi
    tail -n 3 "$log"
done

echo "== Python tests"
if [ "$mode" = slow ]; then
    .venv/bin/python -m pytest -q
else
    .venv/bin/python -m pytest -q -m "not slow"
fi
