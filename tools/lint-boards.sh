#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy on the programs for boards: for each core of each board, and for a process beside the board.
set -euo pipefail
cd "$(dirname "$0")/.."
consort=.venv/bin/consort

# check OPTIONS... -- FILES...: a register is a number that becomes a pointer; without guards for statics, constants of
# templates are taken for variables.
check() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I FILE \
        clang-tidy --quiet --checks=-performance-no-int-to-ptr,-bugprone-dynamic-static-initializers FILE -- "${options[@]}"
}
mapfile -t any < <(git ls-files ports/bare/memory.cpp ports/bare/runtime.cpp 'ports/bare/programs/*.cpp')
mapfile -t processes < <(git ls-files 'ports/bare/linux/*.cpp' 'ports/bare/programs/*.cpp')
check -std=c++20 -Iinclude -Iports/bare/include -Iports/bare/linux -I. '-DCONSORT_CORE_NAME="x"' -- "${processes[@]}"

"$consort" board list --known | while read -r board core compiler; do
    command -v "$compiler" > /dev/null || { echo "no $compiler, which $board's $core is compiled with" >&2; exit 3; }
    # Clang takes the flags of g++ that it knows, and g++'s own headers.
    mapfile -t options < <("$consort" board flags "$board" "$core" | sed "s|^-I$PWD/|-I|")
    mapfile -t headers < <("$compiler" -x c++ -E -v /dev/null 2>&1 |
        sed -n '/^#include </,/^End of search list/s/^ /-isystem/p')
    mapfile -t own < <(git ls-files "ports/$board/$core/*.cpp")
    check "--target=$("$compiler" -dumpmachine)" -Wno-unused-command-line-argument -Qunused-arguments \
        "${headers[@]}" "${options[@]}" -- "${any[@]}" "${own[@]}"
done
