#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Attaches a window, runs the program on it, shows the cycles of each hop, detaches. Usage: run.sh [FOLDER [WAVE]]: where the program goes,
# and where the waveform of everything does, if there is to be one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=${1:-$root/build/remote_window}
wave=${2:-}
consort=${CONSORT:-$root/.venv/bin/consort}

[ -e /usr/include/Zydis/Zydis.h ] || { echo "libzydis-dev is not installed; install it: apt-get install libzydis-dev" >&2; exit 3; }
mkdir -p "$out"
g++ -std=c++20 -O2 -Wall -Wextra -Werror -I "$root/include" -I "$root/ports/linux/include" -I "$here/../../include" "$here/program.cpp" -lZydis -o "$out/program"
"$consort" remote attach demo --size 64KiB ${wave:+--wave "$wave"}
trap '"$consort" remote detach demo' EXIT
"$out/program" demo
"$consort" remote list
"$consort" remote hops
