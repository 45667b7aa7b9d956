#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The drive of examples/drive on this machine: measured, profiled, analysed, run, and held to its bounds.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-2}
python=.venv/bin/python
consort() { .venv/bin/consort "$@"; }

work=$(mktemp -d "${TMPDIR:-/tmp}/consort-demo-XXXXXX")
trap 'rm -rf "$work"' EXIT
# The figures of this machine go into a copy of the description.
cp -r examples/drive examples/servo "$work"
system=$work/drive/system.yaml
mkdir "$work/runs"

prepare=()
if [ "$(id -u)" -eq 0 ]; then
    prepare=(--prepare)
fi

echo "An electric drive moves an arm: a servo controller at 20 kHz, computed by its master or offloaded to another core,"
echo "an HMI and a condition monitor (examples/drive/system.yaml). Five steps, about a minute."
echo
echo "1. What this machine costs (consort probe)"
if consort probe -o "$work/here.yaml" --seconds 0.3 --samples 3000 --quiet >"$work/probe.txt" 2>&1; then
    sed -i "s|^platform: linux-host|platform: $work/here.yaml|" "$system"
else
    sed 's/^/   /' "$work/probe.txt"
    echo "   without these figures the bounds leave out what messages and switches cost"
fi

echo "2. How long each step executes (consort profile): measured + 20 %, not a bound"
CONSORT_RUNS=$work/runs consort profile "$system" --duration 500ms --write >"$work/profile.txt" 2>"$work/progress.txt" || {
    status=$?
    cat "$work/profile.txt" "$work/progress.txt"
    exit "$status"
}
sed -n '1,/^wcet is/p' "$work/profile.txt" | grep -v '^wcet is' | grep . | sed 's/^/   /'

echo "3. Bounds (consort analyze) and 4. the worst of a simulation: in the table below"
consort analyze "$system" >"$work/analysis.txt" || echo "   the analysis says that it does not hold: see the table"

echo "5. Runs: local and offloaded, interference off and on, ${seconds} s each"
# Status 1 says that the system did not hold, 4 that it is undecided: the table says why.
run() {
    local status=0
    consort run "$system" --duration "${seconds}s" --json "${prepare[@]}" "${@:2}" >"$work/$1.json" || status=$?
    # A run that was not recorded has said why, and there is nothing to show of it.
    case "$status" in 0 | 1 | 4) ;; *) exit "$status" ;; esac
    [ -s "$work/$1.json" ] || exit 1
}
files=()
if [ "$($python -c 'import os; print(len(os.sched_getaffinity(0)))')" -ge 3 ]; then
    run whole
    files+=("$work/whole.json")
else
    echo "   Two CPUs: the control loop alone at 20 kHz, then the whole drive, twenty times slower."
    run control --mode control
    run whole --time-scale 20
    files+=("$work/control.json" "$work/whole.json")
fi
echo
$python tools/demo_table.py "${files[@]}"
