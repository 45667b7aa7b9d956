# SPDX-License-Identifier: GPL-2.0-only
# STREAM on memory of this machine, on the segment, and on both.

echo online_movable > $online
load_module
attach demo address=$base size=256M
expect "attach" 0 $?
for nodes in 1 2 3; do
    tool stream 16 $nodes
    expect "stream on nodes $nodes" 0 $?
done
detach demo
expect "detach" 0 $?
rmmod remap
expect "the module goes" 0 $?
