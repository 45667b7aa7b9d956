# SPDX-License-Identifier: GPL-2.0-only
# Blocks that fail, pages that cannot move, several users at once, and whatever else may be written.

echo online_movable > $online
insmod /remap.ko
expect "no hardware and no model" 0 $?
[ -e $remap ]
expect "are not a device" 1 $?
rmmod remap
insmod /remap.ko model=$((base - 536870912))+128M 2> /dev/null
expect "an aperture that the kernel uses" "$(errno EBUSY)" $?
insmod /remap.ko model=nonsense 2> /dev/null
expect "an aperture that is none" "$(errno EINVAL)" $?
insmod /remap.ko model="$aperture" model_windows=9 2> /dev/null
expect "a model that is none" "$(errno EINVAL)" $?
before=$(memory_kb)
load_module detach_timeout_ms=4000 drain_timeout_ms=200

# Pages that are pinned.
for how in pipe ring; do
    attach demo address=$base size=256M
    expect "$how: attach" 0 $?
    rm -f /tmp/go
    tool hold 1 16 $how /tmp/go > /tmp/held &
    holder=$!
    wait_for /tmp/held ready
    detach demo
    got=$?
    # Pages that are pinned for long were moved to another node first.
    if [ $how = pipe ]; then
        expect "$how: detach refused" "$(errno EBUSY)" $got
        expect "$how: its memory is as it was" "$size $size" "$(of demo online) $(of demo movable)"
        cat $remap/last_error
    else
        expect "$how: detach" 0 $got
    fi
    if [ $how = pipe ]; then
        # Whoever waits for a detach may be killed.
        echo 600000 > /sys/module/remap/parameters/detach_timeout_ms
        tool write $remap/detach demo &
        waiting=$!
        until [ "$(of demo state)" = detaching ]; do usleep 20000; done
        kill -9 $waiting
        wait $waiting
        expect "$how: a detach that is killed ends" 137 $?
        expect "$how: and leaves the memory" "attached $size $size" \
            "$(of demo state) $(of demo online) $(of demo movable)"
        echo 4000 > /sys/module/remap/parameters/detach_timeout_ms
    fi
    touch /tmp/go
    wait $holder
    expect "$how: nothing lost" 0 $?
    if [ $how = pipe ]; then
        detach demo
        expect "$how: detach when they are free" 0 $?
    fi
done

# Blocks that fail.
attach demo address=$base size=256M
expect "attach" 0 $?
echo never-drained > $remap/model/fault
detach demo
expect "accesses that never end" "$(errno ETIMEDOUT)" $?
expect "its memory is given back" "$before" "$(memory_kb)"
expect "it is listed" draining "$(of demo state)"
attach other address=$base size=256M offset=1G
expect "its addresses are not given to others" "$(errno EEXIST)" $?
rmmod remap 2> /dev/null
expect "the module stays" 1 $?
echo none > $remap/model/fault
detach demo
expect "detach when they have ended" 0 $?
echo stuck-window > $remap/model/fault
attach demo address=$base size=256M
expect "a window that keeps nothing" "$(errno EIO)" $?
echo bus-error > $remap/model/fault
attach demo address=$base size=256M
expect "registers that do not answer" "$(errno EIO)" $?
expect "and are seen not to" 0 "$(status answers)"
echo all-ones > $remap/model/fault
attach demo address=$base size=256M
expect "registers that answer with ones only" "$(errno EIO)" $?
expect "and are seen to" 0 "$(status answers)"
cat $remap/up > /dev/null 2>&1
expect "no state of links is made up" 1 $?
echo none > $remap/model/fault
attach demo address=$base size=256M
expect "attach after faults" 0 $?
echo all-ones > $remap/model/fault
cat $remap/segments/demo/reads > /dev/null 2>&1
expect "no count is made up" 1 $?
echo bus-error > $remap/model/fault
detach demo
expect "no detach without registers" "$(errno EIO)" $?
echo none > $remap/model/fault
detach demo
expect "detach after faults" 0 $?

# The policy of the kernel.
echo online_kernel > $online
attach demo address=$base size=256M
expect "a policy that is not movable" "$(errno EPERM)" $?
expect "leaves nothing" "$before" "$(memory_kb)"
echo offline > $online
attach demo address=$base size=256M
expect "a policy that leaves it offline" 0 $?
expect "is shown" "0 0" "$(of demo online) $(of demo movable)"
echo link-down > $remap/model/fault
detach demo
expect "what is offline can go without the link" 0 $?
echo none > $remap/model/fault
echo online_movable > $online

# Several users at once, at two halves and at the same one.
echo 600000 > /sys/module/remap/parameters/detach_timeout_ms
echo 60000 > /sys/module/remap/parameters/drain_timeout_ms
for user in 1 2 3; do
    (
        place=$((base + (user % 2) * size))
        good=0
        for round in $(seq 8); do
            # Two of them want the same place: one is refused, and tries again. The module may be gone meanwhile.
            until attach user$user address=$place size=256M offset=$((user * 1073741824)); do
                [ -e $remap ] || load_module 2> /dev/null
                usleep 20000
            done
            detach user$user || break
            good=$((good + 1))
            rmmod remap 2> /dev/null
            cat $remap/* $remap/segments/*/* > /dev/null 2>&1
        done
        echo "user $user: $good of 8" > /tmp/user$user
    ) &
done
wait
for user in 1 2 3; do
    expect "user $user at once with others" "user $user: 8 of 8" "$(cat /tmp/user$user)"
done
[ -e $remap ] || load_module
expect "nothing is left of them" "" "$(segments)"
expect "no memory is" "$before" "$(memory_kb)"

# Whatever else may be written.
tool fuzz $remap/attach 3000 1
tool fuzz $remap/detach 1000 2
tool fuzz $remap/model/fault 200 3
echo none > $remap/model/fault
segments
for name in $(segments); do
    detach "$name"
    expect "detach $name" 0 $?
done
expect "no memory is left" "$before" "$(memory_kb)"
rmmod remap
expect "the module goes" 0 $?
