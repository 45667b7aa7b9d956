#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The servo application on this machine: local and offloaded, interference off and on.
set -euo pipefail
cd "$(dirname "$0")/.."
iterations=${1:-100000}

echo "A servo controller (20 oscillators and an integrator, recorded inputs), released every 50 us, $iterations times in each"
echo "of four configurations: computed by the master, or offloaded to a worker on another core; interference off, then on."
status=0
.venv/bin/consort run examples/servo/system.yaml --iterations "$iterations" || status=$?
if [ "$status" -eq 1 ]; then
    echo
    echo "Exit status 1: see the reasons above. Deadline misses at 20 kHz are what an unprepared machine gives: \`consort doctor\`"
    echo "(.venv/bin/consort doctor) says what to change. Wrong outputs or a dead worker would be a defect."
    .venv/bin/python tools/demo_verdict.py
elif [ "$status" -ne 0 ]; then
    exit "$status"
fi
