#!/bin/bash
# SPDX-License-Identifier: MIT
# append takes records over a channel, whose other side may be hostile: it cannot say who it is, keep the log from
# being signed and ended, or end the channel without a record.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

peer=$SBX_BUILD/tests/tool/ring-peer
raw=$SBX_BUILD/tests/attack/ring-inside
export SBX_RING_FD=9
over() { # [OPTION...] --- CLIENT...
	local options=()
	while [ "$1" != --- ]; do
		options+=("$1")
		shift
	done
	python3 "$SBX_SOURCE/tests/tool/ring.py" pair sbx-audit append -l "$log" --ring-fd 9 "${options[@]}" "$@"
}
give() { # KIND
	python3 "$SBX_SOURCE/tests/tool/ring.py" give "$1" sbx-audit append -l "$log" --ring-fd 9
}
# The last record of this event.
last() { sbx-audit query -l "$log" --json -e "$1" | tail -n 1; }
last_has() { last "$1" | grep -qF -- "$2"; }
count() { sbx-audit query -l "$log" -e "$1" | grep -c .; }

run over --- "$peer" source 3
check without_a_log_nothing_is_appended has_status 125
check the_sender_is_not_left_waiting err_has 'client '
setup

run over --- "$peer" source 3000
check records_are_taken_until_the_sender_closes has_status 0
check each_of_them_is_stored test "$(count tool_execute)" -eq 3000
check their_order_is_kept last_has tool_execute '"n":2999'
check the_end_is_recorded last_has ring_closed '"end":"closed"'
check with_the_counters last_has ring_closed '"messages_received":3000'
check and_with_what_became_of_them last_has ring_closed '"records":3000,"refused":0'
channel=$(last ring_closed | sed 's/.*"channel":"\([0-9a-f]*\)".*/\1/')
check the_channel_has_a_name test "${#channel}" -eq 16
check a_record_names_the_channel_in_its_writer last_has tool_execute ',"ring":"'"$channel"'"}}'
check its_writer_is_not_trusted last_has tool_execute '"confined":"unknown"'
check the_record_of_the_end_is_the_logs_own test "$(last ring_closed | grep -c '"writer":{[^}]*"ring"')" -eq 0
run sbx-audit verify -l "$log"
check the_log_verifies has_status 0

run over --- "$peer" die 7
check records_of_a_sender_that_died_are_stored test "$(count tool_execute)" -eq 3007
check its_death_is_recorded last_has ring_closed '"end":"died"'
check its_death_is_no_failure_of_the_log has_status 0

# Nothing in a message is believed about its sender.
mine='{"event":"ring_closed","time":"2026-01-02T03:04:05Z","channel":"'"$channel"'","counters":{},"tool":"sbx-audit"}'
run over --- "$peer" frame "$mine"
check a_sender_may_write_the_event_of_the_end test "$status" -eq 0
forged() { sbx-audit query -l "$log" --json -e ring_closed | grep -F '"counters":{}'; }
check but_its_writer_shows_the_channel test "$(forged | grep -c '"writer":{.*"ring"')" -eq 1
run over --- "$peer" frame '{"event":"syscall","time":"2026-01-02T03:04:05Z","writer":{"uid":0}}'
check it_cannot_name_a_writer err_has "message 1 refused: cannot take the record: only sbx-audit writes 'commitment' and 'writer'"
check a_refusal_is_told_by_the_status has_status 1
run over --- "$peer" frame '{"event":"log_created","time":"2026-01-02T03:04:05Z"}'
check it_cannot_write_events_of_the_log err_has "only sbx-audit itself can write the event 'log_created'"
run over --- "$peer" frame '{"event":"syscall","time":"2026-01-02T03:04:05Z"}{"event":"syscall","time":"2026-01-02T03:04:05Z"}'
check two_objects_are_no_record err_has 'message 1 refused'
run over --- "$peer" frame $'{"event":"syscall",\n"time":"2026-01-02T03:04:05Z"}'
check a_record_of_two_lines_is_stored_on_one last_has syscall '{"event":"syscall","time"'

mixed() { printf '%s\n' '{"event":"syscall","time":"2026-01-02T03:04:05Z","n":1}' nonsense '{"event":"syscall","time":"2026-01-02T03:04:05Z","n":3}'; }
take_mixed() { mixed | over "$@" --- "$peer" lines; }
run take_mixed
check a_message_that_is_no_record_is_named_by_its_number err_has 'message 2 refused'
check the_next_one_is_stored last_has syscall '"n":3'
check refused_messages_are_counted last_has ring_closed '"records":2,"refused":1'
run take_mixed --json
check with_json_a_refusal_is_an_object err_has '{"level":"error","what":"message 2 refused"'
run take_mixed --strict
check strict_stops_there has_status 2
check strict_says_which_message err_has 'message 2 is not a valid record'
check strict_records_the_end last_has ring_closed '"end":"failed"'
check strict_takes_nothing_after_it last_has ring_closed '"records":1,"refused":1'

for size in 131073 16777221; do
	run over --- "$peer" long "$size"
	check "a_message_of_${size}_bytes_is_refused" err_has 'message 1 refused: it is longer than 131072 bytes'
done
run over --- "$peer" source 0
check a_channel_without_messages_is_recorded last_has ring_closed '"messages_received":0'

run over --- "$raw" lie
check a_violation_ends_it_with_1 has_status 1
check the_violation_is_said err_has 'the other side broke the channel: tail_beyond_capacity'
check the_violation_is_recorded last_has ring_violation '"reason":"tail_beyond_capacity"'
check the_violation_has_the_other_side last_has ring_violation '"peer":{"uid":'
check the_end_after_it_is_recorded last_has ring_closed '"end":"violation"'
check the_violation_is_shown_with_its_reason test "$(sbx-audit query -l "$log" -e ring_violation | grep -c 'reason=tail_beyond_capacity')" -eq 1

# A sender that never sends, wakes it for nothing, or sends without end, does not keep it from ending.
until_signal() { # CLIENT...
	python3 "$SBX_SOURCE/tests/tool/ring.py" stop sbx-audit append -l "$log" --ring-fd 9 --- "$@"
}
for client in "$peer hang" "$raw ring" "$raw abort" "$raw flood"; do
	# shellcheck disable=SC2086 # a program and its mode
	run until_signal $client
	check "a_signal_ends_it_although_the_sender_goes_on_with_${client##* }" last_has ring_closed '"end":"stopped"'
done
check a_flood_of_refusals_is_told_briefly test "$(printf '%s\n' "$err" | grep -c 'message [0-9]* refused')" -eq 100
check the_rest_of_it_is_counted err_has 'more messages refused'
run sbx-audit verify -l "$log"
check the_log_still_verifies has_status 0

while read -r kind why; do
	run give "$kind"
	check "a_${kind}_is_refused" has_status 2
	check "the_error_says_that_${kind}_carries_no_channel" err_has "$why"
done <<'END'
closed no file is open under this number
file it is not a socket
terminal it is a terminal
inet it is not a unix socket
unconnected it is not connected
listening it is listening
datagram it is a datagram socket
END
finish
