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
    "${run[@]}" ctest --preset "$preset" --quiet --output-on-failure -j 2 --no-tests=error
done

echo "== Python tests"
if [ "$mode" = slow ]; then
    .venv/bin/python -m pytest -q
else
    .venv/bin/python -m pytest -q -m "not slow"
fi
