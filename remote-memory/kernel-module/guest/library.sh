# SPDX-License-Identifier: GPL-2.0-only
# Shared by the tests of the module. The host reads the lines of `say`: the kernel's own lines come in
# between.

remap=/sys/class/remap/remap0
online=/sys/devices/system/memory/auto_online_blocks
failed=0
in_use=0
users=
size=268435456

# The console is serial and the kernel's too: what is said begins with its own line.
say() { echo "remap-test: $*"; }

# expect WHAT WANTED GOT
expect() {
    if [ "$2" = "$3" ]; then
        say "ok $1"
    else
        say "FAILED $1: $3 instead of $2 ($(cat $remap/last_error 2> /dev/null))"
        failed=$((failed + 1))
    fi
}

# attach NAME [WORDS]: exit status is the error number
attach() { tool write $remap/attach "$*"; }
detach() { tool write $remap/detach "$1"; }

# A property of a segment, and one of the device.
of() { cat "$remap/segments/$1/$2"; }
status() { cat "$remap/$1"; }
segments() { ls $remap/segments; }
memory_kb() { sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo; }

# With long times: the host may leave the guest without any for seconds.
load_module() {
    insmod /remap.ko model="$aperture" detach_timeout_ms=600000 drain_timeout_ms=60000 "$@"
}

errno() {
    case $1 in
        EINTR) echo 4 ;; EIO) echo 5 ;; ENXIO) echo 6 ;; E2BIG) echo 7 ;; ENOENT) echo 2 ;; EBUSY) echo 16 ;;
        EEXIST) echo 17 ;; ENODEV) echo 19 ;; EINVAL) echo 22 ;; ENOSPC) echo 28 ;; ERANGE) echo 34 ;; EPERM) echo 1 ;;
        ENOLINK) echo 67 ;; ETIMEDOUT) echo 110 ;;
    esac
}

# refused ERRNO WORDS...: an attach that is
refused() {
    wanted=$1
    shift
    attach "$@"
    expect "refused $wanted: $*" "$(errno "$wanted")" $?
}

# wait_value FILE VALUE: until a file has it
wait_value() {
    for try in $(seq 600); do
        [ "$(cat "$1")" = "$2" ] && return 0
        usleep 50000
    done
    say "FAILED waiting for $2 in $1: $(cat "$1")"
    failed=$((failed + 1))
}

# wait_for FILE WORDS: until another process has said so
wait_for() {
    for try in $(seq 600); do
        grep -q "$2" "$1" 2> /dev/null && return 0
        usleep 50000
    done
    say "FAILED waiting for '$2' in $1"
    failed=$((failed + 1))
}
