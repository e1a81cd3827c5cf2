#!/bin/bash
# SPDX-License-Identifier: MIT
# --ptrace: debuggers work inside with it, and not without it.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

for who in $starters; do
	if command -v strace >/dev/null; then
		run spawn -q -- strace -o /dev/null true
		check "without_it_strace_fails_by_$who" test "$status" -ne 0 -a "$status" -ne 125
		check "with_q_nothing_more_is_said_by_$who" eval '! err_has "sbx-spawn: note"'
		run spawn -- strace -o /dev/null true
		check "the_option_for_strace_is_named_to_$who" \
			err_has 'sbx-spawn: note: without --ptrace no process of the sandbox can trace another; add it for strace'
		run spawn -- strace --version
		check "a_success_of_strace_needs_no_hint_by_$who" eval 'has_status 0 && ! err_has "sbx-spawn: note"'
		run spawn --ptrace -- strace /no/such/program
		check "with_it_a_failure_of_strace_is_its_own_by_$who" eval 'test "$status" -ne 0 && ! err_has "sbx-spawn: note"'
		run spawn -q --ptrace -- sh -c 'strace -f -e trace=execve -o /tmp/trace sh -c "ls / >/dev/null; true" &&
			grep -c "^[0-9].*execve.* = 0$" /tmp/trace'
		check "strace_follows_children_by_$who" out_is 2
		run spawn -q --ptrace -- strace -o /dev/null sh -c 'exit 7'
		check "strace_passes_the_status_on_by_$who" has_status 7
	else
		skip "strace_follows_children_by_$who" 'strace is not installed'
	fi
	if command -v gdb >/dev/null; then
		run spawn -- gdb -nx -batch -ex run /usr/bin/true
		check "the_option_for_gdb_is_named_to_$who" eval 'test "$status" -ne 0 && err_has "add it for gdb"'
		cat >"$project/t.c" <<END
int add(int a) { return a + 1; }
int main(void) { return add(3); }
END
		cc -g -O0 -o "$project/t" "$project/t.c"
		run spawn -q --ptrace -- gdb -nx -batch -ex 'break add' -ex run -ex bt -ex 'set var a=9' -ex continue ./t
		check "gdb_stops_at_a_breakpoint_and_changes_memory_by_$who" \
			eval 'out_has "#1 " && out_has "exited with code 012"'
		run spawn -q --ptrace -- gdb -nx -batch -ex starti -ex 'info registers pc' -ex 'output 6*7' -ex continue /usr/bin/true
		check "gdb_reads_a_stopped_program_by_$who" out_has 42
		check "gdb_sees_its_registers_by_$who" out_has '0x'
		check "gdb_lets_it_go_on_by_$who" out_has 'exited normally'
	else
		skip "gdb_reads_a_stopped_program_by_$who" 'gdb is not installed'
	fi
	run spawn --ptrace --print-plan -- true
	check "the_plan_says_so_by_$who" out_has 'ptrace of its own children: allowed'
	run spawn --ptrace --template policy-sandbox -- true
	check "strict_refuses_it_by_$who" has_status 125
	check "and_says_why_by_$who" err_has "the profile 'strict' has no processes to trace"

	# A command that calls PTRACE_TRACEME stops at its next signal for ever, as under a shell; the time limit
	# still ends it.
	run spawn -q --ptrace --time 500ms --grace 100ms -- \
		python3 -c 'import ctypes, os; ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), 10)'
	check "a_command_that_asks_pid_1_to_trace_it_is_ended_in_time_by_$who" has_status 124
done
finish
