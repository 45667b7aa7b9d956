# SPDX-License-Identifier: GPL-2.0-only
# Attach, use, detach with pages in use; what is refused.

echo online_movable > $online
before=$(memory_kb)
load_module
expect "the module loads" 0 $?
expect "a node of its own" 1 "$(status nodes)"

attach demo address=$base size=256M offset=0x1000000
expect "attach" 0 $?
expect "256 MiB more" $((before + 262144)) "$(memory_kb)"
expect "all movable" "$size $size" "$(of demo online) $(of demo movable)"
expect "in its own node" 1 "$(of demo node)"
expect "as it was said" "$(printf '%#x' $base) $size 0x1000000 0 0 0" \
    "$(of demo address) $(of demo size) $(of demo offset) $(of demo port) $(of demo link) $(of demo memory)"
expect "in one window" "1 attached" "$(of demo windows) $(of demo state)"
for file in $remap/* $remap/counters/* $remap/segments/demo/*; do
    [ -f "$file" ] && [ "$(cat "$file" 2> /dev/null | wc -l)" -gt 1 ] && say "FAILED more than a line in $file" && failed=$((failed + 1))
done
grep "System RAM (remap)" /proc/iomem > /dev/null
expect "named in /proc/iomem" 0 $?

rm -f /tmp/go /tmp/held
tool hold 1 64 mlock /tmp/go > /tmp/held &
holder=$!
wait_for /tmp/held ready
refused EEXIST demo address=$((base + size)) size=128M
refused EEXIST other address=$((base + size / 2)) size=128M offset=1G
refused EEXIST other address=$((base + size)) size=128M offset=0x1000000
refused EINVAL other address=$((base + size + 4096)) size=128M offset=1G
refused EINVAL other address=$((base + size)) size=64M offset=1G
refused EINVAL other address=$((base + size)) size=0 offset=1G
refused EINVAL other address=$((base + size)) size=128M offset=100
refused EINVAL other size=128M
refused EINVAL other address=$((base + size)) size=128M color=red
refused EINVAL other address=$((base + size)) size=128M size=128M
refused EINVAL ../other address=$((base + size)) size=128M
refused ERANGE other address=$((base + 2 * size)) size=128M offset=1G
refused ERANGE other address=0 size=128M offset=1G
refused ERANGE other address=$((base + size)) size=128M offset=0xfff8000000000
refused E2BIG other address=$((base + size)) size=4G offset=1G
refused ENXIO other address=$((base + size)) size=128M offset=1G link=1
refused ENXIO other address=$((base + size)) size=128M offset=1G port=1
refused ENXIO other address=$((base + size)) size=128M offset=1G memory=1
refused ENODEV other address=$((base + size)) size=128M offset=1G node=9
detach other
expect "refused ENOENT: detach other" "$(errno ENOENT)" $?
detach "demo demo"
expect "refused EINVAL: detach demo demo" "$(errno EINVAL)" $?
rmmod remap 2> /dev/null
expect "not removed while a segment is attached" 1 $?
expect "counted" 21 "$(cat $remap/counters/refused)"

echo link-down > $remap/model/fault
refused ENOLINK other address=$((base + size)) size=128M offset=1G
detach demo
expect "no detach over a link that is down" "$(errno ENOLINK)" $?
echo none > $remap/model/fault

detach demo
expect "detach with pages in use" 0 $?
touch /tmp/go
wait $holder
expect "nothing lost" 0 $?
cat /tmp/held
expect "as much memory as before" "$before" "$(memory_kb)"
expect "no segment" "" "$(segments)"
rmmod remap
expect "the module goes" 0 $?
[ -e $remap ] || grep -q remap /proc/iomem /proc/modules
expect "and leaves nothing" 1 $?
