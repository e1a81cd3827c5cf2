#!/bin/bash
# SPDX-License-Identifier: MIT
# Limits: an explicit limit is enforced or refused; a default is enforced as far as the host permits.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

fork_bomb='bomb() { bomb | bomb & }; bomb; sleep 0.3; echo survived'
for who in $starters; do
	run spawn --files 20 -- sh -c 'ulimit -n'
	check "files_are_held_by_$who" out_is 20
	run spawn --file-size 1KiB -- sh -c 'head -c 5000 /dev/zero >/tmp/big; stat -c %s /tmp/big'
	check "the_size_of_a_file_is_held_by_$who" out_is 1024
	run spawn --tmp-size 1MiB -- sh -c 'head -c 5000000 /dev/zero >/tmp/big; test "$(stat -c %s /tmp/big)" -le 1048576'
	check "the_size_of_tmp_is_held_by_$who" has_status 0
	run spawn -q --output 1KiB -- sh -c 'while :; do echo 0123456789; done'
	check "a_flood_of_output_is_stopped_by_$who" test "$(wc -c <"$work/out")" -le 1024
	check "a_flood_of_output_is_a_failure_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	check "a_flood_of_output_is_said_by_$who" err_is 'sbx-spawn: output limit of 1KiB reached (--output); raise it with --output'
	run spawn --output 1KiB -- sh -c 'echo little; echo more >&2'
	check "a_little_output_passes_by_$who" out_is little
	run spawn -q --pids 20 --time 10s -- sh -c "$fork_bomb"
	check "a_fork_bomb_ends_by_$who" test "$status" -ne 125
	run spawn --pids 5 -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; true'
	check "processes_are_counted_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	run spawn -q --time 200ms --grace 100ms -- sh -c 'sleep 60 & sleep 60 & wait'
	check "out_of_time_ends_the_whole_tree_by_$who" has_status 124
	run spawn --memory 0 -- true
	check "a_limit_of_nothing_is_refused_by_$who" has_status 125
	run spawn --cpu many -- true
	check "a_limit_that_is_no_number_is_refused_by_$who" err_has "option '--cpu' cannot take 'many'"
done

# If no cgroup can enforce memory, an explicit limit is refused and a default is not.
if ! sbx-spawn --check --json | grep -q '"memory"' || ! grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
	run spawn --memory 100MiB -- true
	check a_limit_that_cannot_be_held_is_refused has_status 125
	check the_refusal_of_a_limit_names_the_option err_has '--best-effort-limits'
	run spawn --memory 100MiB --best-effort-limits -- true
	check best_effort_goes_on has_status 0
	run spawn -- true
	check a_default_that_cannot_be_held_is_no_error has_status 0
else
	skip a_limit_that_cannot_be_held_is_refused 'this host can hold it'
fi

# The caller's RLIMIT_FSIZE also applies to sbx-spawn: it must report the error, and not die by SIGXFSZ and leave the
# sandbox running. Output through a pipe, because a file could not be written either.
small() {
	places
	{
		(ulimit -f 0 && begin_spawn "$@" 2>&1)
		echo "status $?"
	} | cat
}
ignoring_sigpipe() { (trap '' PIPE && "$@"); }
for who in $starters; do
	run small -q -- true
	check "a_caller_with_a_file_size_limit_of_zero_gets_an_error_by_$who" out_has 'File too large'
	check "and_the_option_that_limits_the_command_alone_by_$who" out_has 'ulimit -f; sbx-spawn --file-size'
	check "and_the_status_says_that_it_is_ours_by_$who" out_has 'status 125'
	[ "$who" = root ] || check no_sandbox_is_left_then test -z "$(ls -A "$XDG_RUNTIME_DIR/sbx/sandboxes" 2>/dev/null)"
	for how in '' --no-sandbox "--out=$work/$who/changes"; do
		for caller in '' ignoring_sigpipe; do
			# shellcheck disable=SC2086 # no word, or one
			run $caller spawn -q $how -- grep SigIgn /proc/self/status
			# glibc's posix_spawn() leaves its two internal signals, 32 and 33, ignored.
			ignored=$((0x${out##*	} & ~0x180000000))
			check "the_command_ignores_no_signal_by_$who${how%=*}$caller" test "$ignored" -eq 0
		done
	done
	run spawn -q --write . --file-size 1KiB -- sh -c 'exec head -c 4096 /dev/zero >large'
	check "a_command_dies_of_its_own_limit_by_$who" has_status 153
	check "and_that_limit_is_named_by_$who" \
		err_is 'sbx-spawn: file size limit of 1KiB reached (--file-size); raise it with --file-size'
done

# Without a policy only processes are limited, with room for a large build.
many='for i in $(seq 500); do sleep 1000 & done; set -- $(jobs -p); kill $(jobs -p); wait; echo $#'
for who in $starters; do
	run spawn -- bash -c "$many"
	check "five_hundred_processes_run_by_$who" out_is 500
	check "and_nothing_is_said_of_them_by_$who" err_is ''
	run spawn -v --print-plan -- true
	check "the_default_is_shown_by_$who" out_has 'limit pids 4096 by '
	check "there_is_no_time_limit_by_$who" eval '! out_has "limit time"'
	check "no_scope_is_made_for_a_default_by_$who" eval '! out_has .scope'
	run spawn --template code-executor -- bash -c "$many"
	check "a_template_has_its_own_number_by_$who" eval '! out_is 500'
	programs_policy
	run spawn -v --policy "$work/p.yaml" --print-plan -- true
	check "a_policy_has_the_numbers_of_code_executor_by_$who" out_has 'limit time 5m by supervisor'
done

# The report names where a limit comes from, including limits of the caller.
who=user
programs_policy
cat >>"$work/p.yaml" <<'END'
limits: {time: 300ms}
END
run spawn -q --policy "$work/p.yaml" --grace 100ms --report "$work/$who/report" -- sleep 60
check the_line_of_the_policy_is_named \
	err_is "sbx-spawn: time limit of 300ms reached ($work/p.yaml:5 'limits.time'); raise it with --time"
check the_report_names_the_limit grep -q '"limits_reached":\["time"\]' "$work/$who/report"
run spawn --json --time 300ms --grace 100ms -- sleep 60
check json_has_the_same_text err_is \
	'{"level":"error","what":"time limit of 300ms reached (--time); raise it with --time"}'
run spawn -q --time 5m --report "$work/$who/report" -- true
check no_limit_is_named_where_none_was_reached grep -q '"limits_reached":\[\]' "$work/$who/report"
limited() {
	places
	# shellcheck disable=SC2086 # the words of ulimit
	(ulimit $1 && shift && begin_spawn "$@")
}
# A soft limit of the caller is raised to that of the option, and the one that was reached is named.
run limited '-S -f 2000' -q --file-size 3MiB -- sh -c 'exec head -c 4M /dev/zero >/tmp/large'
check a_higher_limit_than_the_soft_one_of_the_caller_is_named \
	err_is 'sbx-spawn: file size limit of 3MiB reached (--file-size); raise it with --file-size'
run limited '-S -t 1' -q -- sh -c 'while :; do :; done'
check a_limit_of_the_caller_is_named \
	err_is 'sbx-spawn: processor time limit of 1s reached (that of the caller); raise it with ulimit -t'
run limited '-f 2000' -q --file-size 1GiB -- sh -c 'exec head -c 4M /dev/zero >/tmp/large'
check the_lower_one_is_the_one_that_is_named err_is \
	'sbx-spawn: file size limit of 2000KiB reached (that of the caller); raise it with ulimit -f'

# sbx-spawn itself would be killed without a message.
run limited '-s 64' -- true
check too_small_a_stack_is_refused has_status 125
check the_refusal_names_the_limit_of_the_stack err_has 'cannot start with a stack of 64KiB'
check and_how_to_raise_it err_has 'ulimit -s 8192'
# The smallest stack suffices for the most links that the kernel follows in one path.
mkdir -p "$project/chain/target"
for i in $(seq 39); do
	ln -s "link$((i + 1))/target/.." "$project/chain/link$i"
done
ln -s . "$project/chain/link40"
run limited '-s 128' --read "$project/chain/link2" -- true
check many_links_need_no_larger_stack err_has "name '$project/chain'"

# What the plan says is what /proc says inside, whatever the caller's limits are.
row_of() { sed -n "s/^$1  *\([0-9]*\)  *\([0-9]*\) .*/\1 \2/p" "$work/inside"; }
agrees() { # NAME ROW: the plan's rlimit and both numbers in /proc/self/limits
	local planned
	planned=$(sed -n "s/^rlimit $1 \([0-9]*\) .*/\1/p; s/^rlimit $1 \([0-9]*\)$/\1/p" "$work/plan")
	[ -n "$planned" ] && [ "$(row_of "$2")" = "$planned $planned" ]
}
for who in $starters; do
	for caller in '-S -n 64' '-n 64' '-f 2000' '-u 3000' '-c 0' '-c 40'; do
		for numbers in '--files 100 --file-size 3MiB --memory 512MiB --pids 3500' \
			'--files 40 --file-size 4KiB --memory 100MiB --pids 60'; do
			# shellcheck disable=SC2086 # the words of options
			limited "$caller" -v --best-effort-limits $numbers --print-plan -- true >"$work/plan" 2>&1
			# shellcheck disable=SC2086
			limited "$caller" -q --best-effort-limits $numbers --audit-fd 9 -- cat /proc/self/limits \
				>"$work/inside" 2>&1 9>/dev/null # the spool of root may be longer than the caller's limit
			for pair in 'nofile=Max open files' 'fsize=Max file size' 'core=Max core file size'; do
				check "plan_and_sandbox_agree_on_${pair%%=*}_by_$who: $caller $numbers" \
					agrees "${pair%%=*}" "${pair#*=}"
			done
			for pair in 'data=Max data size' 'nproc=Max processes'; do
				grep -q "^rlimit ${pair%%=*} " "$work/plan" || continue # a cgroup holds it
				check "plan_and_sandbox_agree_on_${pair%%=*}_by_$who: $caller $numbers" \
					agrees "${pair%%=*}" "${pair#*=}"
			done
		done
	done
	run limited '-n 64' --files 100 -- true
	check "a_lowered_limit_is_told_by_$who" err_is 'sbx-spawn: note: files 100 (--files) is lowered to 64 by the hard limit of the caller; raise that before the start (ulimit -Hn)'
done
finish
