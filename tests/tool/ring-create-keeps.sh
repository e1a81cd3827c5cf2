#!/bin/bash
# SPDX-License-Identifier: MIT
# A channel with a name while its sides come, leave, die and come back.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

create one
check a_server_may_leave_before_a_client_comes eval 'seq 5 | sbx-ring send one'
run sbx-ring recv one
check the_client_gets_all_it_has_sent out_is "$(seq 5)"
check the_keeper_ends_when_both_have_left ended one

run bash -c 'sbx-ring create script | { read -r line; seq 5 | sbx-ring send script & sbx-ring recv script; echo "$line"; }'
check a_script_that_waits_for_the_line_can_use_the_name out_has "$(seq 5)"
check the_line_names_the_channel out_has 'script: stream'
run sbx-ring send --timeout 60s nobody </dev/null
check a_side_without_a_keeper_fails_whatever_the_time_out has_status 1

create two
sbx-ring recv two >got &
client=$!
seq 7 | sbx-ring send two
check a_client_may_come_first wait "$client"
check it_gets_all cmp got <(seq 7)
check and_so_does_the_keeper ended two

create three --keep
for i in 1 2 3; do
	echo "$i" | sbx-ring send three
	run sbx-ring recv three
	check "channel_${i}_of_a_kept_name_is_a_new_one" out_is "$i"
done
sbx-ring recv --follow three >got &
follower=$!
for i in 1 2 3; do
	echo "$i" | sbx-ring send three
done
keeper wait three waiting_for_server
service stop keeper.three
rm -f keeper.three
check follow_ends_with_the_keeper wait "$follower"
check follow_reads_what_each_server_sends cmp got <(seq 3)

create four
mkfifo lines
sbx-ring send four <lines &
server=$!
exec 5>lines
sbx-ring recv four >got 2>error &
client=$!
echo first >&5
keeper wait four open
until [ "$(cat got)" = first ]; do :; done
kill -9 "$server"
exec 5>&-
wait "$client"
status=$? out='' err=$(cat error)
check a_killed_server_ends_the_client refuses 1 'cannot receive' 'the process of the other side has died' ''
check what_it_had_sent_has_arrived test "$(cat got)" = first
check the_death_is_recorded recorded ring_closed '"channel":"four"' '"role":"client"' '"end":"died"' "\"pid\":$server"
check after_both_are_gone_so_is_the_keeper ended four

create five --keep
mkfifo texts
sbx-ring send five <texts >/dev/null 2>error &
server=$!
exec 5>texts
sbx-ring recv five >got &
client=$!
keeper wait five open
kill -9 "$client"
keeper wait five client_left
yes 'text that fills the channel' | head -n 100000 >&5 2>/dev/null
exec 5>&-
wait "$server"
status=$? out='' err=$(cat error)
check a_killed_client_ends_the_server refuses 1 'cannot send message' 'the process of the other side has died' ''
seq 3 | sbx-ring send five
run sbx-ring recv five
check a_kept_name_lives_on out_is "$(seq 3)"

create six
run sbx-ring recv --role server --timeout 10s six
check a_server_without_a_client_says_so refuses 1 'cannot receive' 'no client came before the time-out' 'start the client'
finish
