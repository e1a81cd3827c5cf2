#!/bin/bash
# SPDX-License-Identifier: MIT
# A policy is enforced by several layers; a rule that cannot be enforced is refused with its line.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

policy() { # RULES...
	{
		echo 'version: 1'
		echo 'capabilities:'
		echo '  - {name: system, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, /etc]}, action: allow}'
		printf '  - %s\n' "$@"
	} >"$work/p.yaml"
	chmod 644 "$work/p.yaml"
}
mkdir "$project/src" "$project/out"
echo source >"$project/src/a"
programs='{name: programs, match: {op: exec, path: [/usr/bin, /usr/lib, /bin]}, action: allow}'
sources='{name: sources, match: {op: fs.read, path: ./src}, action: allow}'

sections() { # RULE-OF-FILES...
	printf 'version: 1\nfs:\n  rules:\n' >"$work/p.yaml"
	printf '    - %s\n' '{action: allow, path: [/usr, /etc], perms: [read_file, read_dir, execute]}' "$@" >>"$work/p.yaml"
	printf 'exec: {rules: [{action: allow, path: [/usr/bin, /usr/lib]}]}\n' >>"$work/p.yaml"
	chmod 644 "$work/p.yaml"
}

has_only_planned() { [ "$status" -eq 0 ] && ! out_has 'it was run'; }

for who in $starters; do
	run spawn --exec /usr/bin/true -- sh -c 'true; /usr/bin/true && echo first; /usr/bin/id || echo no more'
	check "only_exec_options_name_executable_programs_by_$who" out_is $'first\nno more'
	check "a_program_that_exec_does_not_name_is_not_executed_by_$who" err_has 'Permission denied'
	mkdir -p "$work/programs"
	cp /bin/echo "$work/programs/say"
	for path in "$work/programs" "$work/programs/say"; do
		run spawn --cwd / --project /usr --exec "$path" -- "$work/programs/say" said
		check "a_program_that_only_exec_names_can_be_executed_by_$who" out_is said
		run spawn --cwd / --project /usr --exec "$path" --deny "$path" -- true
		check "a_denial_goes_before_it_by_$who" has_status 125
	done
	policy "$programs"
	run spawn --policy "$work/p.yaml" --exec "$work/programs/say" -- "$work/programs/say" said
	check "nor_does_a_rule_have_to_show_it_by_$who" out_is said
	policy "$programs" "{name: never, match: {op: fs.read, path: $work/programs/say}, action: deny}"
	run spawn --policy "$work/p.yaml" --exec "$work/programs/say" -- "$work/programs/say" said
	check "a_rule_that_denies_reading_it_is_named_by_$who" err_has 'p.yaml:'
	check "and_nothing_is_executed_by_$who" has_status 125
	sections
	run spawn --policy "$work/p.yaml" -- touch new
	check "sections_without_the_working_directory_leave_it_writable_by_$who" test -e "$project/new"
	rm -f "$project/new"
	sections '{action: allow, path: ./, perms: [read_file, read_dir]}'
	run spawn --policy "$work/p.yaml" -- sh -c 'cat src/a; touch new'
	check "sections_that_let_read_it_let_read_it_by_$who" out_is source
	check "they_do_not_let_write_it_by_$who" test ! -e "$project/new"
	policy "$programs" "$sources"
	run spawn --policy "$work/p.yaml" -- cat src/a
	check "an_allow_shows_it_by_$who" out_is source
	run spawn --policy "$work/p.yaml" -- sh -c 'echo x >src/a; echo x >out/a'
	check "a_path_that_is_not_allowed_is_denied_by_$who" test "$(cat "$project/src/a")" = source -a ! -e "$project/out/a"
	policy "$programs" "$sources" '{name: output, match: {op: fs.write, path: ./out}, action: allow}'
	run spawn --policy "$work/p.yaml" -- sh -c 'echo x >out/a'
	check "an_allow_to_write_lets_write_by_$who" test "$(cat "$project/out/a")" = x
	rm -f "$project/out/a"
	policy "$programs" "$sources" '{name: never, match: {op: fs.read, path: ./src/a}, action: deny}'
	run spawn --policy "$work/p.yaml" -- cat src/a
	check "a_deny_wins_by_$who" test "$out" != source
	policy "$sources" '{name: only-cat, match: {op: exec, path: /usr/bin/cat}, action: allow}'
	run spawn --policy "$work/p.yaml" -- cat src/a
	check "a_program_that_is_allowed_runs_by_$who" out_is source
	run spawn --policy "$work/p.yaml" -- ls src
	check "another_program_is_126_by_$who" has_status 126
	printf '#!/usr/bin/cat\nscript\n' >"$project/src/script"
	chmod 755 "$project/src/script"
	policy "$sources" '{name: only-script, match: {op: exec, path: ./src/script}, action: allow}'
	run spawn --policy "$work/p.yaml" -- src/script
	check "a_script_without_its_interpreter_is_126_by_$who" has_status 126
	check "the_interpreter_is_spoken_of_by_$who" err_has "it needs '/usr/bin/cat', which may not be executed"
	run spawn --policy "$work/p.yaml" --exec /usr/bin/cat -- src/script
	check "a_script_with_its_interpreter_runs_by_$who" out_has script
	policy "$programs" '{name: globbed, match: {op: fs.read, path_glob: "**/*.c"}, action: allow}'
	run spawn --policy "$work/p.yaml" -- true
	check "a_glob_is_refused_by_$who" has_status 125
	check "a_glob_is_refused_by_its_line_by_$who" err_has 'p.yaml:5'
	policy "$programs" '{name: asked, match: {op: fs.write, path: ./src}, action: require_review}'
	run spawn --policy "$work/p.yaml" -- true
	check "a_review_is_refused_by_$who" has_status 125
	policy "$programs" '{name: said, match: {op: fs.write, path: ./src}, action: warn}'
	run spawn --policy "$work/p.yaml" -- true
	check "a_warning_is_refused_by_$who" has_status 125
	run spawn --policy "$work/none.yaml" -- true
	check "a_policy_that_is_not_there_is_an_error_by_$who" has_status 125
	echo 'capabilites: []' >"$work/p.yaml"
	run spawn --policy "$work/p.yaml" -- true
	check "a_broken_policy_is_an_error_by_$who" has_status 125
	policy "$programs" "$sources"
	run spawn --print-plan -v --policy "$work/p.yaml" -- cat src/a
	check "the_plan_names_rules_by_$who" out_has 'p.yaml:5'
	run spawn --print-plan --json --policy "$work/p.yaml" -- cat src/a
	check "the_plan_is_json_where_asked_by_$who" sh -c 'python3 -c "import json,sys; json.load(open(sys.argv[1]))" "$1"' sh "$work/out"
	run spawn --dry-run --policy "$work/p.yaml" -- sh -c 'echo it was "run"'
	check "a_dry_run_runs_nothing_by_$who" has_only_planned
done

# A deny protects the name, not the inode.
for who in $starters; do
	mkdir "$project/bin"
	cp /bin/echo "$project/bin/denied"
	policy "$programs" '{name: bin, match: {op: [fs.read, fs.list, exec], path: ./bin}, action: allow}' \
		'{name: held, match: {op: exec, path: ./bin/denied}, action: deny}'
	run spawn --policy "$work/p.yaml" -- sh -c './bin/denied ran'
	check "a_denied_program_does_not_run_by_$who" out_is ''
	check "one_with_one_name_needs_no_notice_by_$who" test "${err#*hard links, and}" = "$err"
	ln "$project/bin/denied" "$project/bin/other"
	run spawn --policy "$work/p.yaml" -- sh -c './bin/other ran'
	check "that_it_has_another_name_is_said_by_$who" err_has "bin/denied' has 2 hard links, and"
	check "the_rule_is_named_by_$who" err_has "'held' denies one"
	rm -r "${project:?}/bin"

	# A read-only mount does not prevent writing to a device.
	policy "$programs" '{name: zero, match: {op: fs.write, path: /dev/zero}, action: deny}'
	run spawn --policy "$work/p.yaml" -- sh -c 'echo text >/dev/null && echo text >/dev/zero'
	check "a_device_that_may_not_be_written_is_not_there_for_$who" eval 'test "$status" -ne 0 -a "$status" -ne 125 && err_has /dev/zero'
done

# Without some system calls nothing runs, and what the program says does not name the policy.
who=user
for call in read openat mmap execve; do
	policy "$programs"
	echo "denySyscalls: [kexec_load, $call]" >>"$work/p.yaml"
	run spawn --policy "$work/p.yaml" -- true
	check "a_denied_${call}_that_every_program_needs_is_named" eval "! has_status 0 && err_has \"'denySyscalls' (\" && err_has \"p.yaml:5) denies '$call'\""
	run spawn -q --policy "$work/p.yaml" -- true
	check "the_command_fails_with_q_too_for_$call" eval '! has_status 0 && ! err_has note'
done
policy "$programs"
echo 'denySyscalls: [kexec_load, ptrace]' >>"$work/p.yaml"
run spawn --policy "$work/p.yaml" -- false
check other_denied_calls_are_not_named eval 'has_status 1 && ! err_has denySyscalls'

# A mount hides the loader: what it shows at that path is the caller's.
who=user
mkdir -p "$project/libraries"
loader=$(readelf -l /usr/bin/true | sed -n 's/.*interpreter: \(.*\)]/\1/p')
loader=$(readlink -f "$loader")
printf 'capabilities:\n - %s\nmounts:\n - {target: %s, source: ./libraries, mode: ro}\n' "$programs" "${loader%/*}" >"$work/p.yaml"
run spawn --policy "$work/p.yaml" -- true
check a_mount_over_the_loader_is_planned eval 'has_status 126 || has_status 127'
check what_is_missing_then_is_said err_has "cannot execute 'true'"

# Each policy of policies/ works as documented, or is refused with a reason.
who=user
for policy in "$SBX_SOURCE"/policies/*.yaml; do
	cp "$policy" "$work/p.yaml"
	chmod 644 "$work/p.yaml"
	run spawn --dry-run --policy "$work/p.yaml" -- true
	check "a_plan_or_a_reason_for_$(basename "$policy" .yaml)" test "$status" -eq 0 -o -n "${err#*fix:}"
done
finish
