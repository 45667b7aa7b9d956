#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv with the locked versions and Consort itself; does nothing when that is done and unchanged. A command that
# is given runs beside it.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=.venv/consort-setup
key=$(find requirements.lock requirements-build.lock pyproject.toml remote-memory/pyproject.toml engine include/consort/{accel,icc,app,task,spm} ports/virtual \
    -type f | sort | xargs cat | sha256sum | cut -c1-16)
[ -x .venv/bin/consort ] && [ "$(cat $stamp 2> /dev/null)" = "$key" ] && exit 0

python=python3
if ! $python -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python 3.11 or newer is needed; $($python --version) is here" >&2
    exit 3
fi
if [ $# -gt 0 ]; then
    # At no lower priority: beside other load it would stand still, and whoever needs what it makes waits for it.
    "$@" &
    # Not when the set-up fails or is interrupted: a shell keeps its background from hearing Ctrl-C.
    beside=$!
    trap 'kill $beside 2> /dev/null || true' EXIT
fi
[ -x .venv/bin/python ] || { echo "making .venv with $($python --version)"; $python -m venv .venv; }
echo "installing $(cat requirements*.lock | grep -c '==') locked Python packages and Consort into .venv"
# The tools that build a package are installed before, from wheels alone: a build then fetches nothing, and
# every file that comes from the index has its hash in a lock.
install=(.venv/bin/python -m pip install --quiet --disable-pip-version-check)
"${install[@]}" --require-hashes --no-deps --only-binary :all: -r requirements-build.lock
# uv needs seconds where pip needs a minute; it does not read pip's settings, so an index that only those name is pip's.
locked=(--require-hashes --no-deps --no-build-isolation -r requirements.lock)
uv=(.venv/bin/uv pip install --quiet --python .venv/bin/python)
"${uv[@]}" "${locked[@]}" 2> /dev/null || "${install[@]}" "${locked[@]}"
# uv builds both at once; --reinstall, as it would take what it built of other sources. pip says what fails.
own=(--no-deps --no-build-isolation --editable . --editable remote-memory)
"${uv[@]}" --reinstall "${own[@]}" 2> /dev/null || "${install[@]}" "${own[@]}"
.venv/bin/uv pip check --quiet --python .venv/bin/python 2> /dev/null || .venv/bin/python -m pip check > /dev/null ||
    { .venv/bin/python -m pip check >&2; exit 3; }
echo "$key" > $stamp
[ $# -eq 0 ] || wait $beside || true
trap - EXIT
