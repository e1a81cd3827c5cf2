#!/bin/bash
# SPDX-License-Identifier: MIT
# What sbx-spawn says: nothing where there is nothing to say, one line for each thing that is enforced less than it was
# asked for, and the summary of a plan and of a host.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/spawn.sh"

# Its stdin, stdout and stderr are a terminal, whose output comes back on stdout.
on_a_terminal() {
	places
	(cd "$project" && as "$who" /usr/bin/python3 -B "$SBX_SOURCE/tests/tool/ctl-supervisor.py" terminal sbx-spawn "$@")
}
n_lines() { wc -l <"$work/$1"; }

for who in $starters; do
	run on_a_terminal -- true
	check "a_run_with_nothing_to_say_is_silent_on_a_terminal_by_$who" out_is ''
	run on_a_terminal -v -- true
	check "the_tier_line_is_said_with_v_by_$who" out_has 'sbx-spawn: full: user mount '
	run spawn --net host -- true
	check "a_mode_that_was_asked_for_is_no_notice_by_$who" test "$status:$err" = 0:

	run spawn --print-plan -- true
	check "a_plan_is_at_most_eight_lines_by_$who" test "$(n_lines out)" -le 8
	for label in isolation reads writes executes network devices limits; do
		check "a_plan_says_${label}_to_$who" grep -q "^$label  " "$work/out"
	done
	run spawn --print-plan -v -- true
	check "the_steps_are_shown_with_v_by_$who" grep -q '^landlock-enforce$' "$work/out"
	check "the_summary_is_before_them_by_$who" test "$(head -c 10 "$work/out")" = 'isolation '

	run spawn --check
	check "check_groups_what_it_found_for_$who" test "$(grep -c '^isolation$\|^limits$' "$work/out")" -eq 2
	check "check_ends_with_one_sentence_for_$who" test "$(tail -n 1 "$work/out" | head -c 5)" = ready
	if grep -q '^  cpu  *yes' "$work/out"; then
		skip "a_limit_that_is_not_enforced_is_one_line_by_$who" 'cpu limits are enforced here'
		continue
	fi
	check "check_says_what_limits_need_to_$who" out_has 'ready; memory and cpu limits need a cgroup'
	run spawn --cpu 2 --best-effort-limits -- true
	check "a_limit_that_is_not_enforced_is_one_line_by_$who" test "$(n_lines err)" -eq 1
	check "it_says_what_and_what_to_type_to_$who" \
		err_is "sbx-spawn: note: cpu 2 (--cpu) is not enforced; 'sbx-spawn --check' shows what to change"
	run spawn -q --cpu 2 --best-effort-limits -- true
	check "it_is_not_said_with_q_by_$who" err_is ''
done
finish
