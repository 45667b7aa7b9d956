# SPDX-License-Identifier: GPL-2.0-only
# $cycles times attach, use and detach while others take memory and give it back.

echo online_movable > $online
before=$(memory_kb)
load_module
for user in 1 2; do
    tool load 1 24 "$((cycles * 600))" > /tmp/load$user &
    users="$users $!"
done
done_cycles=0
# The free memory of a segment that nobody uses, less 2 MiB.
unused=$((131072 - 2048))
for cycle in $(seq "$cycles"); do
    attach demo address=$base size=128M offset=$((cycle % 16 * 134217728)) || { expect "attach $cycle" 0 $?; break; }
    # So that there is something to be migrated: until some of it is in use.
    for try in 1 2 3 4 5 6 7 8 9 10; do
        free=$(sed -n 's/^Node 1 MemFree: *\([0-9]*\) kB/\1/p' /sys/devices/system/node/node1/meminfo)
        [ "$free" -lt "$unused" ] && break
        usleep 5000
    done
    [ "$free" -lt "$unused" ] && in_use=$((in_use + 1))
    detach demo || { expect "detach $cycle" 0 $?; break; }
    done_cycles=$cycle
    kill -0 $users 2> /dev/null || { say "FAILED load"; cat /tmp/load*; failed=$((failed + 1)); break; }
    [ $((cycle % 50)) = 0 ] && say "cycle $cycle, in use at detach $in_use, up $(cut -d' ' -f1 /proc/uptime) s"
done
kill $users
wait
expect "cycles" "$cycles" "$done_cycles"
say "pages were in use at $in_use of $done_cycles detaches"
expect "no segment" "" "$(segments)"
expect "as much memory as before" "$before" "$(memory_kb)"
rmmod remap
expect "the module goes" 0 $?
