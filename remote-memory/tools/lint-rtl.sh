#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint-rtl.sh [FILE...]: Verible over all SystemVerilog, or over these files, where the hardware's tools are there
# (remote-memory/tools/setup-rtl.sh). Verilator's own lint, -Wall, is part of each simulation's build.
set -euo pipefail
cd "$(dirname "$0")/../.."
verible=$PWD/build/rtl-venv/bin/verible-verilog-lint
[ -x "$verible" ] || { echo "no Verible in build/rtl-venv (remote-memory/tools/setup-rtl.sh): SystemVerilog is not linted by it" >&2; exit 0; }
rules=$PWD/remote-memory/rtl/verible
if [ $# -gt 0 ]; then sources=("$@"); else mapfile -t sources < <(git ls-files '*.sv'); fi
# Verible takes the word "units" for one of Verilog-AMS, which it is not in SystemVerilog: it sees copies with another word of
# the same length, so that its places and the lengths of lines hold.
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
for source in "${sources[@]}"; do
    mkdir -p "$copies/$(dirname "$source")"
    sed 's/\<units\>/Units/g' "$source" > "$copies/$source"
done
cd "$copies"
"$verible" --rules_config="$rules/rules" --waiver_files="$rules/waivers" "${sources[@]#/}"
