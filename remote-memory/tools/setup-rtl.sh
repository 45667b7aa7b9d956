#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes build/rtl-venv with the locked hardware tools (Verilator, cocotb, Yosys, a solver); does nothing when that is done.
set -euo pipefail
cd "$(dirname "$0")/../.."

venv=build/rtl-venv
stamp=$venv/consort-setup
key=$(sha256sum remote-memory/rtl/requirements.lock | cut -c1-16)
[ "$(cat $stamp 2> /dev/null)" = "$key" ] && exit 0
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed" >&2; exit 3; }
mkdir -p build
# Tests that run side by side find them missing together: one installs them, the others wait for it.
exec 9> build/rtl-venv.lock
flock 9
[ "$(cat $stamp 2> /dev/null)" = "$key" ] && exit 0
$venv/bin/python -m pip --version > /dev/null 2>&1 || python3 -m venv --clear $venv
echo "installing $(grep -c '==' remote-memory/rtl/requirements.lock) locked Python packages of hardware tools into $venv (about 430 MB)"
# As in tools/setup-python.sh; without .venv there is no uv.
locked=(--quiet --require-hashes --no-deps --only-binary :all: -r remote-memory/rtl/requirements.lock)
.venv/bin/uv pip install --python $venv/bin/python "${locked[@]}" 2> /dev/null ||
    $venv/bin/python -m pip install --disable-pip-version-check "${locked[@]}" || {
    echo "the hardware tools cannot be installed here" >&2
    exit 3
}
echo "$key" > $stamp
