#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [quick|changed]: ruff, mypy, clang-format and Verible, and, without a word, clang-tidy, which takes minutes.
# `changed`: clang-format and Verible look at the files alone that differ from the last commit on main's remote.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-}
failed=0
# mypy takes as long as all others together, and one processor: what it found in one clone counts in another, for it
# compares contents.
known=${XDG_CACHE_HOME:-$HOME/.cache}/consort/mypy
[ -d .mypy_cache ] || [ ! -d "$known" ] || cp -r "$known" .mypy_cache
.venv/bin/mypy &
types=$!
.venv/bin/ruff check conftest.py python bench tests examples tools remote-memory/{bench,python,tests} || failed=1
.venv/bin/ruff format --check conftest.py python bench tests examples tools remote-memory/{bench,python,tests} || failed=1

# files PATTERN...: what is looked at.
files() {
    if [ "$mode" = changed ]; then
        { git diff --name-only --diff-filter=d "$(git merge-base HEAD '@{upstream}' 2> /dev/null || echo HEAD)" -- "$@"
          git ls-files --others --exclude-standard -- "$@"; } | sort -u
    else
        git ls-files -- "$@"
    fi
}
mapfile -t sources < <(files '*.hpp' '*.cpp' | grep -v '/generated/')
[ ${#sources[@]} -eq 0 ] || clang-format --dry-run --Werror "${sources[@]}" || failed=1
mapfile -t hardware < <(files '*.sv')
[ ${#hardware[@]} -eq 0 ] || remote-memory/tools/lint-rtl.sh "${hardware[@]}" || failed=1
wait $types || failed=1
if [ $failed -eq 0 ] && [ -d .mypy_cache ]; then
    mkdir -p "${known%/*}"
    kept=$(mktemp -d "$known.XXXXXX")
    cp -r .mypy_cache/. "$kept"
    rm -rf "$known"
    mv -T "$kept" "$known" 2> /dev/null || rm -rf "$kept"
fi
[ $failed -eq 0 ] || exit 1
[ -z "$mode" ] || exit 0
cmake --preset clang > /dev/null
mapfile -t units < <(git ls-files 'ports/linux/**/*.cpp' 'remote-memory/pager/*.cpp' 'ports/virtual/src/*.cpp' 'tests/icc/*.cpp' 'tests/offload/*.cpp' 'tests/spm/test_*.cpp' 'tests/link/*.cpp')
# One at a time they take minutes.
printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p build/clang "--extra-arg=-I$PWD/ports/virtual/include"
tools/lint-boards.sh
# The engine without its bindings, which need nanobind's headers. The analyzer takes sets for empty ones, whose arrays
# are null, where they have been checked before.
checks=-clang-analyzer-core.NonNullParamChecker,-clang-analyzer-core.NullDereference,-clang-analyzer-core.DivideZero
git ls-files -z 'engine/*/*.cpp' | grep -zEv '/bind(_bulk)?\.cpp$' |
    xargs -0 -n 1 -P "$(nproc)" sh -c 'clang-tidy --quiet --checks="$0" "$1" -- -std=c++20 -Iengine -Iinclude -Iports/virtual/include' "$checks"
