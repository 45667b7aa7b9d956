#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs fuzz targets for some seconds each and adds a line for each to tests/fuzz/record.csv.
#
#   tools/fuzz.sh SECONDS [TARGET…]     without targets: all, two at a time
#
# Inputs that grew the coverage are kept in build/fuzz/corpus/TARGET and used again; a finding is kept in
# build/fuzz/findings, and the exit status is then 1.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz.sh SECONDS [TARGET…]}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "SECONDS is a whole number above 0, not '$seconds'" >&2; exit 2; }
shift
native=(region region_race channels channels_race)
python=(dts amalthea rt-app yaml run-json run-folder raw-manifest)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${native[@]}" "${python[@]}")
for target in "${targets[@]}"; do
    [[ " ${native[*]} ${python[*]} " == *" $target "* ]] ||
        { echo "no target '$target'; there are ${native[*]} ${python[*]}" >&2; exit 2; }
done
work=$PWD/build/fuzz
record=$PWD/tests/fuzz/record.csv
mkdir -p "$work/findings" "$work/logs"

build() {
    clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iinclude \
        "tests/fuzz/fuzz_$1.cpp" -o "$work/fuzz_$1" -lpthread
}

# Runs one target; its line of the record goes to standard output.
one() {
    local target=$1 corpus=$work/corpus/$1 log=$work/logs/$1.log status=0 command
    mkdir -p "$corpus"
    local options=("-max_total_time=$seconds" -timeout=120 "-artifact_prefix=$work/findings/$target-" -print_final_stats=1)
    if [[ " ${native[*]} " == *" $target "* ]]; then
        command=("$work/fuzz_$target" -max_len=512 "${options[@]}" "$corpus")
        [ ! -d "tests/fuzz/seeds/$target" ] || command+=("tests/fuzz/seeds/$target")
    else
        command=(.venv/bin/python tests/fuzz/fuzz_python.py "$target" "$corpus" "${options[@]}")
    fi
    "${command[@]}" > "$log" 2>&1 || status=$?
    local runs
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    echo "$(date -u +%F),$(git describe --always --dirty),$target,$seconds,${runs:-0},$([ $status -eq 0 ] && echo none || echo "see the log")" \
        > "$work/logs/$target.csv"
    if [ $status -ne 0 ]; then
        tail -n 30 "$log" >&2
        return 1
    fi
}

for target in "${targets[@]}"; do
    if [[ " ${native[*]} " == *" $target "* ]]; then
        build "$target"
    elif ! .venv/bin/python -c 'import atheris' 2> /dev/null; then
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tests/fuzz/requirements.txt
    fi
done
failed=0
running=0
for target in "${targets[@]}"; do
    rm -f "$work/logs/$target.csv"
    one "$target" &
    running=$((running + 1))
    if [ $running -ge 2 ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
done
while [ $running -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
[ -e "$record" ] || echo "date,commit,target,seconds,runs,findings" > "$record"
for target in "${targets[@]}"; do
    cat "$work/logs/$target.csv" >> "$record"
    cat "$work/logs/$target.csv"
done
exit $failed
