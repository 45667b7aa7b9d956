# Linux attaches to a remote that was first: its own sample, a stream, a module that goes and comes, a remote that
# does not answer.
insmod /consort_rproc.ko base=$((window + 0x100000)) 2> /dev/null && say "FAILED: attached to nothing"
dmesg | grep -q "there is no remote at" || say "FAILED: why is not said"
insmod /consort_rproc.ko base=$window || say "FAILED to load"
wait_until attached
# As many greetings as the kernel's sample wants by default.
goodbye() { dmesg | grep -q "goodbye!"; }
wait_until goodbye
say "greetings $(dmesg | grep -c "incoming msg")"
/program /dev/rpmsg /dev/mem "$kept" 24577 "$rounds" || say "FAILED stream"
rmmod consort_rproc || say "FAILED to unload"
device && say "FAILED: a device is left"
hold_remote
insmod /consort_rproc.ko base=$window wait_ms=50
[ "$(state)" = detached ] || say "FAILED: $(state) to a remote that is held"
dmesg | grep -q "the remote does not answer" || say "FAILED: why is not said"
release_remote
usleep 200000
echo start > $rproc/state || say "FAILED to start"
wait_until attached
/program /dev/rpmsg /dev/mem "$kept" 24577 $((2 * rounds)) || say "FAILED stream"
say "epochs $(word 0) $(word 16) $(word 17) faults $(word 19)"
complaints
finish
