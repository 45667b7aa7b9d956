# SPDX-License-Identifier: GPL-2.0-only
# Interrupts of the blocks: told, counted, and a page whose line is lost given up.

echo online_movable > $online
before=$(memory_kb)
load_module
attach demo address=$base size=256M
expect "attach" 0 $?
tool events $remap/counters/faults > /tmp/events &
listener=$!
wait_for /tmp/events ready

rm -f /tmp/go
tool lost 1 16 /tmp/go > /tmp/lost &
holder=$!
wait_for /tmp/lost address
address=$(sed -n 's/^lost: address //p' /tmp/lost)
echo "6 $address" > $remap/model/log
wait_value $remap/counters/pages_lost 1
expect "the segment lost a page" 1 "$(of demo lost)"
expect "the fault is shown" "cblock 6 load $address" \
    "$(status fault/block) $(status fault/cause) $(status fault/access) $(status fault/address)"
wait_for /tmp/events "file told"
expect "who waits at a file is told" 0 $?
wait_for /tmp/events "REMAP_EVENT=fault REMAP_BLOCK=cblock REMAP_CAUSE=6 REMAP_SEGMENT=demo"
expect "an event is sent" 0 $?
touch /tmp/go
wait $holder
expect "who uses the page ends with SIGBUS, and no other page is lost" 0 $?
cat /tmp/lost
echo "6 $address" > $remap/model/log
wait_value $remap/counters/faults 2
expect "a page is lost once" 1 "$(status counters/pages_lost)"
echo "1 $((base + size + 4096))" > $remap/model/log
wait_value $remap/counters/faults 3
echo "2 $((base + 8192))" > $remap/model/log
wait_value $remap/counters/faults 4
expect "an access that is wrong loses nothing" 1 "$(status counters/pages_lost)"
echo "7 0" > $remap/model/log 2> /dev/null
expect "a cause that is none" 1 $?

echo link-down > $remap/model/fault
wait_value $remap/counters/link_downs 1
wait_for /tmp/events "REMAP_EVENT=link-down"
expect "no link is up" 0 "$(($(status up)))"
echo none > $remap/model/fault
kill $listener

detach demo
expect "detach with a page lost" 0 $?
expect "as much memory as before" "$before" "$(memory_kb)"
attach demo address=$base size=256M
expect "attach again" 0 $?
expect "nothing of it is lost" "0 $size" "$(of demo lost) $(of demo movable)"
detach demo
expect "detach" 0 $?
rmmod remap
expect "the module goes" 0 $?
