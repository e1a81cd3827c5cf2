#!/bin/bash
# SPDX-License-Identifier: MIT
# --ptrace: debuggers work inside, and only with it.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

for who in $starters; do
	if command -v strace >/dev/null; then
		run spawn -q -- strace -o /dev/null true
		check "without_it_strace_fails_by_$who" test "$status" -ne 0
		run spawn -q --ptrace -- sh -c 'strace -f -e trace=execve -o /tmp/trace sh -c "ls / >/dev/null; true" &&
			grep -c "^[0-9].*execve.* = 0$" /tmp/trace'
		check "strace_follows_children_by_$who" out_is 2
		run spawn -q --ptrace -- strace -o /dev/null sh -c 'exit 7'
		check "strace_passes_the_status_on_by_$who" has_status 7
	else
		skip "strace_follows_children_by_$who" 'strace is not installed'
	fi
	if command -v gdb >/dev/null; then
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

	# A command that asks its parent to trace it stops for good at its next signal, as under a shell; it is still ended.
	run spawn -q --ptrace --time 500ms --grace 100ms -- \
		python3 -c 'import ctypes, os; ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), 10)'
	check "who_asks_pid_1_to_trace_it_is_ended_in_time_by_$who" has_status 124
done
finish
