#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ruff, mypy, clang-format and Verible, and, without `quick`, clang-tidy, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/ruff check python bench tests examples tools
.venv/bin/ruff format --check python bench tests examples tools
.venv/bin/mypy
mapfile -t sources < <(git ls-files '*.hpp' '*.cpp' | grep -v '/generated/')
clang-format --dry-run --Werror "${sources[@]}"
tools/lint-rtl.sh
[ "${1:-}" = quick ] && exit 0
cmake --preset clang > /dev/null
mapfile -t units < <(git ls-files 'ports/linux/**/*.cpp' 'ports/virtual/src/*.cpp' 'tests/icc/*.cpp' 'tests/offload/*.cpp' 'tests/spm/test_*.cpp' 'tests/link/*.cpp')
# One at a time they take minutes.
printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/clang "--extra-arg=-I$PWD/ports/virtual/include"
tools/lint-boards.sh
# The engine without its bindings, which need nanobind's headers. The analyzer takes sets for empty ones, whose arrays
# are null, where they have been checked before.
checks=-clang-analyzer-core.NonNullParamChecker,-clang-analyzer-core.NullDereference,-clang-analyzer-core.DivideZero
git ls-files -z 'engine/*/*.cpp' | grep -zEv '/bind(_bulk)?\.cpp$' |
    xargs -0 -n 1 -P "$(nproc)" sh -c 'clang-tidy --quiet --checks="$0" "$1" -- -std=c++20 -Iengine -Iinclude -Iports/virtual/include' "$checks"
