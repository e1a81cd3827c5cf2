#!/bin/bash
# SPDX-License-Identifier: MIT
# --die-with-parent: the end of the process that started sbx-spawn ends the sandbox, and the log has that end.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# begin ARGUMENT...: sbx-spawn as the child of a shell; $parent and $supervisor are their PIDs.
begin() {
	places
	: >"$work/$who/pids"
	chmod 666 "$work/$who/pids"
	(cd "$project" && as "$who" bash -c '"$@" 8>>"$0/audit" & echo $$ $! >"$0/pids"; wait' "$work/$who" \
		sbx-spawn --audit-fd 8 "$@") >"${output:-/dev/null}" 2>"$work/err" &
	shell=$!
	eventually test -s "$work/$who/pids"
	read -r parent supervisor <"$work/$who/pids"
}
# The shell says that its child was killed.
await() { wait "$shell" 2>/dev/null; }
kill_parent() {
	kill -KILL "$parent"
	await
}
# A command of a sandbox, found by the one argument that it alone has.
alive() { grep -qzxF "$1" /proc/[0-9]*/cmdline 2>/dev/null; }
is_gone() { ! alive "$1"; }
# A zombie has ended, too: its new parent may reap it later.
has_ended() { ! grep -q '^State:	[^ZX]' "/proc/$supervisor/status" 2>/dev/null; }
said() { grep -qF -e "$1" "$work/err"; }
is_full() { python3 -c 'import fcntl, struct, sys, termios
sys.exit(struct.unpack("i", fcntl.ioctl(7, termios.FIONREAD, b"1234"))[0] < 65536)'; }
recorded() { grep -q "\"event\":\"sandbox_failed\".*\"reason\":\"$1\"" "$work/$who/audit"; }

for who in $starters; do
	for out in '' "--out=$work/$who/changes" "--out=$work/$who/changes.tar"; do
		token=8$RANDOM$RANDOM
		# shellcheck disable=SC2086 # no word, or one
		begin --die-with-parent $out --report "$work/$who/report" -- sh -c "sleep $token & wait"
		eventually alive "$token"
		kill_parent
		check "a_killed_parent_takes_its_sandbox_along_by_$who$out" eventually is_gone "$token"
		check "the_supervisor_ends_by_$who$out" eventually has_ended
		check "it_says_why_by_$who$out" said 'ended with the process that started it (--die-with-parent)'
		check "the_log_has_the_end_by_$who$out" recorded parent-died
		check "so_has_the_report_by_$who$out" grep -q '"reason":"parent-died"' "$work/$who/report"
		check "nothing_hidden_is_left_by_$who$out" test -z "$(find "$work/$who" -maxdepth 1 -name '.*')"
		rm -rf "$work/$who/audit" "$work/$who/report" "$work/$who"/changes*
	done

	token=8$RANDOM$RANDOM
	begin -q -- sleep "$token"
	eventually alive "$token"
	kill_parent
	check "without_the_option_it_goes_on_by_$who" alive "$token"
	kill -TERM "$supervisor"
	check "until_it_is_ended_by_$who" eventually has_ended

	token=8$RANDOM$RANDOM
	begin -q --die-with-parent --grace 100ms -- sh -c "trap '' TERM; sleep $token & while :; do wait; done"
	eventually alive "$token"
	kill_parent
	check "a_command_that_ignores_sigterm_is_killed_by_$who" eventually is_gone "$token"

	# A reader that never reads: the relay of the output is full.
	rm -f "$work/unread"
	mkfifo "$work/unread"
	exec 7<>"$work/unread"
	output=$work/unread begin -q --die-with-parent --output 100MiB --grace 100ms -- head -c 10M /dev/zero
	eventually is_full
	kill_parent
	check "a_reader_that_does_not_read_does_not_keep_it_by_$who" eventually has_ended
	exec 7<&-

	# The policy comes when the parent has ended: nothing is run for it.
	rm -f "$work/policy" "$work/$who/audit"
	mkfifo "$work/policy"
	chmod 666 "$work/policy"
	programs_policy
	begin -q --die-with-parent --policy "$work/policy" -- touch "$work/trace"
	exec 7>"$work/policy"
	kill_parent
	cat "$work/p.yaml" >&7
	exec 7>&-
	check "a_parent_that_has_ended_before_has_no_sandbox_by_$who" eventually has_ended
	check "and_that_is_told_by_$who" said 'the sandbox ends with the process that has started it'
	check "and_recorded_by_$who" recorded setup

	# PR_SET_PDEATHSIG would be sent when the thread ends.
	run as "$who" python3 -c 'import subprocess, sys, threading
started = []
thread = threading.Thread(target=lambda: started.append(subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)))
thread.start()
thread.join()
started[0].stdin.close()
sys.exit(started[0].wait())' sbx-spawn -q --die-with-parent -- sh -c 'cat; exit 7'
	check "the_end_of_a_thread_is_not_that_of_its_process_by_$who" has_status 7
done

who=user
places
run unshare --user --map-root-user --pid --fork sbx-spawn --die-with-parent -- true
if err_has 'unshare failed'; then
	skip a_parent_outside_of_the_pid_namespace_is_refused 'this host makes no user namespaces'
else
	check a_parent_outside_of_the_pid_namespace_is_refused err_has 'it is outside of this PID namespace'
fi
finish
