# Either side is restarted, amid traffic; then the program beside them is killed and goes on.
rmmod rpmsg_client_sample
insmod /rpmsg_client_sample.ko count=3
insmod /consort_rproc.ko base=$window || say "FAILED to load"
wait_until attached
/program /dev/rpmsg /dev/mem "$kept" 24577 4000000000 &
begin=$(up)
detached() { [ "$(state)" = detached ]; }
round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    echo detach > $rproc/state || say "FAILED to detach $round"
    wait_until detached
    echo start > $rproc/state || say "FAILED to attach $round"
    wait_until attached
    [ $((round % 10)) = 0 ] && say "linux $round, up $(up)"
done
say "restarts of linux $round, from $begin to $(up)"
begin=$(up)
round=0
resets=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    before=$(word 17)
    while [ "$(word 17)" = "$before" ]; do
        resets=$((resets + 1))
        hold_remote
        usleep 50000
        release_remote
        tries=0
        while [ "$(word 17)" = "$before" ] && [ $tries -lt 50 ]; do
            usleep 2000
            tries=$((tries + 1))
        done
    done
    # This kernel attaches by itself.
    before=$(word 0)
    anew() { attached && [ "$(word 0)" = "$(word 16)" ]; }
    wait_until anew
    [ $((round % 10)) = 0 ] && say "remote $round after $resets resets, up $(up)"
done
say "restarts of the remote $round in $resets resets, from $begin to $(up)"
killall -9 program
/program /dev/rpmsg /dev/mem "$kept" 24577 0 || say "FAILED stream"
say "epochs $(word 0) $(word 16) $(word 17) faults $(word 19)"
complaints
finish
