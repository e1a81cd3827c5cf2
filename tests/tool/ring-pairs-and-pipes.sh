#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-ring pair and pipe: two commands joined by a channel, with the exit status of a shell.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

run sbx-ring pair --with 'seq 3 | sbx-ring send --create' -- sbx-ring recv
check a_pair_has_a_channel out_is "$(seq 3)"
run sbx-ring pair --with 'sbx-ring recv --create' -- sh -c 'seq 3 | sbx-ring send; exit 7'
check it_ends_with_the_status_of_the_command has_status 7
check both_may_write out_is "$(seq 3)"
run sbx-ring pair --with 'exit 3' -- sh -c 'exit 0'
check the_status_of_the_other_is_a_warning err_has 'warning: the command of --with has ended with status 3'
check it_does_not_change_the_status has_status 0
run sbx-ring pair --with true -- sh -c 'kill -9 $$'
check a_signal_is_128_and_its_number has_status 137
run sbx-ring pair --with true -- no-such-command
check a_missing_command_ends_with_127 has_status 127
run sbx-ring pair --with true -- /
check a_directory_ends_with_126 has_status 126
run sbx-ring pair --with true -- sh -c 'echo "$SBX_RING_FD"'
check the_number_is_3 out_is 3
run sbx-ring pair --with true -- sh -c 'echo "$SBX_RING_FD"; cat <&3' 3</dev/null
check an_open_3_is_left_alone test "${out%%$'\n'*}" = 4
run sbx-ring pair --with 'sbx-ring send --create <&-' -- sbx-ring recv
check the_command_ends_when_the_server_fails has_status 0
mkfifo ready
sbx-ring pair --with 'exec cat <&3' -- sh -c 'trap "exit 9" TERM; echo >ready; while :; do :; done' 2>>log &
pair=$!
read -r _ <ready
kill "$pair"
wait "$pair"
check sigterm_is_passed_on test $? = 9

# The example of the page, where the tools are not installed.
run sbx-ring pair --with 'sbx-ring recv --create >events' -- \
	sbx-spawn -q --ring-fd 3 --read "$SBX_BUILD/tools" -- sh -c "echo started | ASAN_OPTIONS=detect_leaks=0 '$SBX_BUILD/tools/sbx-ring' send"
check a_command_in_a_sandbox_sends_to_one_outside test "$status:$(cat events)" = 0:started

run sbx-ring create --fds -- sh -c '
	sbx-ring recv --create --fd 3 4<&- &
	seq 3 | sbx-ring send --fd 4 3<&-
	exec 3<&- 4<&-
	wait'
check a_script_gets_both_ends out_is "$(seq 3)"
run sbx-ring create --fds -- sh -c 'echo "$SBX_RING_SERVER_FD $SBX_RING_FD"'
check their_numbers_are_3_and_4 out_is '3 4'
run sbx-ring create --fds -- sh -c 'echo "$SBX_RING_SERVER_FD $SBX_RING_FD"; cat <&4' 4</dev/null
check an_open_4_is_left_alone out_is '3 5'
run sbx-ring create --fds -- sh -c '
	sbx-ring recv --create --fd 3 5<&- &
	seq 3 | sbx-ring send --fd 5 3<&-
	exec 3<&- 5<&-
	wait' 0<&- 4</dev/null
check closed_stdin_is_no_end_of_it out_is "$(seq 3)"
run sbx-ring create --fds -- sh -c 'exit 7'
check the_script_is_the_process has_status 7
run sbx-ring create --fds -- no-such-command
check a_missing_script_ends_with_127 has_status 127
run sbx-ring create --fds --size 1MiB -- true
check its_server_chooses_the_size refuses 2 'an option that --fds does not have' 'with --fds the command' 'leave out --keep; give --size'
run sbx-ring create one two
check a_keeper_has_one_name refuses 2 'more than one name' 'a keeper has one channel' 'leave out the others'

head -c 20000000 /dev/urandom >in
check a_pipe_is_exact eval 'cat in | sbx-ring pipe -- cmp - in'
check it_is_through_a_small_channel eval 'cat in | sbx-ring pipe --size 128KiB -- cmp - in'
check a_file_may_be_stdin sbx-ring pipe -- cmp - in <in
check any_size_of_chunk_passes eval '{ for i in 1 7 64 4096 65537; do dd if=in bs=$i count=9 status=none; done; } >w
	{ for i in 1 7 64 4096 65537; do dd if=in bs=$i count=9 status=none; done; } | sbx-ring pipe -- cmp - w'
run sbx-ring pipe -- wc -c </dev/null
check nothing_is_nothing out_is 0
run sbx-ring pipe -- sh -c 'exit 5' </dev/null
check it_ends_with_the_status_of_its_command has_status 5
run sbx-ring pipe -- sh -c 'kill -9 $$' </dev/null
check a_signal_of_its_command_is_128_and_its_number has_status 137
run sbx-ring pipe -- no-such-command </dev/null
check no_command_ends_with_127 has_status 127
run bash -c 'yes | sbx-ring pipe -- head -n 2; echo "${PIPESTATUS[*]}"'
check a_command_that_ends_early_ends_the_producer_by_sigpipe out_is "y
y
141 0"
run bash -c 'yes | sbx-ring pipe -- sh -c "exec <&-; exit 4"; echo "${PIPESTATUS[*]}"'
check so_does_one_that_closes_its_stdin out_is '141 4'
mkfifo silent
exec 5<>silent
run timeout 60 sbx-ring pipe -- true <silent
check a_silent_producer_does_not_hold_it has_status 0
exec 5>&-
run sbx-ring pipe -- cat </
check an_unreadable_stdin_is_reported refuses 125 'cannot read stdin' 'Is a directory' 'check where'
mkfifo slow
sbx-ring pipe -- cat <slow >got &
pipe=$!
exec 5>slow
for i in 1 2 3; do
	echo "$i" >&5
	until [ "$(tail -n 1 got)" = "$i" ]; do :; done
	check "chunk_${i}_arrives_at_once" test "$(wc -l <got)" = "$i"
done
exec 5>&-
wait "$pipe"
check its_end_is_recorded recorded ring_closed '"role":"server"' '"end":"closed"' '"transport":"shared_memory"'
finish
