#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The beginning of each script: Linux's modules are loaded, the remote has run for long.
/bin/busybox mkdir -p /bin /proc /sys /dev /tmp
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
dmesg -n 1
value() { sed -n "s/.*\<$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
window=$(value test.window)
kept=$(value test.kept)
reset=$(value test.reset)
rounds=$(value test.rounds)
rproc=/sys/class/remoteproc/remoteproc0
say() { echo "rpmsg-test: $*"; }
up() { cut -d' ' -f1 /proc/uptime; }
# Words of the handshake: 0 this kernel's epoch; 16 the remote's acknowledgement, 17 its epoch, 19 its faults.
word() { devmem $((window + 128 + 4 * $1)); }
state() { cat $rproc/state; }
# A device of any number: the former one may still be open.
device() { ls /dev | grep -q "^rpmsg[0-9]"; }
attached() { [ "$(state)" = attached ] && device; }
wait_until() {
    waited=0
    until "$@"; do
        usleep 2000
        waited=$((waited + 1))
        [ $waited -gt 3000 ] && { say "FAILED to wait until $*: $(state), $(word 0) $(word 16) $(word 17)"; dmesg | tail -n 30; finish; }
    done
}
complaints() {
    say "kernel $(dmesg | grep -cE "WARNING|BUG|Oops|Call trace")"
    dmesg | grep -E -A 14 "WARNING|BUG|Oops|Call trace" | head -n 60
}
finish() { say "ended"; poweroff -f; }
hold_remote() { devmem $reset 32 0x17; }
release_remote() { devmem $reset 32 0x16; }
for module in rpmsg_core rpmsg_ns rpmsg_char rpmsg_ctrl virtio_rpmsg_bus rpmsg_client_sample; do
    insmod /$module.ko || say "FAILED to load $module"
done
