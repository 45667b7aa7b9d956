#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The executive in virtual time against the simulator on random systems: how many (100,000), from which number on.
set -euo pipefail
cd "$(dirname "$0")/.."

systems=${1:-100000}
first=${2:-0}
mkdir -p build/campaign
command=("${CXX:-g++}" -std=c++20 -O2 -Iinclude -Iports/virtual/include -Iengine -Itests/virtual)
objects=()
for source in tests/virtual/{equality,compare}.cpp engine/sim/{run,modes,in_virtual_time}.cpp ports/virtual/src/{machine,fiber}.cpp; do
    object=build/campaign/$(basename "$source" .cpp).o
    $(command -v ccache || true) "${command[@]}" -c "$source" -o "$object"
    objects+=("$object")
done
"${CXX:-g++}" "${objects[@]}" -o build/campaign/equality
exec build/campaign/equality "$systems" "$first"
