#!/bin/bash
# SPDX-License-Identifier: MIT
# The command's environment: variables by name, secrets as files, nothing else.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

export TOKEN=from-outside OTHER=also
echo 's3cret' >"$work/secret"
masked() { places && (umask "$1" && shift && spawn -q "$@"); }
piped() { printf 'a\nb\n' | spawn -q -- cat | tail -n 1; }

for who in $starters; do
	chmod 600 "$work/secret"
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] && chown "$user" "$work/secret"
	[ "$who" = root ] && chown 0 "$work/secret"
	run spawn -- sh -c 'echo "$TOKEN$OTHER"'
	check "nothing_passes_by_itself_by_$who" out_is ''
	run spawn --env TOKEN -- sh -c 'echo "$TOKEN$OTHER"'
	check "a_named_variable_passes_by_$who" out_is from-outside
	run spawn --env TOKEN=given -- sh -c 'echo "$TOKEN"'
	check "a_value_can_be_given_by_$who" out_is given
	run spawn --env 1=x -- true
	check "a_name_that_is_none_is_refused_by_$who" has_status 125
	run spawn --env MISSING_HERE -- sh -c 'echo "${MISSING_HERE-unset}"'
	check "an_unset_variable_stays_unset_by_$who" out_is unset
	run spawn --secret KEY="$work/secret" -- sh -c 'cat "$KEY"; stat -c %a "$KEY"; test "$KEY" != "'"$work"'/secret" && echo elsewhere'
	check "a_secret_is_a_private_copy_by_$who" out_is "$(printf 's3cret\n400\nelsewhere')"
	run spawn --secret KEY="$work/secret" -- sh -c 'echo x >>"$KEY" || echo y >"$KEY"'
	check "a_secret_cannot_be_changed_by_$who" test "$(cat "$work/secret")" = s3cret
	run spawn --secret KEY=/nonexistent -- true
	check "a_secret_that_is_not_there_is_an_error_by_$who" has_status 125
	run spawn --hostname box -- sh -c 'cat /proc/sys/kernel/hostname'
	check "the_machine_has_the_name_that_was_given_by_$who" out_is box
	run spawn --hostname "$(printf 'a%.0s' {1..65})" -- true
	check "a_name_of_65_letters_is_refused_by_$who" test "$status" -eq 125 -a "${err#*fix: shorten it}" != "$err"
	run spawn --hostname "$(printf 'a%.0s' {1..64})" -- true
	check "one_of_64_is_not_by_$who" has_status 0
	for folder in /nonexistent /etc/passwd; do
		run spawn --project "$folder" -- pwd
		check "a_project_that_is_not_a_directory_is_refused_${folder##*/}_by_$who" test "$status" -eq 125 -a -z "$out"
		check "it_is_named_${folder##*/}_by_$who" err_has "'--project' cannot take '$folder'"
	done
	for mask in 0777 0027; do
		run masked "$mask" -- sh -c umask
		check "the_command_has_our_umask_${mask}_by_$who" out_is "$mask"
		run masked "$mask" --no-sandbox -- sh -c umask
		check "it_has_it_without_a_sandbox_${mask}_by_$who" out_is "$mask"
	done
	run spawn --cwd /tmp -- pwd
	check "starts_where_it_is_told_by_$who" out_is /tmp
	run spawn --deny . -- pwd
	check "a_working_directory_that_is_hidden_is_refused_by_$who" has_status 125
	check "the_refusal_names_the_option_by_$who" err_has 'it is the working directory, and --deny hides it'
	check "the_refusal_shows_the_fix_by_$who" err_has 'fix: name another directory by --cwd'
	run spawn --deny . --cwd / -- pwd
	check "another_can_be_named_by_$who" test "$status$out" = 0/
	run spawn --cwd /nonexistent -- pwd
	check "a_hidden_working_directory_is_an_error_by_$who" has_status 125
	run spawn -- pwd
	check "starts_in_the_working_directory_by_$who" out_is "$project"
	echo seven >"$work/marker"
	exec 7<"$work/marker"
	run spawn -- sh -c 'cat <&7'
	check "an_open_file_is_not_inherited_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	run spawn --pass-fd 7 -- sh -c 'cat <&7'
	check "one_that_is_named_is_inherited_by_$who" out_is seven
	exec 7<&-
	run spawn --pass-fd 7 -- true
	check "one_that_is_not_open_is_refused_by_$who" has_status 125
	run piped
	check "stdin_and_stdout_are_the_commands_own_by_$who" out_is b
done
finish
