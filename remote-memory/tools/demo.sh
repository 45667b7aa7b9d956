#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A sort whose memory is twice what it may keep on this side, unchanged, against the same sort with all of it here.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C
work=$(mktemp -d "${TMPDIR:-/tmp}/consort-demo-XXXXXX")
name=demo-$$
server=""
trap 'kill "$server" 2> /dev/null || true; rm -rf "$work"' EXIT

.venv/bin/consort remote serve --size 512MiB --name "$name" > "$work/server.txt" 2>&1 &
server=$!
until grep -qs '^ready' "$work/server.txt"; do
    kill -0 "$server" 2> /dev/null || { wait "$server" || status=$?; cat "$work/server.txt" >&2; exit "${status:-1}"; }
    sleep 0.2
done
.venv/bin/python -c 'import random
random.seed(1)
for _ in range(1_000_000): print(f"{random.getrandbits(64):020d} a line of a file that is sorted")' > "$work/lines.txt"

TIMEFORMAT=%R
here=$( { time sort -S 128M --parallel=1 "$work/lines.txt" > "$work/here.txt"; } 2>&1)
status=0
remote=$( { time .venv/bin/consort remote run --attach "$name",size=256MiB,cache=64MiB --report "$work/report.json" \
    -- sort -S 128M --parallel=1 "$work/lines.txt" -o "$work/remote.txt"; } 2>&1) || status=$?
[ "$status" -eq 0 ] || { echo "$remote" >&2; exit "$status"; }
cmp "$work/here.txt" "$work/remote.txt" || { echo "the results differ" >&2; exit 1; }
.venv/bin/python - "$work/report.json" "$here" "$remote" << 'END'
import json
import sys

counted = json.load(open(sys.argv[1]))["segments"][0]
if counted["evicted"] == 0:
    sys.exit("nothing was evicted: the sort fitted into its cache, and this shows nothing")
print("sort of 1,000,000 lines, memory of 128 MiB, at most 64 MiB of it here: the result is the same")
print(f"  all here {sys.argv[2]} s, half remote {sys.argv[3].split()[-1]} s (measured, once each)")
print(f"  {counted['faults']} faults, {counted['fetched']} pages fetched, {counted['stored']} stored, "
      f"{counted['evicted']} evicted (counted)")
END
