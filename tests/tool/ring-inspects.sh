#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-ring inspect, stat and ls show a channel and change nothing, whatever its sides have written.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

run sbx-ring ls
check no_channel_is_no_line out_is ''
check and_no_error has_status 0
create one
create two --mode call --size 2MiB
run sbx-ring ls
check ls_has_a_line_for_each out_has "one   waiting_for_server  stream  1MiB       0$(printf %8s "$(cat keeper.one)")       -       -"
check it_shows_mode_and_size out_has "two   waiting_for_server  call    2MiB       0$(printf %8s "$(cat keeper.two)")       -       -"
run sbx-ring -q ls
check quietly_it_lists_names_alone out_is 'one
two'
run sbx-ring ls --json
check json_has_the_keeper out_has "\"keeper_pid\":$(cat keeper.one),"
: >run/sbx/rings/file.sock
mkdir run/sbx/rings/directory.sock
run sbx-ring -q ls
check what_is_not_a_socket_is_not_listed out_is 'one
two'
run sbx-ring inspect one
check a_channel_without_sides_can_be_inspected out_has 'one: waiting_for_server, stream, 512KiB each way'
check the_keeper_is_told out_has "each way, kept by process $(cat keeper.one)"
loud=$out
run sbx-ring inspect --json one
check a_side_that_is_not_there_has_no_state out_has '"server":{"pid":0,"now_bytes":0,"state":null},"client"'
run sbx-ring inspect --quiet one
check the_answer_is_printed_quietly_too out_is "$loud"

printf 'hello\nworld, a longer line\n' | sbx-ring send one
run sbx-ring inspect one
check what_was_sent_is_counted out_has 'messages sent                      2       0'
check what_is_on_its_way_is_counted out_has 'bytes on their way from it        48       0'
run sbx-ring stat --json one
check stat_is_the_same_verb out_has '"name":"one","state":"server_left","mode":"stream","capacity":524288,"keeper":{"pid":'
check json_has_the_pid_of_the_keeper out_has "\"keeper\":{\"pid\":$(cat keeper.one)},\"server\":{\"pid\":"
check json_has_both_sides out_has '"client":{"pid":0,"now_bytes":0,"state":null,'
check json_is_json eval 'echo "$out" | python3 -m json.tool >/dev/null'
run sbx-ring inspect --dump one
check dump_shows_each_record out_has 'at 16: whole, 20 bytes'
check dump_shows_bytes_and_text out_has '77 6f 72 6c 64 2c 20 61 20 6c 6f 6e 67 65 72 20  world,.a.longer.'
check dump_of_a_silent_side_is_empty out_has 'from the client, not read yet:
  nothing'
create calls --mode call
sbx-ring send calls </dev/null
run sbx-ring inspect --dump calls
check dump_of_a_silent_call_is_empty out_has 'from the server, not read yet:
  nothing'
service stop keeper.calls
rm -f keeper.calls
run sbx-ring inspect --dump --bytes 20 one
check less_is_shown_on_request out_has 'at 0: whole, 5 bytes'
run sbx-ring inspect --dump --json one
check the_dump_is_json_too out_has '{"from":"server","records":[{"position":0,"bytes":5,"kind":"whole","payload":"68656c6c6f"},'
run keeper inspect one
check an_observer_can_only_read out_is 'an observer can only read'
run sbx-ring recv one
check nothing_was_taken_away out_is 'hello
world, a longer line'

echo hello | sbx-ring send two
run sbx-ring inspect --dump two
check cells_are_decoded out_has 'at 0: whole, 5 bytes'

create three
mkfifo hold
keeper scribble three <hold >scribbled 2>>log &
scribbler=$!
exec 5>hold
until [ -s scribbled ]; do :; done
for option in '' --dump '--dump --json' '--dump --bytes 2MiB' --json; do
	# shellcheck disable=SC2086 # a list of options
	run timeout 60 sbx-ring inspect $option three
	check "random_bytes_are_shown_with_[$option]" has_status 0
	check "they_are_safe_on_a_terminal_with_[$option]" eval '! printf %s "$out" | LC_ALL=C grep -q "[^ -~]"'
done
run sbx-ring inspect --dump three
check a_record_that_is_not_one_ends_decoding out_has 'no record: '
run sbx-ring ls
check ls_survives_it_too out_has three

exec 5>&-
wait "$scribbler"
sbx-ring inspect --watch --json two >watched &
watch=$!
until [ -s watched ]; do :; done
service stop keeper.two
rm -f keeper.two
check watch_ends_with_the_keeper wait "$watch"
run sbx-ring inspect four
check no_channel_is_refused refuses 1 "cannot use the channel 'four'" 'no keeper of this name runs' 'start one: sbx-ring create four'
finish
