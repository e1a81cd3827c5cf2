#!/bin/bash
# SPDX-License-Identifier: MIT
# The target of a report is checked before the command runs, and a device, FIFO or socket is never replaced.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

command=(sh -c 'echo ran; exit 7')
refused() { [ "$status" -eq 125 ] && [ -z "$out" ]; }
ran() { [ "$status" -eq 7 ] && [ "$out" = ran ]; }
read_only() { spawn -q --report-fd 3 -- "${command[@]}" 3</dev/null; }
# The reader has exited when the report is written.
unread() { spawn -q --report-fd 3 -- sh -c 'read -r line; exit 7' 3>"$place/gone" <"$place/go"; }

# Private devices: root could remove the host's.
has_devices() {
	null=/dev/null full=/dev/full
	[ "$who" = user ] && return
	null=$place/null full=$place/full
	mknod "$null" c 1 3 2>/dev/null && mknod "$full" c 1 7 && : 2>/dev/null >"$null"
}

for who in $starters; do
	places
	place=$work/$who/place
	mkdir -p "$place/folder"
	echo kept >"$place/target"
	ln -s target "$place/link"
	ln -s /proc/self/fd/2 "$place/stderr"
	mkfifo "$place/pipe" "$place/gone" "$place/go"
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$place/socket"
	places

	if has_devices; then
		run spawn -q --report "$null" -- "${command[@]}"
		check "a_report_to_a_device_is_written_there_by_$who" ran
		check "the_device_is_still_one_by_$who" test -c "$null"
		run spawn -q --report "$full" -- "${command[@]}"
		check "a_report_that_cannot_be_written_leaves_the_status_by_$who" ran
		check "it_is_a_warning_by_$who" err_has 'warning: cannot write the report'
	else
		skip "a_report_to_a_device_is_written_there_by_$who" 'no device can be made here'
	fi
	for there in folder link socket missing/report; do
		run spawn -q --report "$place/$there" -- "${command[@]}"
		check "no_report_can_be_at_${there%/*}_by_$who" refused
	done
	check "a_link_and_its_target_stay_by_$who" test -h "$place/link" -a "$(cat "$place/target")" = kept
	run spawn -q --report "$place/missing/report" -- "${command[@]}"
	check "a_directory_that_is_missing_is_to_be_created_by_$who" err_has 'fix: create it, or name another with --report'
	run spawn -q --report "$place/target/report" -- "${command[@]}"
	check "a_file_in_its_place_is_not_by_$who" err_has 'fix: name another with --report'
	run spawn -q --report "$place/stderr" -- "${command[@]}"
	check "an_open_file_by_its_path_is_refused_by_$who" refused
	check "the_refusal_shows_the_fix_by_$who" err_has --report-fd
	run read_only
	check "a_file_that_is_open_for_reading_takes_none_by_$who" refused

	run spawn -q --report "$place/pipe" -- "${command[@]}"
	check "a_pipe_without_a_reader_is_refused_by_$who" refused
	check "the_error_says_that_the_fifo_has_no_reader_by_$who" err_has 'the FIFO has no reader'
	# The reader opens the FIFO before the start: one that starts at the same time might come too late.
	exec 5<>"$place/pipe" 4<"$place/pipe" 5>&-
	run spawn -q --report "$place/pipe" -- "${command[@]}"
	cat <&4 >"$work/read"
	exec 4<&-
	check "a_pipe_with_a_reader_takes_it_by_$who" ran
	check "the_reader_gets_the_report_by_$who" grep -q '"status":7' "$work/read"
	check "the_pipe_is_still_one_by_$who" test -p "$place/pipe"

	(exec 3<"$place/gone" 3<&- && echo go >"$place/go") &
	run unread
	wait $!
	check "a_reader_that_has_gone_leaves_the_status_by_$who" has_status 7
	check "it_is_a_warning_too_by_$who" err_has 'warning: cannot write the report'
done

# Only for root.
who=user
for path in /etc/passwd /etc/sbx-report; do
	run spawn -q --report "$path" -- "${command[@]}"
	check "a_path_of_another_user_is_refused_before_$(basename "$path")" refused
done
finish
