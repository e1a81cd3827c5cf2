#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-ring call: one response for each request, whatever the command of --serve does.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

call() { # CALL OPTIONS, SERVE OPTIONS AND COMMAND: with requests from the file in
	run sbx-ring pair --with "sbx-ring call --create --timeout 60s $1 <in >got 2>error; echo \$? >ended" -- \
		sh -c "sbx-ring call --serve --timeout 60s $2"
	ended=$(cat ended)
}
seq 300 >in
call '' '-- sed -u "s/^/re: /"'
check each_line_gets_its_response cmp got <(sed 's/^/re: /' in)
check both_end_with_0 test "$status:$ended" = 0:0
call '--mode call' '-- cat'
check mode_call_does_the_same cmp got in
call '--transport unix_socket' '--transport unix_socket -- cat'
check a_unix_socket_does_the_same cmp got in
printf '\n a "quoted" \\ line \n\303\244\t\n' >in
call '' '-- cat'
check texts_arrive_as_they_are cmp got in
printf '%s\n' '{"a":[1,2.50,null]}' '"text"' 17 >in
call --json '--json -- cat'
check json_values_arrive_as_they_are cmp got in

check a_name_can_be_called create one
seq 3 >in
sbx-ring call --serve --endpoint one -- cat &
server=$!
run sbx-ring call one <in
check the_responses_come_by_name out_is "$(seq 3)"
check the_server_ends_with_the_channel wait "$server"

printf '%s\n' 1 '{' 3 >in
call --json '--json -- cat'
check a_line_that_is_not_json_is_refused test "$ended" = 2
check the_error_has_its_line grep -q 'line 2 of stdin cannot be a request' error
printf '1\n\377\n' >in
call '' '-- cat'
check bytes_that_are_not_utf_8_are_refused test "$ended" = 2
printf '1\n2\n3\n' >in
call '' "--json -- sed -u 's/\"2\"/not json/'"
check an_answer_that_is_not_json_is_an_error test "$ended" = 1
check the_error_names_the_request grep -q 'the request in line 2 has failed' error
check other_requests_are_answered test "$(tr '\n' ' ' <got)" = '1 3 '
call '' '-- sed -u 1q'
check a_command_that_ends_is_an_error test "$ended" = 1
check its_end_is_told grep -q 'why: the command has ended (Broken pipe, 32)' error
call '' '-- sh -c "exit 7"'
check its_status_is_that_of_serve has_status 7
call '' '-- no-such-command'
check a_command_that_is_not_there_is_told has_status 127
run sbx-ring pair --with 'sbx-ring call --create --timeout 50ms <in; echo $? >ended' -- sh -c 'cat <&3 >/dev/null'
check a_response_that_does_not_come_in_time_is_told err_has 'cannot get a response'
check a_response_that_does_not_come_in_time_is_no test "$(cat ended)" = 1
# Without -u sed answers only at the end of its input.
call '--timeout 50ms' '-- sed s/1/x/'
check the_end_of_the_caller_ends_an_answer refuses 1 'cannot answer requests' 'the other side has closed the channel' 'let the other side stay'
check the_caller_is_told_of_buffers grep -q 'let a command that answers write each line at once' error
call '--timeout 50ms' '-- sh -c "trap : TERM; exec sleep 1000000"'
check a_command_that_reads_nothing_ends_too test "$status:$ended" = 1:1
finish
