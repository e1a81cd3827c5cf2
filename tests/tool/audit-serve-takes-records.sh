#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit-serve.sh"

serve
check makes_the_log_where_there_is_none test -d log
check says_the_first_public_key_of_it errors_have 'first public key of the new one: sbx-audit/'
check answers_a_sync_event_with_its_number asked "$sync" '^{"seq":2}$'
check refuses_a_packet_that_is_no_record asked 'x' '^{"refused":"cannot take the record: it is not JSON'
check suggests_the_event_that_was_meant asked '{"event":"state_transitoin"}' "'state_transitoin' is not an event"
check takes_async_records_without_an_answer test "$(client write s 1000)" = 1003
check records_the_sender test "$(in_log state_transition | grep -c "\"writer\":{\"uid\":$(id -u),\"pid\":")" -eq 2
check hostile_packets_are_refused_and_the_service_goes_on client hostile s
check readers_do_not_disturb test "$(in_log syscall | wc -l)" -eq 1000

run sbx-audit tail --log="$work/log"
check and_are_not_disturbed_by_it test "$status" -eq 0 -a -z "$err"
run sbx-audit append --log="$work/log" </dev/null
check another_writer_is_refused_while_the_service_has_the_log err_has 'another process is writing to it'
run sbx-audit key --log="$work/log"
check the_key_is_told_all_the_same test "$out" = "$(sed -n 's/.*first public key of the new one: //p' errors)"
check without_a_message err_is ''
run sbx-audit key change --log="$work/log"
check but_not_changed err_has 'another process is writing to it'
run sbx-audit serve --log="$work/other" --socket="$work/s"
check a_second_one_on_the_socket_is_refused err_has 'another process listens there'
check before_a_log_is_made eval '[ -z "$out" ] && [ ! -e "$work/other" ]'
run sbx-audit serve --log="$work/other" --socket="$work/none/s"
check a_socket_in_no_directory_is_refused_before_a_log_is_made eval 'err_has "its directory does not exist" && [ ! -e "$work/other" ]'
for limit in 12 20 24; do
	run sh -c 'ulimit -n "$0" && exec sbx-audit serve --log="$1" --socket="$2"' "$limit" "$work/few" "$work/t"
	check "refuses_to_serve_nobody_with_${limit}_open_files" err_has 'no room for a client' 'LimitNOFILE='
	check "with_${limit}_open_files_it_makes_no_log" test ! -e few
done
run sbx-audit serve --log="$work/new" --socket=s
check a_relative_socket_is_refused_before_a_log_is_made eval 'err_has "begin it with" && [ ! -e "$work/new" ]'
run sbx-audit serve --log="$work/log" --socket="$work/t" --group-time=1s
check refuses_to_keep_records_too_long err_has '--group-time=500ms'
run sbx-audit serve --on-full=wait
check refuses_an_unknown_choice_for_a_full_log has_status 2

check sigterm_ends_it stop
echo 'version: 1' >policy.yaml
serve --policy="$work/policy.yaml"
printf 'version: 1\naudit: { rotations: daily }\n' >policy.yaml
kill -HUP "$(cat pid)"
tries=0
until errors_have 'cannot reload' || [ $((tries += 1)) -gt 100 ]; do asked "$sync" '"seq"'; done
check a_policy_that_cannot_be_loaded_is_refused errors_have 'cannot reload: .*; the loaded configuration stays in force'
check and_what_is_wrong_with_it_is_said errors_have 'policy.yaml:2:'
stop
check its_socket_is_gone test ! -e s
check everything_is_signed_at_the_end sh -c 'sbx-audit verify --log=log --full | grep -q "^OK: .*; last checkpoint covers all"'

python3 "$SBX_SOURCE/tests/tool/audit-socket.py" activate "$work/a" sbx-audit serve --log="$work/log" 2>>errors &
activated=$!
client await a
check a_socket_that_is_handed_over_is_served test "$(client write a 10)" -gt 1000
kill "$activated"
wait "$activated"
check it_ends_as_it_should test $? -eq 0
check the_socket_of_the_manager_stays test -e a
check the_log_is_intact intact
finish
