# SPDX-License-Identifier: GPL-2.0-only
# A device of the device tree. RAM stands for its registers, which keep what is written and do nothing else; the
# interrupts are real, raised at the interrupt controller.

at=$((registers))
status_register=0x30 fault_register=0x38
raise() { tool poke $gic $line; }

echo online_movable > $online
before=$(memory_kb)
expect "no device before" "" "$(ls /sys/class/remap 2> /dev/null)"
insmod /remap.ko detach_timeout_ms=600000 drain_timeout_ms=60000
expect "the module loads" 0 $?
expect "the tree's device is there" hardware "$(status registers)"
expect "its aperture" "$(printf '%#x' $base) $((1 << 29))" "$(status aperture_start) $(status aperture_size)"
expect "its shape" "1 1 8 1" "$(status ports) $(status links) $(status windows) $(status memories)"
grep -q "$(basename "$(readlink $remap/device)")" /proc/iomem
expect "its registers are its own" 0 $?
[ -e /sys/bus/platform/drivers/remap/unbind ]
expect "nobody can part it from its driver" 1 $?
attach demo address=$base size=256M
expect "attach" 0 $?
expect "all movable" "$size $size" "$(of demo online) $(of demo movable)"

# A line that is lost.
rm -f /tmp/go
tool lost 1 16 /tmp/go > /tmp/lost &
holder=$!
wait_for /tmp/lost address
address=$(sed -n 's/^lost: address //p' /tmp/lost)
tool poke $((at + 0x40)) $((address & 0xffffffff))
tool poke $((at + 0x44)) $((address >> 32))
# Valid, of cause 5.
tool poke $((at + fault_register)) $((1 | 5 << 9))
tool poke $((at + status_register)) $((1 << 5))
raise
wait_value $remap/counters/pages_lost 1
# Its cause is not, for it was cleared with a 1, which RAM keeps.
expect "the fault is shown" "cblock $address" "$(status fault/block) $(status fault/address)"
tool poke $((at + status_register)) 0
tool poke $((at + fault_register)) 0
grep -q remap0 /proc/interrupts
expect "the interrupt is listed" 0 $?
touch /tmp/go
wait $holder
expect "who uses the page ends with SIGBUS" 0 $?

# The fence is passed when somebody says so.
(
    until [ "$(of demo state)" = draining ]; do usleep 20000; done
    while [ -e $remap/segments/demo ]; do
        tool poke $((at + 0x18)) 0
        usleep 20000
    done
) &
detach demo
expect "detach" 0 $?
wait
expect "as much memory as before" "$before" "$(memory_kb)"

# Nobody is there any more.
tool poke $at 0xffffffff
tool poke $((at + 0xc)) 0xffffffff
expect "registers that are gone are seen to be" 0 "$(status answers)"
rmmod remap
expect "the module goes" 0 $?
insmod /remap.ko
expect "where nobody is there" 0 $?
[ -e $remap ]
expect "is not a device" 1 $?
rmmod remap
expect "the module goes again" 0 $?
