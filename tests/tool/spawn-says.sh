#!/bin/bash
# SPDX-License-Identifier: MIT
# Messages of sbx-spawn: none in the normal case, one line for each protection that is weaker than requested, and the
# summary of a plan and of a host.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/spawn.sh"

# Runs with a terminal as stdin, stdout and stderr; its output is copied to stdout.
on_a_terminal() {
	places
	(cd "$project" && as "$who" /usr/bin/python3 -B "$SBX_SOURCE/tests/tool/ctl-supervisor.py" terminal sbx-spawn "$@")
}
# Starts with a limit of open files that the tool itself reaches.
with_files() {
	places
	(cd "$project" && ulimit -n "$1" && as "$who" sbx-spawn -- true)
}
n_lines() { wc -l <"$work/$1"; }

# Commands that cannot be executed: PATH, status, message.
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
printf '#!/usr/bin/env sh\n' >"$project/works"
printf '#!/bin/sh\r\necho hi\r\n' >"$project/dos"
chmod 755 "$project/dos" "$project/script" "$project/program" "$project/works"
mkdir "$project/directory" "$work/elsewhere"
ln -s /no/such/target "$project/dangling"
ln -s "$work/elsewhere/program" "$project/leads-out"
cp /usr/bin/true "$work/elsewhere/program"
failures=$(cat <<END
a_file_without_execute_permission	126	./plain	the file has no execute permission
a_directory	126	./directory	it is a directory
a_missing_interpreter	127	./script	it needs '/no/such/interpreter', which does not exist in the sandbox
a_missing_loader	127	./program	it needs '/no/such/loader', which does not exist in the sandbox
a_script_with_carriage_returns	127	./dos	its lines end with a carriage return (CRLF), so its interpreter would be '/bin/sh\x0d'
a_missing_program	127	no-such-program	there is no such program in the sandbox
a_link_to_nothing	127	./dangling	there is no such program in the sandbox
a_file_in_place_of_a_directory	126	./plain/x	a component of its path is not a directory
a_program_that_is_not_shown	127	$work/elsewhere/program	outside it is '$work/elsewhere/program'
a_program_beside_the_directory	127	../elsewhere/program	outside it is '$work/elsewhere/program', which
a_link_to_one_that_is_not_shown	127	./leads-out	outside it is '$project/./leads-out', a link to
END
)

for who in $starters; do
	while IFS=$'\t' read -r of_what expected command why; do
		if [ "$of_what" = a_missing_loader ] && [ "$(uname -m)" != x86_64 ]; then
			skip "${of_what}_has_its_status_by_$who" 'the program is for x86_64'
			continue
		fi
		run spawn -- "$command"
		check "${of_what}_has_its_status_by_$who" has_status "$expected"
		check "${of_what}_is_said_to_$who" err_has "  why: $why"
		said=$err
		for option in --dry-run --print-plan; do
			run spawn "$option" -- "$command"
			check "${of_what}_has_its_status_with_${option}_by_$who" has_status "$expected"
			check "${of_what}_is_said_with_${option}_to_$who" err_is "$said"
		done
	done <<<"$failures"
	for command in true sh python3 ./works; do
		run spawn --dry-run -- "$command"
		check "nothing_is_said_of_${command#./}_with_--dry-run_to_$who" test "$status:$err" = 0:
	done
	cat >"$work/hides.yaml" <<-END
		version: 1
		capabilities:
		- {name: system, action: allow, match: {op: [fs.*, exec], path: [/usr, /bin, /lib, /lib64]}}
		- {name: hidden, action: deny, match: {op: fs.read, path: $(realpath /usr/bin/env)}}
	END
	for option in --quiet --dry-run; do
		run spawn --policy "$work/hides.yaml" "$option" -- env
		check "what_hides_a_program_is_said_with_${option}_to_$who" err_has "hides.yaml:4 'hidden' hides '/usr/bin/env'"
		check "a_hidden_program_has_its_status_with_${option}_by_$who" has_status 126
	done
	echo '{}' >"$work/empty.yaml"
	run spawn --policy "$work/empty.yaml" -- true
	check "a_policy_without_rules_is_said_to_$who" err_has "empty.yaml' grants no files: it has no rules"
	run spawn --listen 70000 -- true
	check "the_error_explains_a_port_to_$who" err_has 'a port is a number from 1 to 65535'
	check "wrong_usage_ends_with_125_for_$who" has_status 125
	check "wrong_usage_is_three_lines_to_$who" test "$(wc -l <"$work/err")" -eq 3
	echo 'bogus: 1' >"$work/bogus.yaml"
	for words in "--policy $work/bogus.yaml" '--read /no/such/path' '--project /' '--hostname -'; do
		# shellcheck disable=SC2086
		run spawn $words --files 1 -- true
		check "a_mistake_that_is_not_in_the_words_says_nothing_of_it_to_$who ($words)" \
			test "$status" -eq 125 -a "${err#*context}" = "$err"
	done
	run on_a_terminal -- true
	check "a_run_with_nothing_to_say_is_silent_on_a_terminal_by_$who" out_is ''
	run on_a_terminal -v -- true
	check "the_tier_line_is_said_with_v_by_$who" out_has 'sbx-spawn: full: user mount '
	run spawn -- ./dos
	check "how_to_convert_a_script_is_said_to_$who" err_has "fix: convert it: sed -i 's/\r\$//' ./dos"
	run spawn --files 2 -- true
	check "a_limit_of_files_that_is_too_low_is_named_to_$who" \
		err_has 'why: the limit of 2 open files (--files) is reached before the command runs'
	for files in 5 6 7 8; do
		run with_files "$files"
		check "the_limit_of_${files}_open_files_is_to_be_raised_by_$who" err_has 'fix: raise the limit'
	done
	run spawn --report-fd 0 -- true </dev/null
	check "the_number_that_was_typed_is_named_to_$who" err_has 'cannot write the report to file descriptor 0'
	check "a_usual_number_is_proposed_to_$who" err_has 'fix: open it in the shell: --report-fd=3 3>FILE'
	run spawn --hostname '' -- true
	check "an_empty_host_name_is_refused_by_$who" err_has 'why: it is empty'
	for option in --deny --deny-write; do
		run spawn "$option" /no/such/path -- true
		check "${option}_of_nothing_is_one_line_to_$who" err_is \
			"sbx-spawn: note: $option has no effect at '/no/such/path', which does not exist; check the path, or create it"
		run spawn "$option" "$project/plain" -- true
		check "${option}_of_a_file_is_silent_to_$who" test "$status:$err" = 0:
	done
	run spawn --write . --deny missing -- touch missing
	check "a_missing_denied_path_that_could_be_created_is_refused_by_$who" test "$status" -eq 125 -a ! -e "$project/missing"
	run spawn --net host -- true
	check "a_mode_that_was_asked_for_is_no_notice_by_$who" test "$status:$err" = 0:

	run spawn --print-plan -- true
	check "a_plan_is_at_most_eight_lines_by_$who" test "$(n_lines out)" -le 8
	for label in isolation reads writes executes network devices limits; do
		check "a_plan_says_${label}_to_$who" grep -q "^$label  " "$work/out"
	done
	run spawn --net host --allow-net none --pids 5 --pids 6 --print-plan -- true
	check "the_last_value_of_an_option_applies_for_$who" eval "out_has 'network       none' && out_has 'pids 6'"
	run spawn --deny-net --net host --print-plan -- true
	check "deny_net_overrides_a_later_net_for_$who" out_has 'network       none'
	run spawn --print-plan -v -- true
	check "the_steps_are_shown_with_v_by_$who" grep -q '^landlock-enforce$' "$work/out"
	check "the_summary_is_before_them_by_$who" test "$(head -c 10 "$work/out")" = 'isolation '

	run spawn --check
	check "check_groups_its_findings_for_$who" test "$(grep -c '^isolation$\|^limits$' "$work/out")" -eq 2
	check "check_ends_with_one_sentence_for_$who" test "$(tail -n 1 "$work/out" | head -c 5)" = ready
	if grep -q '^  cpu  *yes' "$work/out"; then
		skip "a_limit_that_is_not_enforced_is_one_line_by_$who" 'cpu limits are enforced here'
		continue
	fi
	check "check_names_the_needs_of_limits_to_$who" out_has 'ready; memory and cpu limits need a cgroup'
	run spawn --cpu 2 --best-effort-limits -- true
	check "a_limit_that_is_not_enforced_is_one_line_by_$who" test "$(n_lines err)" -eq 1
	check "the_error_has_a_cause_and_a_fix_for_$who" \
		err_is "sbx-spawn: note: cpu 2 (--cpu) is not enforced; 'sbx-spawn --check' shows what to change"
	run spawn -q --cpu 2 --best-effort-limits -- true
	check "it_is_not_said_with_q_by_$who" err_is ''
done

# A policy that shows nothing: one message names what a program, a script and their loader need.
reads_of_fix() { grep -o -e '--read [^ ,]*' "$work/err"; }
echo 'version: 1' >"$work/nothing.yaml"
chmod 644 "$work/nothing.yaml"
for who in $starters; do
	for policy in "$work/nothing.yaml" "$SBX_SOURCE/policies/default.yaml"; do
		for command in sh "$project/works"; do
			of_what=${command##*/}_with_$(basename "$policy" .yaml)
			run spawn -q -p "$policy" -- "$command" -c 'echo hi'
			check "${of_what}_is_refused_to_$who" has_status 127
			reads=$(reads_of_fix)
			# shellcheck disable=SC2086 # options
			run spawn -q -p "$policy" $reads -- "$command" -c 'echo hi'
			check "one_round_is_enough_for_${of_what}_by_$who" test "$status:$err" = 0:
		done
	done
done

# A policy that shows the loader's directories by their real names, but not the links through which programs refer to
# them.
who=user
loader=$(python3 - <<'END'
import struct
data = open("/usr/bin/true", "rb").read()
offset, size, n = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
for i in range(n):
    kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
    if kind == 3:
        print(data[at:at + length - 1].decode())
END
)
names=/usr,/etc
tries=0
while [ "$tries" -lt 5 ]; do
	cat >"$work/links.yaml" <<END
version: 1
capabilities:
  - {name: system, match: {op: [fs.read, fs.list, fs.exists], path: [$names]}, action: allow}
  - {name: programs, match: {op: exec, path: [/usr/bin, /usr/lib]}, action: allow}
END
	run spawn -p "$work/links.yaml" -- /usr/bin/true
	[ "$status" -eq 127 ] || break
	check "the_path_that_is_not_shown_is_named_$tries" err_has "  fix: show what it needs: --read /lib"
	names+=$(reads_of_fix | sed 's/--read /,/' | tr -d '\n')
	tries=$((tries + 1))
done
if [ "${loader#/usr}" = "$loader" ] && [ -L "/$(cut -d/ -f2 <<<"$loader")" ]; then
	check naming_the_program_is_enough has_status 0
	check one_message_names_all_of_it test "$tries" -eq 1
	run spawn --deny "/$(cut -d/ -f2 <<<"$loader")" -- /usr/bin/true
	check a_denial_on_the_way_to_the_loader_is_named err_has 'fix: leave out what denies it: --deny'
else
	skip naming_the_program_is_enough 'the loader is not behind a link'
fi

# The kernel says EACCES for the script, whether it or its interpreter is denied.
run spawn --deny /usr/bin/env -- ./works
check the_interpreter_that_is_hidden_is_named err_has "why: it needs '/usr/bin/env', which --deny hides"
cat >"$work/noenv.yaml" <<'END'
capabilities:
  - {name: all, match: {op: [fs.read, fs.list, exec], path: [/usr, /lib, /lib64, ./]}, action: allow}
  - {name: noenv, match: {op: exec, path: /usr/bin/env}, action: deny}
END
run spawn -p "$work/noenv.yaml" -- ./works
check the_interpreter_that_may_not_be_executed_is_named err_has "why: it needs '/usr/bin/env', which may not be executed"

places
if sbx-spawn --check | grep -q '^  cgroup delegated to sbx *yes' && [ "$(id -u)" -ne 0 ]; then
	skip a_cgroup_that_is_missing_is_explained 'there is one here'
else
	run begin_spawn --require cgroup -- true
	# Under systemd the user may have a delegated cgroup.
	check a_cgroup_that_is_missing_is_explained eval 'has_status 0 || ! err_has "tier full, network"'
fi
mkdir -m 555 "$work/closed"
if [ "$(id -u)" -eq 0 ]; then
	export XDG_RUNTIME_DIR="$work/closed"
	run begin_spawn -- true
	check an_unusable_runtime_directory_names_the_variable err_has 'fix: set XDG_RUNTIME_DIR to a directory of your own'
else
	skip an_unusable_runtime_directory_names_the_variable 'only root has directories of others'
fi
# Notes are objects with --json, like errors.
who=user
lines_are_json() { printf '%s\n' "$err" | python3 -c 'import json, sys; sys.exit(not all(json.loads(line)["what"] for line in sys.stdin))'; }
run spawn --json -v -- true
check the_tier_is_told_in_json lines_are_json
run spawn --json --no-sandbox -- true
check the_warning_of_no_sandbox_is_json lines_are_json
mkdir "$work/programs"
printf '#!/bin/sh\nexit 1\n' >"$work/programs/strace"
chmod 755 "$work/programs/strace"
run spawn --json --read "$work/programs" -- "$work/programs/strace"
check a_hint_is_told_in_json lines_are_json
check a_hint_has_no_prefix err_has '"what":"without --ptrace'
mkdir "$work/linked"
ln -s linked "$work/link"
[ "$(id -u)" -ne 0 ] || chown -h 65534 "$work/link"
run spawn --project "$work/link" -- true
check a_project_behind_a_link_is_refused has_status 125
check the_option_that_named_the_link_is_told err_has 'why: --project leads through it'
finish
