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

# What cannot be executed, and why: PATH, the status, what is said.
echo true >"$project/plain"
printf '#!/no/such/interpreter\n' >"$project/script"
python3 - "$project/program" <<'END'
import struct
import sys

name = b"/no/such/loader\0"
elf = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
header = struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(name), len(name), 1)
open(sys.argv[1], "wb").write(elf + header + name)
END
chmod 755 "$project/script" "$project/program"
mkdir "$project/directory"
failures=$(cat <<'END'
a_file_without_execute_permission	126	./plain	the file has no execute permission
a_directory	126	./directory	it is a directory
a_missing_interpreter	127	./script	it needs '/no/such/interpreter', which does not exist in the sandbox
a_missing_loader	127	./program	it needs '/no/such/loader', which does not exist in the sandbox
a_missing_program	127	no-such-program	there is no such program in the sandbox
END
)

for who in $starters; do
	while IFS=$'\t' read -r name expected command why; do
		if [ "$name" = a_missing_loader ] && [ "$(uname -m)" != x86_64 ]; then
			skip "${name}_has_its_status_by_$who" 'the program is for x86_64'
			continue
		fi
		run spawn -- "$command"
		check "${name}_has_its_status_by_$who" has_status "$expected"
		check "${name}_is_said_to_$who" err_has "  why: $why"
	done <<<"$failures"
	echo '{}' >"$work/empty.yaml"
	run spawn --policy "$work/empty.yaml" -- true
	check "a_policy_without_rules_is_said_to_$who" err_has "empty.yaml' grants no files: it has no rules"
	run spawn --listen 70000 -- true
	check "what_a_port_is_is_said_to_$who" err_has 'a port is a number from 1 to 65535'
	check "the_status_of_wrong_usage_is_said_to_$who" err_has 'exit status 125, where other tools of sbx end with 2'
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
