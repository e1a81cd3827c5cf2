#!/bin/sh
# SPDX-License-Identifier: MIT
# The service: a worker for each supervisor that asks, limits, status, and who is refused.
. "$SBX_SOURCE/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/proxy.sh"

echo 'net: {mode: proxy}' >>policy.yaml
run service start "$work/service.pid" sbx-proxy serve --socket "$work/s" --max-workers-each 3 --max-workers 5 \
	2>>"$work/log"
check the_service_starts has_status 0
run sbx-proxy status --socket "$work/s" --json
check at_first_it_has_no_workers out_has '"ok":true,"workers":0'

echo "sbx-proxy status --socket $work/s" >during
run proxy sandbox "$work/s" policy.yaml "http://127.0.0.1:$origin/one" "http://127.0.0.2:$origin/two" <during
check a_sandbox_gets_a_worker out_has ok
check its_worker_connects_and_refuses out_has '200
403'
check status_shows_the_sandbox_with_its_counters out_has 'box-1'
check the_end_of_the_sandbox_is_answered_with_its_denials out_has "denied 127.0.0.2 $origin 1"
check the_summary_has_the_counters out_has 'counters 2 1
end'
spool=$work/state
[ "$(id -u)" != 0 ] || spool=/var/lib
check the_workers_of_the_service_record_in_its_spool grep -q '"sandbox_id":"box-1"' "$spool/sbx/spool/records.jsonl"

if unshare -U true 2>"$work/no"; then
	chmod 666 "$work/s"
	run unshare -U python3 "$SBX_SOURCE/tests/tool/proxy.py" open "$work/s" 1 </dev/null
	check a_process_in_a_user_namespace_gets_no_worker out_is 'the process that asks is in a sandbox'
else
	skip a_process_in_a_user_namespace_gets_no_worker 'no user namespace can be made'
fi

if [ "$(id -u)" = 0 ]; then
	skip one_user_gets_as_many_workers_as_the_limit 'root has no limit of its own'
else
	run proxy open "$work/s" 4 </dev/null
	check one_user_gets_as_many_workers_as_the_limit out_is 'ok
ok
ok
the user has its maximum number of workers'
fi
run proxy open "$work/s" 8 </dev/null
check all_together_get_as_many_workers_as_the_limit out_has 'maximum number of workers'

for packet in '{}' '{"type":"OPN"}' '{"type":"OPEN","fd":3}' '{"type":"OPEN"}{}' 'OPEN' '["OPEN"]'; do
	run service ask "$work/s" <<-END
		$packet
	END
	check "the_message_${packet}_is_refused" out_has 'cannot understand the message'
done
finish
