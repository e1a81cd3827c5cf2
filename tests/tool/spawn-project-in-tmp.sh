#!/bin/bash
# SPDX-License-Identifier: MIT
# A project below /tmp, where the sandbox has a private tmpfs, is shown and writable like any other.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

place=$(mktemp -d /tmp/sbx-test.XXXXXX)
trap 'rm -rf "$work" "$place"' EXIT
chmod 755 "$place"
project=$place
mkdir "$project/src"

says_less() { grep -q 'is allowed, but not possible here' "$work/out"; }

in_directory() { # DIRECTORY ARGUMENT...
	(cd "$1" && shift && as "$who" sbx-spawn "$@")
}
for who in $starters; do
	places
	for words in '--write .' '--write src' '--read . --write .' '--read . --write src' '--tmpfs src' '--bind src:/mnt'; do
		# shellcheck disable=SC2086
		run spawn $words --print-plan -- true
		check "a_plan_is_made_for $words by_$who" has_status 0
		check "it_says_of_nothing_that_it_is_allowed_and_impossible for $words by_$who" test "$(says_less && echo less)" = ''
	done
	run spawn --read . --write . -- sh -c 'echo 1 >f && cat f && rm f'
	check "a_directory_granted_twice_is_read_and_written_by_$who" test "$status$out" = 01
	run spawn --write src -- sh -c 'echo 1 >src/f && ! touch g 2>/dev/null && cat src/f'
	check "a_directory_that_is_not_named_is_not_written_by_$who" test "$status$out" = 01
	run spawn -- sh -c "! touch g 2>/dev/null && echo 1 >$place.f && cat $place.f"
	check "the_private_tmp_around_the_project_is_written_by_$who" test "$status$out" = 01
	check "nothing_of_that_is_left_by_$who" test ! -e "$place.f" -a ! -e "$project/g"
	# The mount on the secret is watched, and the command moves a directory of its own on the way to it.
	echo secret >"$place/src/secret"
	places
	run spawn --bind src:/tmp/a/b:rw --deny /tmp/a/b/secret -- sh -c 'mv /tmp/a /tmp/c && ! cat /tmp/c/b/secret'
	check "a_command_may_rename_directories_of_the_private_tmp_by_$who" has_status 0
	rm "$place/src/secret"
	# An option for a directory around the project takes back what a rule lets the command write.
	printf '%s\n' 'version: 1' 'capabilities:' \
		'- {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64]}, action: allow}' \
		'- {name: own, match: {op: fs.*, path: ./}, action: allow}' >"$place/own.yaml"
	in_src() { in_directory "$place/src" --policy "$place/own.yaml" "$@"; }
	run in_src -- touch g
	check "a_rule_lets_the_project_be_written_by_$who" test "$status" -eq 0 -a "$err" = ''
	run in_src --read .. -- touch h
	check "an_option_around_it_makes_it_read_only_by_$who" test "$status" -eq 1 -a ! -e "$place/src/h"
	check "and_a_warning_says_so_by_$who" err_has "the command cannot write to '$place/src', which $place/own.yaml:4 'own' allows; add --write $place/src, because --read shows a directory around it"
	mkdir "$place/it's"
	run in_directory "$place/it's" --policy "$place/own.yaml" --read .. -- true
	check "the_advice_quotes_the_path_for_a_shell_by_$who" err_has "add --write '$place/it'\\''s', because"
	rmdir "$place/it's"
	run in_src --read .. --print-plan -v -- touch h
	check "the_plan_says_so_by_$who" out_has "the command cannot write to '$place/src'"
	run in_src --read .. --write . -- touch h
	check "a_separate_--write_keeps_it_writable_by_$who" test "$status" -eq 0 -a "$err" = ''
	rm -f "$place/src/g" "$place/src/h"
	# A rule for all of /tmp is about the private one.
	cat >"$project/p.yaml" <<-END
		version: 1
		capabilities:
		- {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64]}, action: allow}
		- {name: tmp, match: {op: fs.*, path: /tmp}, action: allow}
		- {name: here, match: {op: [fs.read, fs.list, fs.exists], path: $place}, action: allow}
	END
	run spawn --policy p.yaml -- sh -c "! touch g 2>/dev/null && touch $place.f"
	check "a_rule_for_tmp_is_about_the_private_one_by_$who" test "$status" = 0 -a ! -e "$project/g" -a ! -e "$place.f"
	run sbx-policy eval "$project/p.yaml" fs.write "$place/g"
	check "which_eval_says_to_$who" out_has "note: this is about files of the sandbox's own /tmp"
	run sbx-policy eval --json "$project/p.yaml" fs.write "$place/g"
	check "and_as_json_to_$who" eval 'has_status 0 && out_has "\"note\":\"this is about files of"'
	run sbx-policy eval "$project/p.yaml" fs.read /usr/g
	check "and_only_there_to_$who" test "$status" = 0 -a "${out#*note:}" = "$out"
	rm "$project/p.yaml"
done

# A start below /dev: the sandbox has its own.
shm=$(mktemp -d /dev/shm/sbx-test.XXXXXX)
trap 'rm -rf "$work" "$place" "$shm"' EXIT
chmod 755 "$shm"
for who in $starters; do
	places
	run in_directory /dev/shm -- sh -c 'pwd && ls'
	check "a_command_in_dev_shm_is_in_a_private_one_by_$who" out_is /dev/shm
	check "it_is_said_that_dev_shm_is_private_to_$who" \
		err_is "sbx-spawn: note: the command starts in a private /dev/shm, without the host's files; start it outside of /dev"
	run in_directory "$shm" -- pwd
	check "a_command_below_dev_shm_starts_at_the_root_by_$who" out_is /
	check "it_is_said_that_the_directory_is_not_shown_to_$who" \
		err_is "sbx-spawn: note: the command starts in '/', not in '$shm'; start it outside of /dev"
	run in_directory "$shm" --cwd /usr -- pwd
	check "nothing_is_said_where_another_directory_is_named_to_$who" err_is ''
done

# A start in /tmp itself: it is the sandbox's private one; files of the host are there only if they are named.
in_tmp() { (cd /tmp && as "$who" sbx-spawn "$@"); }
note="sbx-spawn: note: the command starts in a private /tmp, without the host's files; --read /tmp/FILE shows one"
base=${place##*/}
for who in $starters; do
	places
	echo secret >"$place.f"
	chmod 644 "$place.f"
	run in_tmp -- sh -c 'pwd && f=$(mktemp) && echo 1 >"$f" && cat "$f"'
	check "a_command_in_tmp_may_write_there_by_$who" test "$status:$out" = $'0:/tmp\n1'
	check "it_is_said_that_tmp_is_private_to_$who" err_is "$note"
	run in_tmp -- sh -c "cat $base.f; ls /tmp/$base; ls -d sbx-*; echo x >$base.f; echo x >$base.g"
	check "it_sees_nothing_of_the_hosts_tmp_by_$who" test "$out" = ''
	check "it_changes_nothing_there_by_$who" test "$(cat "$place.f")" = secret -a ! -e "$place.g"
	run in_tmp --read "$place.f" -- sh -c "cat $base.f; echo x >$base.g; { echo x >$base.f || rm $base.f || mv $base.g $base.f; } 2>/dev/null"
	check "a_file_that_is_named_is_read_by_$who" test "$out:$err" = secret:
	check "it_is_not_changed_by_$who" test "$status" -ne 0 -a "$(cat "$place.f")" = secret -a ! -e "$place.g"
	run in_tmp --read . -- sh -c "cat $base.f; echo x >$base.g"
	check "the_directory_is_the_hosts_where_it_is_named_by_$who" test "$status:$out" = 2:secret
	check "it_is_not_written_by_$who" test ! -e "$place.g"
	run in_tmp --min-tier reduced -- sh -c "cat $base.f; echo x >$base.g"
	check "so_it_is_where_a_tier_without_mounts_is_accepted_by_$who" test "$status:$out" = 2:secret
	check "and_it_is_not_written_either_by_$who" test ! -e "$place.g"
	printf '#!/bin/sh\necho it runs\n' >"$place.f"
	chmod 755 "$place.f"
	run in_tmp -- "./$base.f"
	check "a_program_in_tmp_is_not_found_by_$who" has_status 127
	check "the_fix_shows_this_file_alone_to_$who" err_has "fix: show the file: --read $place.f"
	run in_tmp --read "$place.f" -- "./$base.f"
	check "with_it_the_program_runs_by_$who" out_is 'it runs'
	rm -f "$place.f"
done

# A rule about /tmp does not apply to files of the host that are shown in it.
cat >"$work/p.yaml" <<'END'
capabilities:
 - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64, ./]}, action: allow}
 - {name: tmp, match: {op: fs.*, path: /tmp}, action: allow}
END
chmod 644 "$work/p.yaml"
run spawn --policy "$work/p.yaml" --print-plan -v -- true
check a_plan_says_why_it_permits_less out_has "rules for the fresh /tmp do not apply to the host's files"
run spawn --policy "$work/p.yaml" -- touch g
check it_does_permit_less test "$status" -ne 0 -a "$status" -ne 125 -a ! -e "$project/g"
finish
