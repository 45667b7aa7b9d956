#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests: C++ with g++ and clang++ and under sanitizers, then Python; before them the checks of `make lint` that take seconds.
# `slow` adds the long tests, all examples of the properties, and clang-tidy. A skip that tests/skips.toml does not
# allow here fails.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-}
junit=()

echo "== Lint"
tools/install-packages.sh lint
tools/lint.sh quick

# Presets of which every test runs. Those whose result does not depend on the compiler are built with the first alone.
for preset in gcc clang tsan asan; do
    echo "== C++ tests, preset $preset"
    tools/build-preset.sh "$preset"
    # Some kernels place mappings where ThreadSanitizer cannot work; without randomisation they never do.
    run=()
    [ "$preset" = tsan ] && run=(setarch -R)
    # `ctest --quiet` would keep even a failure's words to itself.
    log=build/test-$preset.log
    if ! "${run[@]}" ctest --preset "$preset" --output-on-failure -j 2 --no-tests=error \
        --output-junit "$PWD/build/test-$preset.xml" > "$log" 2>&1; then
        grep -vE ' Passed +[0-9.]+ sec$|^ +Start ' "$log" | tail -n 300
        exit 1
    fi
    tail -n 3 "$log"
    junit+=("build/test-$preset.xml")
done

# python_tests PROCESSES MARKERS NAME: one run of the tests with these markers.
python_tests() {
    .venv/bin/python -m pytest -q -n "$1" --dist loadfile -m "$2" --durations=10 --junitxml="build/test-$3.xml"
    junit+=("build/test-$3.xml")
}
chosen="not slow"
[ "$mode" = slow ] && { chosen="slow or not slow"; export CONSORT_THOROUGH=1; }
echo "== Python tests, side by side"
python_tests "$(nproc)" "($chosen) and not alone" python
echo "== Python tests, one by one"
python_tests 0 "($chosen) and alone" python-alone

echo "== Skips"
.venv/bin/python tools/check_skips.py "${junit[@]}"

if [ "$mode" = slow ]; then
    echo "== clang-tidy"
    tools/lint.sh
fi
